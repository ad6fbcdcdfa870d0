"""Release a folder of radiographs and look at what came out: python release_a_folder.py FOLDER

FOLDER is made and holds radiographs/ (drawn here, put yours instead), released/ to hand on and
released-private/ to keep.
"""

import sys
from pathlib import Path

import pandas as pd
from PIL import Image

import anonymize
from anonymize.data.phantom import cohort, draw
from anonymize.release.options import ReleaseOptions
from anonymize.release.pipeline import apply
from anonymize.release.verify import verify

SIZE = 128


def draw_radiographs(folder: Path, images: int = 4) -> None:
    """Writes ``images`` drawn radiographs as PNG; their names say nothing."""
    folder.mkdir(parents=True)
    table = cohort(patients=2, images=images, seed=0)
    for number, row in enumerate(table.itertuples()):
        pixels = draw(seed=0, patient_id=row.patient_id, follow_up=row.follow_up, size=SIZE)
        gray = Image.fromarray((255 * pixels).round().astype("uint8"))
        gray.save(folder / f"{number}.png")


def main(folder: Path) -> None:
    source, out = folder / "radiographs", folder / "released"
    draw_radiographs(source)

    # A run of yours instead: anonymize.load("runs/cxr8"). The noise is new in every release.
    model = anonymize.load("dp-pix:b=8,epsilon=0.1")
    # Drawn images have no text. In yours it is looked for with text=TextOptions("remove") alone, of
    # anonymize.release.burned_in.options, and the extra ocr.
    summary = apply(source, out, model, ReleaseOptions(names="hashed"))
    print(f"{summary.anonymized} anonymized, {summary.quarantined} quarantined")

    # The public account, and a look at every file by code that did not write it.
    print(pd.read_csv(out / "manifest.csv")[["output", "method", "sha256"]].to_string(index=False))
    report = verify(out)
    print(f"{report.files} files looked at, {len(report.findings)} findings")
    if not (summary.complete and report.sound):
        raise SystemExit("do not hand this on: see released-private/quarantine.csv")


if __name__ == "__main__":
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        raise SystemExit("name a FOLDER that is not there yet")
    main(Path(sys.argv[1]))
