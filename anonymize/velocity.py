"""Stationary velocity fields: displacements that do not fold."""

from __future__ import annotations

from torch import Tensor

from anonymize.flow import compose


def exponential(velocity: Tensor, squarings: int) -> Tensor:
    """The displacement after unit time along ``velocity`` (B, 2, H, W), by scaling and squaring.

    The velocity is one of :mod:`anonymize.flow`'s displacements per unit of time, continued beyond
    the border as it is there. The path from p is no longer than the time: no component exceeds
    the velocity's largest. −velocity gives the inverse (Arsigny et al. 2006; Ashburner 2007).

    Args:
        squarings: the path has 2**squarings steps.
    """
    displacement = velocity / 2**squarings
    for _ in range(squarings):
        displacement = compose(displacement, displacement)
    return displacement
