"""Bending energy of a displacement: what a penalty on it makes smooth."""

from __future__ import annotations

from torch import Tensor

from anonymize import flow


def bending_energy(displacement: Tensor) -> Tensor:
    """Mean of |d²u/dx²|² + |d²u/dy²|² + 2·|d²u/dxdy|² over both components, a scalar.

    Displacement (B, 2, H, W) and coordinates count sides of the image, so that the size in pixels
    hardly matters; 0 for an affine map (Rueckert et al. 1999, Eq. 8).
    """
    from monai.losses import BendingEnergyLoss

    rows_first = flow.pixels(displacement).flip(1)
    return BendingEnergyLoss(normalize=True)(rows_first.float())
