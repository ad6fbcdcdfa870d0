"""How the pictures of docs/frontier.py are drawn: panels of numbered marks, and their key below.

A mark stands where its bars cross, or at the end of a line that leads there, where another would
lie on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.patches import Rectangle

from attacks.measuring.estimates import Interval
from attacks.reporting.pictures.figures import FAINT, INK, QUIET, drawn
from attacks.reporting.pictures.looks import COLOURS, KINDS

WISHED = (0.60, 0.02)  # matched AUC, and AUC that a classifier loses, at most
APART = 13.5  # points between the middles of two marks
TEXT = 9
PAPER = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}  # behind text, over lines
Line = tuple[str, str]  # of the key, and its colour


@dataclass(frozen=True)
class Mark:
    """A release by its number in the key: how it is linked, and what a classifier gains by it
    (AUC, of which releases mostly lose), each with its interval."""

    number: int
    name: str
    place: tuple[float, float]
    linked: Interval
    gained: Interval
    hollow: bool = False
    square: bool = False


@dataclass(frozen=True)
class Panel:
    """Marks of one classifier on one data set; ``floor``: how well what a classifier reads in real
    images links."""

    title: str
    floor: float
    marks: Sequence[Mark]


def colour(name: str) -> str:
    """Of a method, as in all pictures."""
    return COLOURS[KINDS[name]][0]


def draw(
    path: Path,
    panels: Sequence[Panel],
    key: Sequence[Sequence[Line]],
    *,
    rows: int,
    limits: tuple[float, float, float, float],
    size: tuple[float, float],
) -> None:
    """Panels of the same axes (x from, to, y from, to) in ``rows``, and the key's columns."""
    lines = max(map(len, key))
    height = 0.18 * lines + 0.1
    with drawn(path, (size[0], size[1] + height), layout="constrained") as figure:
        above, below = figure.subfigures(2, 1, height_ratios=(size[1], height))
        grid = above.subplots(rows, len(panels) // rows, sharex=True, sharey=True).ravel()
        grid[0].set(xlim=limits[:2], ylim=limits[2:])
        above.supylabel("AUC of a classifier less that of real images   more useful →", size=10)
        above.supxlabel("highest AUC of all attackers, matched impostors   ← more private", size=10)
        _key(below, key, lines)
        for axes, panel in zip(grid, panels, strict=True):
            _references(axes, panel)
        figure.draw_without_rendering()  # places the axes
        for axes, panel in zip(grid, panels, strict=True):
            _marks(axes, panel.marks)


def _references(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", color=INK, fontsize=11)
    left, top, (linked, lost) = axes.get_xlim()[0], axes.get_ylim()[1], WISHED
    axes.add_patch(Rectangle((left, -lost), linked - left, lost, color=FAINT, alpha=0.35, lw=0))
    axes.annotate(
        "wished for", (left, 0), (3, 3), textcoords="offset points", color=QUIET, fontsize=TEXT
    )
    axes.axhline(0, color=QUIET, lw=0.8, ls="--")
    axes.axvline(panel.floor, color=QUIET, lw=0.8, ls=(0, (7, 2, 1, 2)))
    axes.annotate(
        "floor: task", (panel.floor, top), (3, -2), textcoords="offset points", va="top",
        color=QUIET, fontsize=TEXT, bbox=PAPER,
    )  # fmt: skip


def _marks(axes: Axes, marks: Sequence[Mark]) -> None:
    low = axes.get_ylim()[0]
    for mark in marks:
        if mark.place[1] < low:
            said = f"{mark.number} ↓ {mark.place[1]:.2f}".replace("-", "−")
            place = (mark.place[0], low)
            axes.annotate(
                said, place, (0, 3), textcoords="offset points", ha="center",
                color=colour(mark.name), fontsize=TEXT, bbox=PAPER,
            )  # fmt: skip
    shown = [mark for mark in marks if mark.place[1] >= low]
    for mark, offset in zip(shown, _offsets(axes, shown), strict=True):
        (x, y), tint = mark.place, colour(mark.name)
        bars = {"color": tint, "lw": 0.8, "alpha": 0.4, "zorder": 1}
        axes.plot(mark.linked, (y, y), **bars)
        axes.plot((x, x), mark.gained, **bars)
        axes.scatter(x, y, s=9, color=tint, zorder=2)
        face, ink = ("white", tint) if mark.hollow else (tint, "white")
        axes.annotate(
            _two_wide(mark.number), (x, y), offset, textcoords="offset points",
            ha="center", va="center", fontsize=7.5, color=ink, zorder=3, annotation_clip=False,
            bbox={"boxstyle": f"{'square' if mark.square else 'circle'},pad=0.15", "fc": face,
                  "ec": tint, "lw": 1},
            arrowprops={"arrowstyle": "-", "color": tint, "lw": 0.8, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def _two_wide(number: int) -> str:
    half = "\N{PUNCTUATION SPACE}" * (number < 10)  # as wide as half a digit
    return f"{half}{number}{half}"


def _offsets(axes: Axes, marks: Sequence[Mark]) -> np.ndarray:
    """Points by which marks are moved, so that none lies on another."""
    points = axes.transData.transform([mark.place for mark in marks]) * 72 / axes.figure.dpi
    moved = points + 1e-3 * np.arange(len(points))[:, None]  # no two at one place
    for _ in range(500):
        away = moved[:, None] - moved
        apart = np.hypot(*away.transpose(2, 0, 1)) + np.eye(len(moved)) * APART
        push = np.clip(APART - apart, 0, None) / 2 / apart
        moved += (away * push[..., None]).sum(1) / 2
    return moved - points


def _key(figure: SubFigure, columns: Sequence[Sequence[Line]], lines: int) -> None:
    wide = [max(len(text) for text, _ in column) for column in columns]
    grid = figure.subplots(1, len(columns), squeeze=False, gridspec_kw={"width_ratios": wide})[0]
    for axes, column in zip(grid, columns, strict=True):
        axes.axis("off")
        for row, (text, tint) in enumerate(column):
            axes.annotate(
                text, (0, 1 - (row + 0.5) / lines), xycoords="axes fraction", color=tint,
                fontsize=TEXT, va="center",
            )  # fmt: skip
