"""Where in a view letters can be: a look of milliseconds, so that the OCR sees little else.

Letters are strokes, thin and close to each other, lighter or darker than what is around them. Bones
and noise have few of them, so the detector, whose time goes by the pixel, gets a few per cent of a
picture.
"""

from collections.abc import Iterator, Sequence

import cv2
import numpy as np

WIDTH = 9  # pixels: strokes are thinner
AROUND, DENSE = 13, 0.26  # pixels; the part of them that must be strokes
TURNS, ONE_WAY = 31, 0.7  # pixels; strokes that all run one way, from 0 to 1, are edges of bones
REACH = 9  # pixels: letters nearer to each other than twice that are looked at together
MARGIN = 8  # pixels of surroundings
MORE = 1.6  # times the contrast of earlier views that makes a stroke worth another look
ALIKE = 0.5  # of the strokes of two views that both have: they show the same
LARGEST, OVERLAP = 768, 96  # pixels of one part
EMPTY = 0.5  # of a part's area: less than that is divided
# A letter alone: pixels in which it is looked at, what is beside it, and how much of its ink may go
# on beyond that.
LETTER, BESIDE, BEYOND = 48, 0.35, 0.7


def strokes(view: np.ndarray) -> np.ndarray:
    """uint8 (H, W): contrast of what is thinner than ``WIDTH`` in ``view`` (H, W) or (H, W, 3)."""
    soft = cv2.GaussianBlur(view, (0, 0), 0.8)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (WIDTH, WIDTH))
    light = cv2.subtract(soft, cv2.morphologyEx(soft, cv2.MORPH_OPEN, kernel))
    dark = cv2.subtract(cv2.morphologyEx(soft, cv2.MORPH_CLOSE, kernel), soft)
    found = cv2.max(light, dark)
    return found if found.ndim == 2 else found.max(2)


def dense(on: np.ndarray) -> np.ndarray:
    """bool (H, W): where strokes ``on``, bool (H, W), lie close together."""
    return cv2.blur(on.astype(np.uint8) * 255, (AROUND, AROUND)) >= int(DENSE * 255)


def unlike(on: np.ndarray, known: Sequence[np.ndarray]) -> np.ndarray:
    """bool (H, W): where strokes ``on`` are others than those of each earlier view.

    What lies over letters in one view may be gone in the next, and they are legible there.
    """
    new = np.ones(on.shape, bool)
    for other in known:
        both, either = (
            cv2.blur(part.astype(np.float32), (TURNS, TURNS)) for part in (on & other, on | other)
        )
        new &= both < ALIKE * either
    return new


def turning(view: np.ndarray) -> np.ndarray:
    """bool (H, W): where the edges of ``view`` run in more than one direction.

    The structure tensor's coherence (Jähne 1993) at half the resolution.
    """
    height, width = view.shape[:2]
    half = cv2.resize(view, (-(-width // 2), -(-height // 2)), interpolation=cv2.INTER_AREA)
    x, y = (cv2.Sobel(half, cv2.CV_32F, *way) for way in ((1, 0), (0, 1)))
    tensor = np.stack([x * x, y * y, x * y], -1)
    tensor = tensor if tensor.ndim == 3 else tensor.sum(2)
    xx, yy, xy = np.moveaxis(cv2.blur(tensor, (TURNS // 2, TURNS // 2)), 2, 0)
    turns = (xx - yy) ** 2 + 4 * xy * xy < (ONE_WAY * (xx + yy)) ** 2
    return cv2.resize(turns.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0


def ends(view: np.ndarray, corners: np.ndarray) -> bool:
    """True where what is drawn within ``corners`` (4, 2) ends near them, as letters do.

    What goes on is an arrow, a wire or a bone. Ink is lighter or darker than the rest (Otsu 1979).
    """
    low, high = corners.min(0), corners.max(0)
    side = BESIDE * float((high - low).max())
    size = np.array(view.shape[1::-1])
    first, last = (
        x.astype(int) for x in (np.maximum(low - side, 0), np.minimum(high + side, size))
    )
    part = view[first[1] : last[1], first[0] : last[0]]
    scale = LETTER / max(float((high - low).max()), 1.0)
    if not part.size:
        return True
    part = part if part.ndim == 2 else part.max(2)
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    part = cv2.resize(part, None, fx=scale, fy=scale, interpolation=how)
    inside = np.zeros(part.shape, bool)
    (left, top), (right, bottom) = (
        np.maximum((x - first) * scale, 0).astype(int) for x in (low, high)
    )
    inside[top:bottom, left:right] = True
    if not inside.any():
        return True
    level, _ = cv2.threshold(part[inside].reshape(-1, 1), 0, 255, cv2.THRESH_OTSU)
    open_sides = [first[1] > 0, first[0] > 0, last[1] < size[1], last[0] < size[0]]
    beyond = []
    for ink in (part > level, part <= level):
        labels = cv2.connectedComponents(ink.astype(np.uint8))[1]
        edges = (labels[0], labels[:, 0], labels[-1], labels[:, -1])
        out = np.concatenate(
            [edge for edge, is_open in zip(edges, open_sides, strict=True) if is_open] + [[0]]
        )
        within = labels[ink & inside]
        beyond.append(np.isin(within, out).mean() if within.size else 1.0)
    return min(beyond) < BEYOND


def components(on: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int32 (H, W): the number of each mark of ``on`` (H, W), whose corners touch; 0 is the rest.
    And int32 (n, 5): left, top, width, height and area of each. Of OpenCV's ways, the one that goes
    by blocks (Grana 2010) takes a third of the time that the usual one does."""
    mask, way = on.astype(np.uint8, copy=False), cv2.CCL_GRANA
    _, labels, boxes, _ = cv2.connectedComponentsWithStatsWithAlgorithm(mask, 8, cv2.CV_32S, way)
    return labels, boxes


def parts(where: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Rows and columns that together hold all of ``where`` (H, W) and its surroundings."""
    wide = cv2.dilate(where.astype(np.uint8), np.ones((2 * REACH + 1,) * 2, np.uint8))
    labels, boxes = components(wide)
    for number, (left, top, width, height, _) in enumerate(boxes[1:], 1):
        mask = labels[top : top + height, left : left + width] == number
        for rows, columns in _divided(mask):
            yield _around(top, rows, where.shape[0]), _around(left, columns, where.shape[1])


def _around(start: int, part: slice, size: int) -> slice:
    return slice(max(start + part.start - MARGIN, 0), min(start + part.stop + MARGIN, size))


def _divided(mask: np.ndarray, top: int = 0, left: int = 0) -> Iterator[tuple[slice, slice]]:
    """Parts, at most ``LARGEST`` long, of what is set in ``mask``; large empty ones are halved."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return
    top, left = top + rows[0], left + columns[0]
    mask = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = mask.shape
    longer = max(height, width)
    if longer <= 3 * OVERLAP or (longer <= LARGEST and mask.mean() > EMPTY):
        yield slice(top, top + height), slice(left, left + width)
        return
    axis = int(width > height)
    first = (longer + OVERLAP) // 2
    one, other = np.split(mask, [first], axis)[0], np.split(mask, [longer - first], axis)[1]
    yield from _divided(one, top, left)
    offset = longer - first
    yield from _divided(other, top + offset * (1 - axis), left + offset * axis)
