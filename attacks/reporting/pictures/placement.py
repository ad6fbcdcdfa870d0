"""Titles beside marks, where they cover nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

Ends = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Title:
    """What is written beside a mark.

    Attributes:
        anchor: the mark, in the data's coordinates.
        strokes: both ends of everything drawn for it, and half the width in points.
    """

    text: str
    anchor: tuple[float, float]
    colour: str
    strokes: Sequence[tuple[Ends, float]]


def place_titles(axes: Axes, shown: Sequence[Title]) -> None:
    """Writes each title where it covers no mark, bar or other title: of many places around its mark
    the nearest free one inside the frame, with a line to the mark where it lies apart.

    The figure must have been drawn without rendering, so that its layout is settled.
    """
    # Boxes are rows (left, bottom, right, top) in pixels.
    canvas = axes.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    pixel = axes.figure.dpi / 72
    frame = np.asarray(axes.get_window_extent(renderer).extents)
    taken = [
        np.asarray(Bbox(axes.transData.transform(ends)).padded(width * pixel).extents)
        for title in shown
        for ends, width in title.strokes
    ]
    titles: list[np.ndarray] = []
    for title in shown:
        text = axes.annotate(
            title.text,
            title.anchor,
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=9,
            color=0.7 * np.array(mpl.colors.to_rgb(title.colour)),  # enough contrast on white
            annotation_clip=False,
            zorder=4,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )
        extent = text.get_window_extent(renderer)
        size = np.array([extent.width, extent.height])
        mark = axes.transData.transform(title.anchor)
        corner = mark + _places(extent.width, extent.height, pixel)
        boxes = np.hstack([corner, corner + size])
        lines = _lines(mark, boxes)
        outside = np.prod(size) - _covered(boxes, [frame])
        clash = _covered(boxes, taken) + _covered(lines, titles) + outside
        away = np.hypot(*(corner + size / 2 - mark).T) / pixel
        best = int(np.argmin(100 * clash + away))
        text.set_position((corner[best] - mark) / pixel)
        titles.append(boxes[best])
        margin = 2 * pixel * np.array([-1, -1, 1, 1])
        taken += [boxes[best] + margin, lines[best]]
        near = _nearest(mark, boxes[best : best + 1])[0]
        if np.hypot(*(near - mark)) > 14 * pixel:
            ends = axes.transData.inverted().transform([mark, near])
            axes.plot(*ends.T, color=title.colour, linewidth=0.6, zorder=2)


def _places(width: float, height: float, pixel: float) -> np.ndarray:
    """Offsets in pixels of a text's lower left corner from its mark, near ones first."""
    found = []
    for gap in np.arange(8, 120, 8) * pixel:
        for across in (0.0, -width, -width / 2, gap, -width - gap):
            found += [(across, gap), (across, -gap - height)]
        for up in (-height / 2, 0.0, -height):
            found += [(gap, up), (-gap - width, up)]
    return np.array(found)


def _nearest(mark: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """The point of each box nearest to the mark, (n, 2)."""
    return np.clip(mark, boxes[:, :2], boxes[:, 2:])


def _lines(mark: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """What the line from a mark to each box covers, taken as a box."""
    near = _nearest(mark, boxes)
    return np.hstack([np.minimum(mark, near) - 1, np.maximum(mark, near) + 1])


def _covered(boxes: np.ndarray, taken: Sequence[np.ndarray]) -> np.ndarray:
    """How much of each box (n, 4) the boxes in ``taken`` cover, in square pixels."""
    other = np.reshape(taken, (-1, 4))
    low = np.maximum(boxes[:, None, :2], other[:, :2])
    high = np.minimum(boxes[:, None, 2:], other[:, 2:])
    return np.prod(np.clip(high - low, 0, None), axis=2).sum(axis=1)
