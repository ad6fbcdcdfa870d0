"""Pairs as pictures: what the strongest attacker of a method finds, misses and takes for one."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from torch import Tensor

from attacks.measuring.extremes import KINDS, PairPictures
from attacks.reporting.pictures.figures import COLOURS, INK, QUIET, drawn
from attacks.reporting.pictures.sheet import Page, wrapped

TITLES = {
    "found": "the same patient, surest",
    "missed": "the same patient, missed",
    "mistaken": "two patients, taken for one",
}
FRAMES = {"found": COLOURS[2], "missed": COLOURS[4], "mistaken": COLOURS[1]}
SHOWN = 2  # pairs of a kind
CELL, JOINT, GAP, APART, LEFT, TOP, LINE = 1.15, 0.03, 0.14, 0.34, 1.75, 0.62, 0.3  # inches


def pair_sheet(shown: Mapping[str, PairPictures], path: Path) -> None:
    """A line a method: two pairs of each kind, the probe left of the gallery image; below each
    pair, how many of the impostor pairs score at least as high."""
    across = len(KINDS) * (SHOWN * (2 * CELL + JOINT) + (SHOWN - 1) * GAP)
    width = LEFT + across + (len(KINDS) - 1) * APART + 0.1
    height = TOP + len(shown) * (CELL + LINE) + 0.05
    with drawn(path, (width, height)) as figure:
        page = Page(figure)
        for line, (title, pictures) in enumerate(shown.items()):
            top = TOP + line * (CELL + LINE)
            page.write(wrapped(title), 0.1, top + 0.3, fontsize=9, va="center")
            page.write(pictures.attacker, 0.1, top + 0.75, fontsize=8, color=QUIET, va="center")
            for column, kind in enumerate(KINDS):
                left = LEFT + column * (across / len(KINDS) + APART)
                if not line:
                    style = {"fontsize": 10, "color": INK, "fontweight": "bold"}
                    page.write(TITLES[kind], left, TOP - 0.28, **style)
                    page.write("probe, gallery", left, TOP - 0.1, fontsize=8, color=QUIET)
                own = [at for at, pair in enumerate(pictures.pairs) if pair.kind == kind]
                for n, at in enumerate(own[:SHOWN]):
                    start = left + n * (2 * CELL + JOINT + GAP)
                    for k, images in enumerate((pictures.probes, pictures.gallery)):
                        _show(
                            page.cell(start + k * (CELL + JOINT), top, CELL),
                            images[at, 0],
                            FRAMES[kind],
                        )
                    ahead = in_words(pictures.pairs[at].ahead)
                    page.write(ahead, start, top + CELL + 0.14, fontsize=7.5, color=QUIET)


def in_words(ahead: float) -> str:
    """ "2.3 % of strangers score as high"."""
    if not ahead:
        return "no stranger scores as high"
    percent = 100 * ahead
    digits = 0 if percent >= 10 else 1 if percent >= 0.1 else 3
    return f"{percent:.{digits}f} % of strangers score as high"


def _show(axes: Axes, image: Tensor, colour: str) -> None:
    axes.set(xticks=[], yticks=[])
    axes.imshow(image.numpy(), cmap="gray", vmin=0, vmax=1)
    for spine in axes.spines.values():
        spine.set(visible=True, color=colour, linewidth=1.6)
