"""Draws docs/sets.png: children's radiographs, and releases of sets to which each contributed.

python docs/sets.py PEDIATRIC_PNEUMONIA_ROOT
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

SIZE, PATIENTS, ROWS = 96, 400, 2
RELEASES = {
    "k-same:k=5": "mean of 5 people",
    "k-same:k=10": "mean of 10",
    "mosaic:g=3,m=3": "mosaic of 9",
    "mosaic:g=4,m=4": "mosaic of 16",
    "mosaic:g=3,m=3,warp=0.1": "9, bent",
    "mosaic:g=4,m=4,warp=0.1": "16, bent",
}


def main(root: Path) -> None:
    real = read(DataOptions(source="pediatric-pneumonia", root=root))
    frame = real.frame[real.frame["identified"].to_numpy(bool)].drop_duplicates("patient_id")
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:PATIENTS]]
    images = torch.stack(
        [torch.from_numpy(real.load(row, SIZE))[None] for row in frame.itertuples()]
    )
    targets = frame[list(real.labels)].to_numpy(np.float32)
    given = anonymize.Radiographs(HeldImages(images), np.arange(len(frame)), targets)
    columns = {"real": {n: image[0] / 255 for n, image in enumerate(images)}}
    for spec, title in RELEASES.items():
        found = anonymize.load(f"{spec},seed=0").released(given)
        columns[title] = {
            row: image[0]
            for image, rows in zip(found.images.pixels, found.contributors, strict=True)
            for row in rows.tolist()
        }
    shown = sorted(set.intersection(*map(set, columns.values())))[:ROWS]
    figure = Figure(figsize=(1.9 * len(columns), 1.95 * ROWS + 0.2), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(ROWS, len(columns))
    for column, (title, made) in enumerate(columns.items()):
        grid[0, column].set_title(title, fontsize=10)
        for axes, row in zip(grid[:, column], shown, strict=True):
            axes.imshow(made[row], cmap="gray", vmin=0, vmax=1)
            axes.set_axis_off()
    figure.savefig(Path(__file__).with_name("sets.png"), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
