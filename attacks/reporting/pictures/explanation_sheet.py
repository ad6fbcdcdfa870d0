"""Heat maps as a page: a pair a line, its images, and each layer's maps over them."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from attacks.reporting.pictures.figures import INK, QUIET, drawn
from attacks.reporting.pictures.pair_words import TITLES, in_words
from attacks.reporting.pictures.sheet import Page
from attacks.studies.explanation import CELLS, Explanation

CELL, JOINT, GAP, APART, LEFT, TOP = 1.25, 0.03, 0.22, 0.08, 2.0, 0.55  # inches
COLOURS = "magma"


def explanation_sheet(found: Explanation, path: Path) -> None:
    """Probe and gallery image of each pair, then both under each layer's map (dark: nothing,
    bright: speaks for the same patient); below, the mean attention over many genuine pairs, on one
    scale for all layers."""
    blocks = len(found.maps) + 1
    width = LEFT + blocks * (2 * CELL + JOINT) + (blocks - 1) * GAP + 0.1
    height = TOP + len(found.pairs) * (CELL + APART) + 0.3 + CELL + 0.45
    with drawn(path, (width, height)) as figure:
        page = Page(figure)

        def cell(block: int, side: float, top: float) -> Axes:
            left = LEFT + block * (2 * CELL + JOINT + GAP) + side * (CELL + JOINT)
            axes = page.cell(left, top, CELL)
            axes.set_axis_off()
            return axes

        for block, title in enumerate(("probe, gallery", *found.maps)):
            left = LEFT + block * (2 * CELL + JOINT + GAP)
            shape = "" if not block else " ({} × {})".format(*found.shapes[title])
            page.write(title + shape, left, TOP - 0.12, fontsize=9.5, color=INK)
        for n, pair in enumerate(found.pairs):
            top = TOP + n * (CELL + APART)
            words = TITLES[pair.kind].replace(", ", ",\n")
            page.write(words, 0.1, top + 0.45, fontsize=9, va="center")
            share = in_words(pair.ahead).replace(" score", "\nscore")
            page.write(share, 0.1, top + 0.92, fontsize=7.5, color=QUIET, va="center")
            for side, images in enumerate((found.probes, found.gallery)):
                picture = images[n, 0].numpy()
                cell(0, side, top).imshow(picture, cmap="gray", vmin=0, vmax=1)
                for block, maps in enumerate(found.maps.values(), 1):
                    _overlay(cell(block, side, top), picture, maps[side, n])
        top = TOP + len(found.pairs) * (CELL + APART) + 0.3
        page.write(f"mean of {found.averaged}\ngenuine pairs", 0.1, top + CELL / 2, fontsize=9)
        known = [a for a in found.attention.values() if not np.isnan(a).any()]
        most = max((float(a.max()) for a in known), default=1.0)
        for block, attention in enumerate(found.attention.values(), 1):
            axes = cell(block, 0.5, top)
            shown = axes.imshow(attention * CELLS**2, cmap=COLOURS, vmin=0, vmax=most * CELLS**2)
        bar = figure.colorbar(shown, cax=cell(0, 0.5, top).inset_axes((0, 0.45, 1, 0.08)),
                              orientation="horizontal")  # fmt: skip
        bar.ax.set_title("attention, 1 = even", fontsize=7.5, color=QUIET)
        bar.ax.tick_params(labelsize=7)
        bar.outline.set_visible(False)


def _overlay(axes: Axes, picture: np.ndarray, heat: np.ndarray) -> None:
    """The image in gray under the map, which hides it where it is strong."""
    colours = mpl.colormaps[COLOURS](0.25 + 0.75 * heat)[..., :3]
    strength = 0.75 * heat[..., None]
    axes.imshow(np.clip((1 - strength) * picture[..., None] * 0.8 + strength * colours, 0, 1))
