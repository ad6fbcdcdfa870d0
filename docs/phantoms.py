"""Draws docs/phantoms.png: phantoms beside real radiographs of children.

python docs/phantoms.py PEDIATRIC_PNEUMONIA_ROOT
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from anonymize.data.phantom import LABELS, cohort, draw
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions

SIZE, COLUMNS = 256, 6


def main(root: Path) -> None:
    table = cohort(patients=40, images=160, seed=5)
    followed = table[table.patient_id == table.patient_id.value_counts().index[0]]
    rows = {
        "phantoms: different people": table.drop_duplicates("patient_id").head(COLUMNS),
        "phantoms: one person over follow-ups": followed.head(COLUMNS),
    }
    sheet = {
        title: [
            (
                _findings(row),
                draw(seed=5, patient_id=row.patient_id, follow_up=row.follow_up, size=SIZE),
            )
            for row in frame.itertuples()
        ]
        for title, frame in rows.items()
    }
    real = read(DataOptions(source="pediatric-pneumonia", root=root))
    chosen = np.random.default_rng(1).choice(len(real), COLUMNS, replace=False)
    sheet["real: children (Kermany et al. 2018, CC BY 4.0)"] = [
        ("", real.load(row, SIZE) / 255) for row in real.frame.loc[chosen].itertuples()
    ]
    figure = Figure(figsize=(1.75 * COLUMNS, 2.1 * len(sheet)), layout="constrained")
    for part, (title, images) in zip(figure.subfigures(len(sheet), 1), sheet.items(), strict=True):
        part.suptitle(title, fontsize=10, x=0.01, ha="left")
        for axes, (name, image) in zip(part.subplots(1, COLUMNS), images, strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=1)
            axes.set_title(name, fontsize=6.5)
            axes.set_axis_off()
    figure.savefig(Path(__file__).with_name("phantoms.png"), dpi=110, metadata={"Software": None})


def _findings(row) -> str:
    present = [label.replace("_", " ") for label in LABELS if getattr(row, label) == 1]
    return ", ".join(present[:2]) + (", …" if len(present) > 2 else "") or "no finding"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
