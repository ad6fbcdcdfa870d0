"""How the pixels of one image moved, for everything that is drawn on it.

Coordinates are those of COCO: x to the right, y downwards, from the outer corner of the first
pixel, so that pixel i covers [i, i + 1] and an image of width W covers [0, W]. Labels of another
resolution are scaled by the ratio of the sizes. The output at p shows the input at p + d(p): masks
are pulled (nearest neighbour), points are pushed, a label point q goes to the p with p + d(p) = q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

TOLERANCE = 1e-3  # pixels by which p + d(p) may miss q
STEPS = 60  # of Newton's method; two or three are the rule
STARTS = 12  # cells in which a solution is looked for where Newton's method found none
SPACING = 2.0  # pixels between the points of an outline that are pushed
STRAIGHT = 0.05  # pixels by which an outline may be simplified again
CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell between four pixel centres
ROWS = 256  # rows of a mask that are pulled at a time
MAX_SIDE = 1 << 20  # of an image, as its labels give its size

Size = tuple[int, int]  # width, height


@dataclass(frozen=True)
class Pushed:
    """Where points lie in the output.

    ``points`` (N, 2); ``residual`` (N,) is |p + d(p) − q| in pixels of the image; ``folded`` (N,)
    is True where the image folds over the point (a Jacobian determinant ≤ 0) or close to it, so
    that it may be shown more than once.
    """

    points: np.ndarray
    residual: np.ndarray
    folded: np.ndarray


class Motion:
    """The displacement of one image in its pixels, (2, H, W) with x first; None: nothing moved."""

    def __init__(self, size: Size, field: np.ndarray | None) -> None:
        self.size, self.field = size, field

    def at(self, points: np.ndarray) -> np.ndarray:
        """d (N, 2) at ``points`` (N, 2), bilinear, continued beyond the border."""
        if self.field is None:
            return np.zeros_like(points)
        from scipy.ndimage import map_coordinates

        places = points[:, ::-1].T - 0.5  # rows y, x of pixel centres
        return np.stack(
            [
                map_coordinates(part, places, np.float64, order=1, mode="nearest")
                for part in self.field
            ],
            1,
        )

    def push(self, points: np.ndarray, size: Size | None = None) -> Pushed:
        """Where ``points`` (N, 2) of the input lie in the output; ``size``: their own resolution.

        Newton's method from the fixed point's first step; where it fails, again from the
        pixels around. Nothing is clipped.
        """
        scale = self._scale(size)
        wanted = np.asarray(points, np.float64).reshape(-1, 2) * scale
        if self.field is None or not len(wanted):
            still = np.zeros(len(wanted))
            return Pushed(wanted / scale, still, still.astype(bool))
        found, residual = self._newton(wanted - self.at(wanted), wanted)
        for i in np.flatnonzero(residual > TOLERANCE):
            starts = self._near(wanted[i])
            tried, missed = self._newton(starts, np.repeat(wanted[i : i + 1], len(starts), 0))
            best = missed.argmin()
            if missed[best] < residual[i]:
                found[i], residual[i] = tried[best], missed[best]
        columns, rows = np.clip(wanted, 0, np.subtract(self.size, 1)).astype(int).T
        folded = self._folds[rows, columns]
        return Pushed(found / scale, residual, folded)

    def outline(self, ring: np.ndarray, size: Size | None = None) -> tuple[np.ndarray, Pushed]:
        """A closed outline (N, 2) pushed: points every two pixels, simplified, inside the image."""
        from skimage.measure import approximate_polygon

        scale = self._scale(size)
        dense = densified(np.asarray(ring, np.float64) * scale) / scale
        pushed = self.push(dense, size)
        inside = np.clip(pushed.points, 0, size or self.size)
        closed = np.concatenate([inside, inside[:1]]) * scale
        simple = approximate_polygon(closed, STRAIGHT)[:-1] / scale
        return (simple if len(simple) >= 3 else inside), pushed

    def pull(self, mask: np.ndarray) -> np.ndarray:
        """``mask`` (h, w) or (h, w, C) of any resolution, moved, by its nearest pixel."""
        if self.field is None:
            return mask.copy()
        height, width = mask.shape[:2]
        scale = self._scale((width, height))
        result = np.empty_like(mask)
        x = np.arange(width) + 0.5
        for top in range(0, height, ROWS):
            y = np.arange(top, min(top + ROWS, height)) + 0.5
            own = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
            seen = np.floor(own + self.at(own * scale) / scale).astype(np.int64)
            columns, rows = np.clip(seen, 0, (width - 1, height - 1)).T
            result[top : top + ROWS] = mask[rows, columns].reshape(len(y), *mask.shape[1:])
        return result

    def _scale(self, size: Size | None) -> np.ndarray:
        return np.divide(self.size, size or self.size)

    def _newton(self, start: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solutions of p + d(p) = wanted near ``start``, and by how much they miss it."""
        p = start.copy()
        missed = p + self.at(p) - wanted
        length = np.linalg.norm(missed, axis=1)
        damping = np.ones(len(p))
        for _ in range(STEPS):
            open_ = np.flatnonzero(length > TOLERANCE / 10)
            if not len(open_):
                break
            jacobian = self._jacobian(p[open_])
            regular = np.abs(np.linalg.det(jacobian)) > 0.05
            step = missed[open_].copy()
            step[regular] = np.linalg.solve(jacobian[regular], step[regular, :, None])[..., 0]
            tried = p[open_] - damping[open_, None] * step
            rest = tried + self.at(tried) - wanted[open_]
            shorter = np.linalg.norm(rest, axis=1)
            better = shorter < length[open_]
            moved = open_[better]
            p[moved], missed[moved], length[moved] = tried[better], rest[better], shorter[better]
            damping[open_] = np.where(better, 1.0, damping[open_] / 2)
        return p, length

    def _jacobian(self, points: np.ndarray) -> np.ndarray:
        """D(p + d(p)), (N, 2, 2), by central differences over half a pixel."""
        along = [
            (self.at(points + step) - self.at(points - step)) / 0.5
            for step in (np.array([0.25, 0.0]), np.array([0.0, 0.25]))
        ]
        return np.eye(2) + np.stack(along, -1)

    @cached_property
    def _folds(self) -> np.ndarray:
        """bool (H, W): pixels of the input over which the image folds, or close to that."""
        width, height = self.size
        folds = np.zeros((height, width), bool)
        assert self.field is not None
        across, down = np.diff(self.field, axis=2), np.diff(self.field, axis=1)
        (a, b), (c, d) = across[:, :-1], down[:, :, :-1]
        rows, columns = np.nonzero((1 + a) * (1 + d) - b * c <= 0)
        if len(rows):
            from scipy.ndimage import binary_dilation

            seen = np.stack([columns, rows]) + 1 + self.field[:, rows, columns]
            x, y = np.clip(seen, 0, np.array([[width - 1], [height - 1]])).astype(int)
            folds[y, x] = True
            reach = ceil(max(np.abs(across).max(), np.abs(down).max())) + 1
            folds = binary_dilation(folds, np.ones((3, 3), bool), reach)
        return folds

    def _near(self, wanted: np.ndarray) -> np.ndarray:
        """Middles (N, 2) of the cells between pixel centres that are taken around ``wanted``."""
        assert self.field is not None
        reach = np.abs(self.field).max() + 2
        low = np.floor(np.clip(wanted - reach, 0, np.subtract(self.size, 2))).astype(int)
        high = np.ceil(np.clip(wanted + reach, 2, self.size)).astype(int)
        x, y = np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5
        part = self.field[:, low[1] : high[1], low[0] : high[0]]
        seen = np.stack(np.meshgrid(x, y)) + part - wanted[:, None, None]
        rows, columns = np.subtract(seen.shape[1:], 1)
        corners = np.stack([seen[:, i : i + rows, j : j + columns] for i, j in CORNERS])
        around = ((corners.min(0) <= 0) & (corners.max(0) >= 0)).all(0)
        distance = np.where(around, 0, 1e6) + (corners.mean(0) ** 2).sum(0)
        best = np.argsort(distance, axis=None, kind="stable")[:STARTS]
        rows, columns = np.unravel_index(best, distance.shape)
        return np.stack([x[columns], y[rows]], 1) + 0.5


def densified(ring: np.ndarray) -> np.ndarray:
    """A closed outline (N, 2) with further points, at most ``SPACING`` apart."""
    pieces = []
    for a, b in zip(ring, np.roll(ring, -1, 0), strict=True):
        count = max(1, int(np.ceil(np.linalg.norm(b - a) / SPACING)))
        pieces.append(a + (b - a) * (np.arange(count) / count)[:, None])
    return np.concatenate(pieces)


def area(ring: np.ndarray) -> float:
    """Area of a polygon (N, 2) without its last point repeated (the shoelace formula)."""
    x, y = np.asarray(ring, np.float64).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def same_shape(size: Size, other: Size) -> bool:
    """True where two sizes (W, H) can be the same picture, sampled anew."""
    (w, h), (width, height) = size, other
    return abs(w - h * width / height) <= 1 or abs(h - w * height / width) <= 1
