"""Images at the resolution that an attacker looks at."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


def averaged(images: Tensor, side: int) -> Tensor:
    """Images (B, 1, H, W), averaged to side × side pixels; none is enlarged."""
    sides = [min(side, n) for n in images.shape[-2:]]
    return F.interpolate(images, sides, mode="area")


class Averaged(nn.Module):
    """:func:`averaged` in front of a network."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.side = side

    def forward(self, images: Tensor) -> Tensor:
        return averaged(images, self.side)
