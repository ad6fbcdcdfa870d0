"""Draws docs/sets.png: children's radiographs, and what methods make of them, first those whose
outputs are each of several people.

python docs/sets.py PEDIATRIC_PNEUMONIA_ROOT
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions
from anonymize.set_anonymizer import SetAnonymizer

SIZE, PATIENTS, ROWS = 96, 400, 2
RELEASES = {
    "k-same:k=5": "mean of 5 people",
    "mosaic:g=3,m=9": "mosaic of 9",
    "mosaic:g=4,m=16": "mosaic of 16",
    "mosaic:g=3,m=9,warp=0.1": "9, bent",
    "mosaic:g=4,m=16,warp=0.1": "16, bent",
    "mosaic:g=4,m=16,warp=0.1,band=coarse": "16, bent, coarse",
}
OF_ONE = {
    "utility-code:per=patient,seed=0": "a stranger (utility-code)",
    "neural-obfuscation:rho=0.06,steps=150,seed=0": "neural-obfuscation",
    "random-warp:mu=0.1,size=96,seed=0": "random warp",
    "gaussian-blur:sigma=0.02": "blur",
    "down-sampling:factor=8": "down-sampling",
    "dp-pix:b=8,epsilon=0.1,seed=0": "dp-pix",
}
FITTED = 16  # images that neural obfuscation fits at once


def main(root: Path) -> None:
    given = children(root, PATIENTS, SIZE)
    images = given.images.pixels
    columns = {"real": {n: image[0] / 255 for n, image in enumerate(images)}}
    for spec, title in RELEASES.items():
        columns[title] = _released(spec, given)
    shown = sorted(set.intersection(*map(set, columns.values())))[:ROWS]
    apart = np.setdiff1d(np.arange(len(given)), shown)
    few = some_of(given, [*shown, *apart[: FITTED - ROWS].tolist()])
    lone: dict[str, dict[int, torch.Tensor]] = {"real": columns["real"]}
    for spec, title in OF_ONE.items():
        lone[title] = dict(zip(shown, _alone(spec, few, some_of(given, apart)), strict=True))
    figure = Figure(figsize=(1.9 * len(columns), 2 * (1.95 * ROWS + 0.2)), layout="constrained")
    grid = figure.subplots(2 * ROWS, len(columns))
    for top, block in ((0, columns), (ROWS, lone)):
        for column, (title, made) in enumerate(block.items()):
            grid[top, column].set_title(title, fontsize=10)
            for axes, row in zip(grid[top : top + ROWS, column], shown, strict=True):
                axes.imshow(made[row], cmap="gray", vmin=0, vmax=1)
                axes.set_axis_off()
    figure.savefig(Path(__file__).with_name("sets.png"), dpi=110, metadata={"Software": None})


def children(root: Path, patients: int, size: int) -> anonymize.Radiographs:
    """One image each of some patients, in random order."""
    real = read(DataOptions(source="pediatric-pneumonia", root=root))
    frame = real.frame[real.frame["identified"].to_numpy(bool)].drop_duplicates("patient_id")
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:patients]]
    images = [torch.from_numpy(real.load(row, size))[None] for row in frame.itertuples()]
    targets = frame[list(real.labels)].to_numpy(np.float32)
    return anonymize.Radiographs(HeldImages(torch.stack(images)), np.arange(len(frame)), targets)


def _released(spec: str, given: anonymize.Radiographs) -> dict[int, torch.Tensor]:
    """An output of a release to which each image contributed, by its row."""
    found = anonymize.load(f"{spec},seed=0").released(given)
    return {
        row: image[0]
        for image, rows in zip(found.images.pixels, found.contributors, strict=True)
        for row in rows.tolist()
    }


def _alone(
    spec: str, few: anonymize.Radiographs, pool: anonymize.Radiographs
) -> list[torch.Tensor]:
    """The first ``ROWS`` of ``few`` by a method whose outputs are named after one image each."""
    model = anonymize.load(spec)
    if isinstance(model, SetAnonymizer):
        found = model.fit(pool).released(few)
        made = [int(rows[0]) for rows in found.contributors]
        return [found.images.pixels[made.index(row)][0] for row in range(ROWS)]
    return [*model(few.images.batch(np.arange(ROWS)))[:, 0]]


def some_of(given: anonymize.Radiographs, rows: Sequence[int]) -> anonymize.Radiographs:
    images = HeldImages(given.images.pixels[list(rows)])
    return anonymize.Radiographs(images, given.patients[rows], given.targets[rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
