"""Smooth fields on a coarse grid: uniform cubic B-splines, of the displacement's form (B, C, H, W).

The values at the control points are bounded, so the field is, and so are its derivatives: it is a
mean of at most 4 × 4 of them everywhere (partition of unity).
"""

from functools import cache

import numpy as np
import torch
from scipy.interpolate import BSpline
from torch import Tensor

from anonymize.flow import exponential

DEGREE = 3


def smooth(field: Tensor, controls: int) -> Tensor:
    """``field`` (B, C, H, W) as a spline of ``controls`` × ``controls`` control points, float32.

    A control point has the mean of the field under its own basis function. What is constant stays
    so, and no value leaves the range of the field's.

    Raises ValueError: fewer than 4 control points, or more than pixels on a side."""
    field = field.float()
    rows, columns = (_smoother(side, controls).to(field) for side in field.shape[-2:])
    with torch.autocast(field.device.type, enabled=False):  # 8 bits are too few for what adds up
        return rows @ field @ columns.mT


def displacement(raw: Tensor, *, controls: int, squarings: int | None) -> Tensor:
    """The spline of ``raw`` (B, 2, H, W) as a displacement, float32; with ``squarings`` it is a
    velocity. No component exceeds those of ``raw``.
    """
    field = smooth(raw, controls)
    return field if squarings is None else exponential(field, squarings)


@cache
def _smoother(side: int, controls: int) -> Tensor:
    """Float64 (side, side): the values of a row → those of its spline; each row sums to 1."""
    if not DEGREE < controls <= side:
        raise ValueError(f"controls must lie between {DEGREE + 1} and {side}, got {controls}")
    knots = np.arange(-DEGREE, controls + 1, dtype=float)
    places = np.linspace(0, controls - DEGREE, side)
    basis = BSpline.design_matrix(places, knots, DEGREE).toarray()
    return torch.from_numpy(basis @ (basis / basis.sum(0)).T)
