"""How well mosaics are put together again: decides how many patches of a patient may be shown.

python tests/benchmarks/bench_jigsaw.py --source NAME --root DIR [--size 96] [--mosaics g=4,m=4 …]
writes docs/results/jigsaw.json and .md, a line for each mosaic: AUC of "two patches of different
mosaics are of one person" in the test part, which pairs share a border and which do not; and of
linking an output to another image of a contributor, for windows by themselves (`patchwise`) and put
together (`jigsaw`), of one training each. Against matched impostors, and *within* each gallery
image: its outputs against other outputs, where no image is linked for what it is.
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import torch
from origin import origin, origins

import anonymize
from anonymize.configuration import train_options
from anonymize.data.dataset import Dataset
from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.attackers.jigsaw import Jigsaw
from attacks.attackers.patchwise import Patchwise
from attacks.knowledge.set_release import released_by
from attacks.knowledge.trial import Parts, Release
from attacks.measuring.metrics import genuine_pairs, impostor_pairs, pair_auc
from attacks.measuring.outputs import each_once
from attacks.measuring.retrieval import retrieve
from attacks.reporting.tables import markdown
from attacks.training.affinity import KINDS
from attacks.training.outputs import Outputs, distinct
from attacks.training.patches import patch_levels, standing

PLACE = Path(__file__).resolve().parents[2] / "docs" / "results" / "jigsaw.json"
MOSAICS = (
    *("g=3,m=3", "g=3,m=3,uses=3", "g=3,m=9", "g=3,m=9,warp=0.1"),
    *("g=4,m=4", "g=4,m=4,uses=4", "g=4,m=8", "g=4,m=12", "g=4,m=16", "g=4,m=16,warp=0.1"),
    "g=4,m=16,warp=0.1,read=1,band=coarse",
)
ATTACKERS = ("histogram-metric", "patchwise", "jigsaw")
READINGS = {"matched impostors": "matched", "all impostors": "all", "within": "within"}


def within_gallery(scores: np.ndarray, probes: ImageSet, gallery: ImageSet) -> float:
    """AUC over distinct outputs within each gallery image, matched, weighed by genuine pairs."""
    first = distinct(probes.images)[0]
    sides = probes.owners[first].matching, gallery.owners.matching
    genuine, impostors = genuine_pairs(*sides), impostor_pairs(*sides)
    won, count = 0.0, 0
    for column, own, other in zip(scores[first].T, genuine.T, impostors.T, strict=True):
        if own.any() and other.any():
            above = column[own][:, None] - column[other]
            won += float(((above > 0) + (above == 0) / 2).mean(axis=1).sum())
            count += int(own.sum())
    return won / count


def figures(scores: np.ndarray, probes: ImageSet, gallery: ImageSet) -> dict[str, float]:
    """AUCs and shares of right first guesses of an attacker."""
    each, shown = each_once(scores, probes.owners)
    owners = shown, gallery.owners
    ranked = retrieve(each, *owners)
    return {
        "matched": pair_auc(each, *(side.matching for side in owners)),
        "all": pair_auc(each, *owners),
        "within": within_gallery(scores, probes, gallery),
        "first_any": float(ranked.within(1).mean()),
        "first_own": float(ranked.first_is_own.mean()),
    }


def measure(data: Dataset, mosaic: str) -> dict:
    """What becomes of one mosaic."""
    method = anonymize.load(f"mosaic:{mosaic},seed=0")
    shown = released_by(method, data, device=torch.device("cpu"), bits=8)
    view = Release(data, Parts(data), shown, method, torch.device("cpu"), 0).plain
    sides = (view.real, view.released)
    known = Auxiliary(*(side(part) for part in ("train", "validation") for side in sides))
    probes, gallery = view.released("test"), view.real("test")
    jigsaw = Jigsaw().fit(known, seed=0)
    metric = HistogramMetric(HistogramMetricOptions(copies=2)).fit(known, seed=0)
    pair = probes.images, gallery.images
    scores = metric.score(*pair), Patchwise.score(jigsaw, *pair), jigsaw.score(*pair)
    outputs = Outputs.of(probes)
    stands = standing(outputs, gallery, jigsaw.grid)
    whose = np.where(stands >= 0, gallery.owners.patient[stands], -1)
    of_all = zip(ATTACKERS, scores, strict=True)
    found = {name: figures(own, probes, gallery) for name, own in of_all}
    told = jigsaw.affinity.judged(patch_levels(outputs.images, jigsaw.grid), whose).worth
    return {
        "images": f"{data.options.source}, {data.options.size} px",
        "mosaic": mosaic,
        "grid": jigsaw.grid,
        "outputs": shown.parts["test"].outputs,
        "probed": len(outputs.images),
        "way": None if jigsaw.way is None else [jigsaw.way.share, jigsaw.way.pooling],
        "told": {kind: {"auc": worth.auc, "pairs": worth.pairs} for kind, worth in told.items()},
        "attackers": found,
    }


def write(row: dict) -> str:
    """Puts a line among the others; the table."""
    rows = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.is_file() else []
    rows = [*(r for r in rows if r["mosaic"] != row["mosaic"]), row]
    PLACE.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    PLACE.with_suffix(".md").write_text(table := shown(rows), encoding="utf-8")
    return table


def shown(rows: list[dict]) -> str:
    """A mosaic a line, those of few patches of a patient before those of many."""
    header = ["mosaic", "neighbours told", "distant told", "put together by"]
    header += [f"{name}, {reading}" for name in ATTACKERS for reading in READINGS]
    cells = [
        [
            r["mosaic"],
            *(f"{r['told'][kind]['auc']:.2f}" for kind in KINDS),
            _way(r["way"]),
            *(f"{r['attackers'][n][k]:.3f}" for n in ATTACKERS for k in READINGS.values()),
        ]
        for r in sorted(rows, key=lambda r: [int(n) for n in re.findall(r"\d+", r["mosaic"])])
    ]
    return "\n".join([markdown(header, cells), *origins(rows)]) + "\n"


def _way(way: list | None) -> str:
    if way is None:
        return "nothing"
    return f"mates, share {way[0]:g}" if way[0] else "copies, places"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="phantom")
    parser.add_argument("--root")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--mosaics", nargs="+", default=MOSAICS)
    asked = parser.parse_args()
    settings = {"source": asked.source, "root": asked.root, "size": asked.size}
    data = Dataset.open(train_options("prichexy-net")(data=settings).data)
    made = {"made": origin()}
    for mosaic in asked.mosaics:
        print(write(measure(data, mosaic) | made), flush=True)


if __name__ == "__main__":
    main()
