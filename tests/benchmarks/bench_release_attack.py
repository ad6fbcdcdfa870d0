"""An attacker of files that learns at its own small size, and one that learns at the files' size.

python tests/benchmarks/bench_release_attack.py [--source NAME --root DIR] [--images 2000]
writes docs/results/release_attack.json and .md, a line for each data set: of how many of 40 files
of 512 px, released with DP-Pix, b = 8, the original is found where the attacker learns from images
released at its own 64 px, and at the size of the files. Files are drawn ones of other patients, or
those of the data set's test part, two a patient, enlarged.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from origin import origin, origins
from PIL import Image

import anonymize
from anonymize.commands.interrupts import heard
from anonymize.configuration import load_options
from anonymize.data.image_files import read_gray
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign
from anonymize.options import DataOptions, TrainOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.pipeline import apply
from anonymize.training.compute import Compute
from attacks.evaluation.processes.work import Silent
from attacks.linkage.linking import originals_first
from attacks.linkage.prepared import Wanted, chosen_attacker, prepare
from attacks.linkage.ranking import rank
from attacks.linkage.release_results import exact_interval
from attacks.linkage.release_run import Case
from attacks.reporting.tables import markdown

PLACE = Path(__file__).resolve().parents[2] / "docs" / "results" / "release_attack.json"
METHOD, ATTACKER = "dp-pix:b=8,epsilon=0.1", "histogram-metric"
FILES, SIDE = 40, 512


def draw(folder: Path, options: DataOptions) -> tuple[int, float]:
    """Writes the files; how many patients they show, and of how many the original is found by who
    is told true findings alone, and guesses among the files that have the same."""
    folder.mkdir()
    if options.source == "phantom":
        table = read(DataOptions(patients=FILES, images=2 * FILES, phantom_seed=7))
        rows = table.frame.groupby("patient_id", sort=False).head(1)
        pixels = [table.load(row, SIDE) for row in rows.itertuples()]
    else:
        table = assign(read(options), seed=options.split_seed)
        frame = table.frame
        rows = frame[(frame["part"] == "test") & frame["identified"]]
        several = rows.groupby("patient_id").filter(lambda own: len(own) > 1)
        rows = several.groupby("patient_id").head(2).head(FILES)
        whole = [Image.fromarray(read_gray(path)) for path in rows["path"]]
        pixels = [np.asarray(i.resize((SIDE, SIDE), Image.Resampling.BICUBIC)) for i in whole]
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"{number:03d}.png")
    alike = rows.groupby(list(table.labels), dropna=False)["image_id"].transform("count")
    return rows["patient_id"].nunique(), float((1 / alike).mean())


def measure(folder: Path, options: TrainOptions) -> dict:
    """Shares of the originals that are found."""
    patients, by_findings = draw(folder / "real", options.data)
    apply(folder / "real", folder / "out", anonymize.load(METHOD), ReleaseOptions())
    subject = Case.of(str(folder / "real"), folder / "out", None, None).opened(options.data)
    (folder / "attack").mkdir()
    row = {"images": options.data.source, "patients": patients, "looks_at": options.data.size}
    row["by_findings"] = by_findings
    chosen = chosen_attacker(ATTACKER, released=True)
    for name, sizes in (("own_size", ()), ("file_size", subject.released.file_sizes)):
        wanted = Wanted(chosen, options, METHOD, sizes=sizes)
        made = Compute.of(options)
        prepared = prepare(wanted, folder / "attack", compute=made, display=Silent())
        found = rank(prepared, subject.released, subject.real, top=5, present=0.5)
        row[name] = originals_first(found)
    return row


def write(row: dict) -> str:
    """Puts a line among those of other data sets; the table."""
    rows = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.is_file() else []
    rows = [*(r for r in rows if r["images"] != row["images"]), row]
    PLACE.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    header = [f"{FILES} files of {SIDE} px", "looks at", "learnt at its own size"]
    header += ["at the files' size", "true findings alone", "a coin's"]
    cells = [
        [
            r["images"],
            f"{r['looks_at']} px",
            *(_share(r[n], r) for n in ("own_size", "file_size")),
            f"{100 * r['by_findings']:.1f} %",
            f"{100 / FILES:.1f} %",
        ]
        for r in sorted(rows, key=lambda r: r["images"])
    ]
    table = "\n".join([markdown(header, cells), *origins(rows)]) + "\n"
    PLACE.with_suffix(".md").write_text(table, encoding="utf-8")
    return table


def _share(share: float, row: dict) -> str:
    low, high = (100 * bound for bound in exact_interval(share, row["patients"], 0.95))
    return f"{100 * share:.1f} % ({low:.0f}–{high:.0f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="phantom")
    parser.add_argument("--root")
    parser.add_argument("--images", type=int, default=2000, help="drawn ones, to learn from")
    given = parser.parse_args()
    named = {"data.source": given.source, "data.root": given.root, "data.images": given.images}
    options = load_options("quick", {k: v for k, v in named.items() if v is not None})
    with tempfile.TemporaryDirectory() as folder:
        made = {"made": origin()}
        print(write(measure(Path(folder), options) | made))


if __name__ == "__main__":
    with heard():  # real pictures go with their folders, whoever ends it
        main()
