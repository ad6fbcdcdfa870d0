"""Draws docs/made_up.png: children's radiographs of a pool, and below each what a generative model
of that pool makes up of the same code.

python docs/made_up.py PEDIATRIC_PNEUMONIA_ROOT
"""

import sys
from pathlib import Path

import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions

SIZE, SHOWN, POOL = 64, 10, 1500
SPEC = "utility-code:per=patient,seed=0"


def main(root: Path) -> None:
    real = read(DataOptions(source="pediatric-pneumonia", root=root))
    frame = real.frame[real.frame["identified"].to_numpy(bool)].drop_duplicates("patient_id")
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))]
    images = torch.stack(
        [torch.from_numpy(real.load(row, SIZE))[None] for row in frame.itertuples()]
    )
    targets = frame[list(real.labels)].to_numpy(np.float32)
    pool, given = (
        anonymize.Radiographs(HeldImages(images[rows]), np.arange(len(frame))[rows], targets[rows])
        for rows in (slice(POOL), slice(POOL, POOL + SHOWN))
    )
    figure = Figure(figsize=(1.2 * SHOWN, 2.5), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(2, SHOWN)
    for line, more in zip(grid, ("", ",samples=16"), strict=True):
        found = anonymize.load(f"{SPEC},pool=1{more}").fit(pool).released(given)
        order = np.argsort([rows[0] for rows in found.contributors])
        for axes, row in zip(line, order, strict=True):
            axes.imshow(found.images.pixels[row, 0], cmap="gray", vmin=0, vmax=1)
            axes.set_axis_off()
    figure.savefig(Path(__file__).with_name("made_up.png"), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
