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
    height, width = field.shape[-2:]
    return _along(field, _smoother(height, controls), _smoother(width, controls))


def means(field: Tensor, controls: int) -> Tensor:
    """The control points (B, C, controls, controls) of :func:`smooth`, float32."""
    height, width = field.shape[-2:]
    return _along(field, _weights(height, controls).T, _weights(width, controls).T)


def through(points: Tensor, height: int, width: int) -> Tensor:
    """The spline (B, C, height, width) of control points (B, C, controls, controls), float32."""
    controls = points.shape[-1]
    return _along(points, _basis(height, controls), _basis(width, controls))


def displacement(raw: Tensor, *, controls: int, squarings: int | None) -> Tensor:
    """The spline of ``raw`` (B, 2, H, W) as a displacement, float32; with ``squarings`` it is a
    velocity. No component exceeds those of ``raw``.
    """
    return integrated(smooth(raw, controls), squarings)


def integrated(field: Tensor, squarings: int | None) -> Tensor:
    """A displacement (B, 2, H, W); with ``squarings``, that of a velocity."""
    return field if squarings is None else exponential(field, squarings)


def _along(field: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """``field`` (B, C, H, W) with its columns times ``rows``, and its rows times ``columns``."""
    field = field.float()
    with torch.autocast(field.device.type, enabled=False):  # 8 bits are too few for what adds up
        return rows.to(field) @ field @ columns.to(field).mT


@cache
def _smoother(side: int, controls: int) -> Tensor:
    """Float64 (side, side): the values of a row → those of its spline; each row sums to 1."""
    return _basis(side, controls) @ _weights(side, controls).T


def _weights(side: int, controls: int) -> Tensor:
    """Float64 (side, controls): what each value counts in the control points' means."""
    basis = _basis(side, controls)
    return basis / basis.sum(0)


@cache
def _basis(side: int, controls: int) -> Tensor:
    """Float64 (side, controls): the control points' values → the spline's."""
    if not DEGREE < controls <= side:
        raise ValueError(f"controls must lie between {DEGREE + 1} and {side}, got {controls}")
    knots = np.arange(-DEGREE, controls + 1, dtype=float)
    places = np.linspace(0, controls - DEGREE, side)
    return torch.from_numpy(BSpline.design_matrix(places, knots, DEGREE).toarray())
