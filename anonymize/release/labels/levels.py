"""How much of a radiograph labels say, area by area: what they explain of it, or cut off of it."""

from __future__ import annotations

import numpy as np

EXPLAINED = 0.7  # share of the image's variance
CUT, LARGE = 0.85, 0.05  # correlation with a level of the image; share of it that a region covers
EVEN = 0.02  # spread of a side without texture, a collimator's, as a share of the gray values
ALIKE, APART = 0.95, 0.4  # levels of so many grays cut off the same: what stands out, as metal


def explained(wanted: np.ndarray, known: list[np.ndarray]) -> float:
    """The share of the variance of ``wanted`` (N, K), of one of its columns, that a sum of
    ``known`` (N,) explains at most, adjusted for their number; 0 where they are too many to tell.
    """
    wanted = wanted[:, np.ptp(wanted, axis=0) > 0]
    free = len(wanted) - len(known) - 1
    if free < len(wanted) / 2 or not wanted.size:
        return 0.0
    design = np.stack([np.ones(len(wanted)), *known], 1)
    rest = wanted - design @ np.linalg.lstsq(design, wanted)[0]
    return 1 - float((np.square(rest).sum(0) / wanted.var(0, ddof=1)).min()) / free


def cut_off(wanted: np.ndarray, region: np.ndarray) -> float:
    """The largest correlation of ``region`` (N,), shares in [0, 1], with where ``wanted`` (N,) is
    above one level; 0 for a small region, one of whose sides is even, or that stands out.
    """
    share = float(region.mean())
    sides = [wanted[side] for side in (region == 0, region == 1) if side.any()]
    if min(share, 1 - share) < LARGE or len(sides) < 2:
        return 0.0
    if min(values.std() for values in sides) <= EVEN * np.ptp(wanted):
        return 0.0
    order = np.argsort(wanted)
    below = np.arange(1, len(wanted)) / len(wanted)
    covariance = np.abs(np.cumsum(region[order])[:-1] / len(wanted) - below * share)
    values = wanted[order]
    correlation = covariance / np.sqrt(below * (1 - below) * region.var())
    correlation[np.diff(values) <= 0] = 0
    same = np.flatnonzero(correlation > ALIKE * correlation.max())
    apart = values[same[-1] + 1] - values[same[0]]
    return 0.0 if apart > APART * np.ptp(wanted) else float(correlation.max())


def areas(plane: np.ndarray, side: int) -> np.ndarray:
    """Means of ``plane`` (h, w) over side × side areas, flat; of a smaller one its own pixels."""
    for axis in (0, 1):
        if (size := plane.shape[axis]) < side:
            plane = np.take(plane, np.arange(side) * size // side, axis)
    means = plane.astype(np.float64)
    for axis, size in enumerate(plane.shape):
        starts = np.arange(side) * size // side
        counts = np.diff(starts, append=size)
        means = np.add.reduceat(means, starts, axis) / (counts[:, None] if axis == 0 else counts)
    return means.ravel()
