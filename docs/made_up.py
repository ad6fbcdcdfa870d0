"""Draws docs/made_up.png: children's radiographs of a pool, and below each what a generative model
of that pool makes up of the same code.

python docs/made_up.py PEDIATRIC_PNEUMONIA_ROOT
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sets import children, some_of

import anonymize

SIZE, SHOWN, POOL = 64, 10, 1500
SPEC = "utility-code:per=patient,seed=0"


def main(root: Path) -> None:
    known = children(root, POOL + SHOWN, SIZE)
    pool, given = some_of(known, range(POOL)), some_of(known, range(POOL, POOL + SHOWN))
    figure = Figure(figsize=(1.2 * SHOWN, 2.5), layout="constrained")
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
