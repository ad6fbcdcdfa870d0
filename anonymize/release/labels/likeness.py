"""Whether labels show the radiograph itself: a method that moves nothing would release it in them.

A label map is few values in connected regions, in no order of brightness; and the labels of an
image must not explain its brightness, neither pixel by pixel nor over areas, each by itself or all
together. The bounds were found on the lung masks of 158 COVID-19 radiographs, which explain 0.69 of
the image's brightness at most, and on radiographs cut into four levels (0.73 and more). Nor may few
labels be what one level of the image cuts off: those masks correlate with the best level to 0.81 at
most, levels of the same radiographs, smoothed to two parts, mostly to more than 0.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from skimage.draw import polygon
from skimage.measure import label

from anonymize.release.labels import rle, turned
from anonymize.release.labels.levels import CUT, EXPLAINED, areas, cut_off, explained
from anonymize.release.reasons import Reason, Refused

MOST_VALUES = 64
MOST_PARTS = 1000  # connected regions of one value; of a small map one for so many pixels
PIXELS_A_PART = 100
FEWEST_PARTS = 64  # that any map may have
BORDERS = 0.1  # share of neighbours that differ
ORDERED, LEVELS = 0.9, 5  # share of borders between levels next to each other, of so many levels
GRIDS = (16, 48, 128)  # areas a side over which both are compared
SIMPLE = 12  # parts of labels that explain nothing but outlines
MOST_COLUMNS = 256
CANVAS = 384  # largest side on which shapes are drawn, and of runs that are put together
GROUPS = 48  # of shapes that are compared together


def check_map(values: np.ndarray) -> int:
    """The number of regions of one value in ``values`` (H, W) or (H, W, C), a map of labels. Raises
    Refused: it is none."""
    codes = coded(values)
    across, down = codes[:, 1:] != codes[:, :-1], codes[1:] != codes[:-1]
    if across.sum() + down.sum() > BORDERS * (across.size + down.size):
        raise Refused(Reason.LABELS, "mask: values change like those of a radiograph")
    parts = label(codes, background=-1, connectivity=1).max()
    if parts > np.clip(codes.size / PIXELS_A_PART, FEWEST_PARTS, MOST_PARTS):
        raise Refused(Reason.LABELS, "mask: pieces like those of a dithered radiograph")
    if codes.max() >= LEVELS - 1 and _ordered(codes) > ORDERED:
        raise Refused(Reason.LABELS, "mask: levels like those of a radiograph")
    return int(parts)


def coded(values: np.ndarray) -> np.ndarray:
    """The values or colours of (H, W) or (H, W, C), counted from 0, (H, W). Raises Refused: more of
    them than labels have."""
    first, *others = np.moveaxis(values if values.ndim == 3 else values[..., None], 2, 0)
    codes = _ranked(first)
    for plane in others:
        codes = _ranked(codes.astype(np.int64) * MOST_VALUES + _ranked(plane))
    return codes


def _ranked(values: np.ndarray) -> np.ndarray:
    """Whole numbers of a range below 2**18, counted from 0, uint8."""
    low = int(values.min())
    shifted = values.astype(np.int64) - low if low < 0 else values.astype(np.uint16)
    present = np.bincount(shifted.ravel()) > 0
    if present.sum() > MOST_VALUES:
        raise Refused(Reason.LABELS, f"mask: more than {MOST_VALUES} values, like a radiograph")
    return (np.cumsum(present) - 1).astype(np.uint8)[shifted]


def _ordered(codes: np.ndarray) -> float:
    """The share of borders that lie between neighbours of one chain of all values: 1 for nested
    levels, whatever their numbers, and little for regions side by side.
    """
    count = int(codes.max()) + 1
    codes = codes.astype(np.int64)
    borders = np.zeros((count, count), np.int64)
    for one, other in ((codes[:, 1:], codes[:, :-1]), (codes[1:], codes[:-1])):
        pairs = one.ravel() * count + other.ravel()
        borders += np.bincount(pairs, minlength=count * count).reshape(count, count)
    borders = np.triu(borders + borders.T, 1)
    chains: dict[int, list[int]] = {k: [k] for k in range(count)}
    covered = 0
    for place in np.argsort(borders, axis=None)[::-1]:
        a, b = (int(k) for k in np.unravel_index(place, borders.shape))
        left, right = chains[a], chains[b]
        ends = a in (left[0], left[-1]) and b in (right[0], right[-1])
        if ends and left is not right:
            covered += borders[a, b]
            left = left if left[-1] == a else left[::-1]
            joined = left + (right if right[0] == b else right[::-1])
            chains.update(dict.fromkeys(joined, joined))
    return float(covered / max(borders.sum(), 1))


def check_unlike(
    image: np.ndarray, maps: list[np.ndarray], runs: list[dict[str, Any]], shapes: list[np.ndarray]
) -> None:
    """Raises Refused where labels show ``image`` (H, W).

    ``maps`` (h, w) or (h, w, C) of any resolution and ``runs`` of COCO must be maps of labels;
    ``shapes`` (N, 2) are outlines or single points, x and y as shares of width and height. What
    has no more than ``SIMPLE`` parts may explain as much as it does, as an outline of the heart
    may; but not lie where the image is brighter than one level, or darker. Nor may a part of the
    labels show the image turned or mirrored (:mod:`turned`).
    """
    parts = len(shapes) + sum(check_map(values) for values in maps)
    parts += sum(check_map(rle.decode(run)) for run in runs)
    planes: list[np.ndarray] = []
    columns = []
    sides = sorted({min(side, *image.shape) for side in GRIDS})
    for plane in _planes(maps, runs, shapes, image.shape):
        columns.append([areas(plane, side) for side in sides])
        planes.append(turned.canvas(plane))
        if len(columns) > MOST_COLUMNS:
            raise Refused(Reason.LABELS, "more labels than can be compared with the radiograph")
    for side, *known in zip(sides, *columns, strict=True):
        wanted = areas(image, side)
        if parts <= SIMPLE:
            whole = [areas(coded(values) > 0, side) for values in maps]  # both lungs of a map
            if any(cut_off(wanted, region) > CUT for region in (*whole, *known)):
                raise Refused(Reason.LABELS, "a mask that is a level of the radiograph")
        elif explained(wanted[:, None], known) > EXPLAINED:
            raise Refused(Reason.LABELS, "labels that show the radiograph itself")
    if turned.shown(image, planes, simple=parts <= SIMPLE):
        raise Refused(Reason.LABELS, "labels that show the radiograph, turned or in a part of them")


def _planes(
    maps: list[np.ndarray],
    runs: list[dict[str, Any]],
    shapes: list[np.ndarray],
    size: tuple[int, int],
) -> Iterator[np.ndarray]:
    """Each label of ``maps`` for itself, and how many ``shapes`` or ``runs``, in groups, cover each
    pixel of an image of ``size`` (H, W)."""
    for codes in map(coded, maps):
        yield from (codes == value for value in range(1, codes.max() + 1))
    yield from _drawn(shapes, size)
    groups = min(len(runs), GROUPS)
    for number in range(groups):
        own = runs[-(-number * len(runs) // groups) : -(-(number + 1) * len(runs) // groups)]
        covered = sum((areas(rle.decode(run), CANVAS) for run in own), np.zeros(CANVAS * CANVAS))
        yield covered.reshape(CANVAS, CANVAS)


def drawing(
    runs: list[dict[str, Any]], shapes: list[np.ndarray], size: tuple[int, int]
) -> np.ndarray:
    """How many ``runs`` and ``shapes`` cover each pixel of an image of ``size`` (H, W), at most
    ``MOST_VALUES`` - 1."""
    covered = sum(_drawn(shapes, size, groups=1, longest=max(size)), np.zeros(size))
    for run in runs:
        mask = rle.decode(run)
        rows, columns = (np.arange(n) * own // n for n, own in zip(size, mask.shape, strict=True))
        covered += mask[np.ix_(rows, columns)]
    return covered.clip(max=MOST_VALUES - 1).astype(np.uint8)


def _drawn(
    shapes: list[np.ndarray], size: tuple[int, int], groups: int = GROUPS, longest: int = CANVAS
) -> list[np.ndarray]:
    """How many shapes cover each pixel of a canvas, in groups of shapes."""
    scale = min(1, longest / max(size))
    height, width = (max(1, round(n * scale)) for n in size)
    groups = min(len(shapes), groups)
    canvases = [np.zeros((height, width)) for _ in range(groups)]
    for number, shape in enumerate(shapes):
        x, y = (np.clip(shape, 0, 1) * (width, height)).T
        rows, columns = polygon(y - 0.5, x - 0.5, (height, width))
        if not len(rows):  # smaller than a pixel
            rows, columns = min(int(y.mean()), height - 1), min(int(x.mean()), width - 1)
        canvases[number * groups // len(shapes)][rows, columns] += 1
    return canvases
