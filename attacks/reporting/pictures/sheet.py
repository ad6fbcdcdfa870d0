"""A page of small pictures of many methods: columns with titles, in lines that fit a screen."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attacks.reporting.pictures.figures import INK, drawn, short

MAX_COLUMNS = 9  # columns in a line
WIDE = 7  # columns under which two lines would be a tall page
CELL, GAP, APART, TITLE, EDGE = 1.65, 0.06, 0.22, 0.44, 0.08  # inches


@dataclass(frozen=True)
class Column:
    """One method and one of the example images. ``axes``: from top to bottom."""

    title: str
    example: int
    axes: tuple[Axes, ...]


class Page:
    """A figure on which everything stands at so many inches from the left and from the top."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure
        self._width, self._height = figure.get_size_inches()

    def cell(self, left: float, top: float, side: float) -> Axes:
        """A square for a picture."""
        bottom = self._height - top - side
        box = (left / self._width, bottom / self._height, side / self._width, side / self._height)
        return self._figure.add_axes(box)

    def write(self, text: str, left: float, top: float, **style: Any) -> None:
        """Text from there on."""
        self._figure.text(left / self._width, 1 - top / self._height, text, **style)


def examples_shown(methods: int, examples: int) -> int:
    """How many of the example images make a page of good shape with so many methods."""
    if methods > MAX_COLUMNS // 2:
        return min(examples, 2) if WIDE <= methods <= MAX_COLUMNS else 1
    return min(examples, MAX_COLUMNS // methods)


@contextmanager
def sheet(
    paths: Path | Sequence[Path],
    titles: Sequence[str],
    examples: int,
    rows: Callable[[Sequence[str]], int],
) -> Iterator[tuple[Figure, list[Column]]]:
    """An empty page, as :func:`drawn` gives it: a column for each method and example image.

    Few methods stand side by side for several images; many run on in the next line.

    Args:
        rows: how many pictures high a line with these methods is.
    """
    lines = _lines(titles, examples)
    heights = [rows([title for title, *_ in line]) for line in lines]
    width = max(_lefts(line)[-1] for line in lines) + CELL + EDGE
    height = len(lines) * TITLE + sum(heights) * (CELL + GAP) + (len(lines) - 1) * APART + EDGE
    with drawn(paths, (width, height)) as figure:
        columns, top = [], height
        for line, high in zip(lines, heights, strict=True):
            top -= TITLE
            for (title, example, _), left in zip(line, _lefts(line), strict=True):
                boxes = [(left, top - (row + 1) * CELL - row * GAP) for row in range(high)]
                axes = tuple(
                    figure.add_axes((x / width, y / height, CELL / width, CELL / height))
                    for x, y in boxes
                )
                for cell in axes:
                    cell.set_axis_off()
                axes[0].set_title(wrapped(title), fontsize=8.5, color=INK, pad=3)
                columns.append(Column(title, example, axes))
            top -= high * (CELL + GAP) + APART
        yield figure, columns


def _lines(titles: Sequence[str], examples: int) -> list[list[tuple[str, int, bool]]]:
    blocks = [[(title, n, title == titles[0]) for title in titles] for n in range(examples)]
    beside = max(1, MAX_COLUMNS // len(titles))
    if beside > 1:
        return [
            [column for block in blocks[i : i + beside] for column in block]
            for i in range(0, examples, beside)
        ]
    length = math.ceil(len(titles) / math.ceil(len(titles) / MAX_COLUMNS))
    return [block[i : i + length] for block in blocks for i in range(0, len(titles), length)]


def _lefts(line: Sequence[tuple[str, int, bool]]) -> list[float]:
    lefts, left = [], EDGE
    for i, (_, _, first) in enumerate(line):
        left += APART if first and i else 0
        lefts.append(left)
        left += CELL + GAP
    return lefts


def wrapped(title: str) -> str:
    """The method on one line, its options on the next."""
    title = short(title)
    return title.replace(" ", "\n", 1) if "=" in title else title
