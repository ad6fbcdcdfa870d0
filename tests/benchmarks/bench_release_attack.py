"""An attacker of files that learns at its own small size, and one that learns at the files' size.

python tests/benchmarks/bench_release_attack.py [--images 2000] [--files 40] [--side 512]
writes docs/results/release_attack.json and .md: how many of the released files are found, where
`attacks release` teaches on images released at the attacker's 64 px, and at the size of the files.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from PIL import Image

import anonymize
from anonymize.configuration import load_options
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions
from anonymize.release.pipeline import apply
from anonymize.training.compute import Compute
from attacks.evaluation.work import Silent
from attacks.linkage.prepared import Wanted, chosen_attacker, prepare
from attacks.linkage.release_run import Case, attack_release
from attacks.reporting.tables import markdown

ROOT = Path(__file__).resolve().parents[2]
METHODS = ("dp-pix:b=8,epsilon=0.1",)
ATTACKER = "histogram-metric"


def draw(folder: Path, files: int, side: int) -> None:
    """Radiographs of so many patients who are in no other set."""
    folder.mkdir()
    table = read(DataOptions(patients=files, images=files, phantom_seed=7))
    for number, row in enumerate(table.frame.itertuples()):
        Image.fromarray(table.load(row, side)).save(folder / f"{number:03d}.png")


def measure(folder: Path, method: str, options, side: int) -> list[dict]:
    """A row for each way to learn."""
    out = folder / method.replace(":", "-")
    apply(folder / "real", out, anonymize.load(method))
    case = Case.of(str(folder / "real"), out, None, None)
    subject = case.opened(options.data)
    rows = []
    for taught, sizes in ((options.data.size, ()), (side, subject.released.file_sizes)):
        wanted = Wanted(chosen_attacker(ATTACKER, released=True), options, method, sizes=sizes)

        def prepared(name: str, wanted=wanted):
            work = folder / "attack"
            work.mkdir(exist_ok=True)
            return prepare(wanted, work, compute=Compute.of(options), display=Silent())

        found = attack_release(subject, [ATTACKER], prepared, options=options, method=method)
        best = found.results.strongest
        rows.append(
            {
                "method": method,
                "files": best.found.files,
                "side": side,
                "attacker_side": options.data.size,
                "taught_at": taught,
                "images": options.data.images,
                "found": best.found.found,
                "interval": best.found.interval,
                "auc": best.with_originals.auc.mean,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--side", type=int, default=512)
    given = parser.parse_args()
    changes = {"data.images": given.images, "data.patients": given.images * 3 // 10}
    options = load_options("quick", changes | {"data.workers": 1})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = options.model_copy(
            update={"data": options.data.model_copy(update={"cache": folder / "cache"})}
        )
        draw(folder / "real", given.files, given.side)
        rows = [row for m in METHODS for row in measure(folder, m, options, given.side)]
    header = ["released as", "files", "attacker looks at", "learnt from images released at"]
    header += ["finds", "95 %", "AUC"]
    cells = [
        [
            r["method"],
            f"{r['files']} of {r['side']} px",
            f"{r['attacker_side']} px",
            f"{r['taught_at']} px",
            f"{r['found'] / r['files']:.1%}".replace("%", " %"),
            "–".join(f"{100 * v:.0f}" for v in r["interval"]),
            f"{r['auc']:.3f}",
        ]
        for r in rows
    ]
    place = ROOT / "docs" / "results" / "release_attack"
    place.with_suffix(".json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    place.with_suffix(".md").write_text(markdown(header, cells), encoding="utf-8")
    print(place.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
