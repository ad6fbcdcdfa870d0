"""Shapes of one image put where they lie in its output, and how well that went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from anonymize.release.labels.motion import Motion, Pushed, Size
from anonymize.release.reasons import Reason, Refused

WORST = 0.5  # pixels by which p + d(p) may miss q
OUTSIDE = 1.0  # pixels by which rounded coordinates may lie outside their image
DIGITS = 3


@dataclass
class Placed:
    """Number of labels, the largest miss in pixels, and points where the image folds."""

    count: int = 0
    residual: float = 0.0
    folded: int = 0

    def points(self, points: np.ndarray, motion: Motion, size: Size) -> np.ndarray:
        """``points`` (N, 2) in the output, not clipped."""
        pushed = motion.push(points, size)
        self._note(pushed)
        return pushed.points

    def outline(self, ring: np.ndarray, motion: Motion, size: Size) -> np.ndarray:
        """A closed outline (N, 2) in the output, within the picture; as it is where nothing moved.
        Raises Refused: no inverse."""
        if motion.field is None:
            return ring
        moved, pushed = motion.outline(ring, size)
        self._note(pushed)
        return moved

    def add(self, other: Placed) -> None:
        self.count += other.count
        self.residual = max(self.residual, other.residual)
        self.folded += other.folded

    def _note(self, pushed: Pushed) -> None:
        if not len(pushed.points):
            return
        self.residual = max(self.residual, float(pushed.residual.max()))
        self.folded += int(pushed.folded.sum())
        if not self.residual <= WORST:
            raise Refused(Reason.LABELS, "a point has no place in the output")


def checked(points: np.ndarray, size: Size) -> np.ndarray:
    """``points`` (N, 2), which must lie in an image of ``size``; rounding is forgiven. Raises
    Refused: outside, so that they belong to another image or size."""
    points = np.asarray(points, np.float64)
    if len(points) and not ((points >= -OUTSIDE) & (points <= np.add(size, OUTSIDE))).all():
        raise Refused(Reason.LABELS, "coordinates outside the image")
    return points


def outline(where: list[float], shape: str) -> np.ndarray:
    """The points (N, 2) of a shape; of a box, given by its "corners" or "extent", the corners."""
    if shape not in ("corners", "extent"):
        return np.reshape(where, (-1, 2))
    left, top, right, bottom = where
    if shape == "extent":
        right, bottom = left + right, top + bottom
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], float)


@overload
def rounded(values: np.ndarray) -> list[float]: ...
@overload
def rounded(values: float) -> float: ...
def rounded(values: np.ndarray | float) -> list[float] | float:
    """Plain numbers of a thousandth of a pixel, flat."""
    return np.round(np.ravel(values) if np.ndim(values) else float(values), DIGITS).tolist()
