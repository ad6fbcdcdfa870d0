"""Images at the resolution that an attacker looks at."""

import torch.nn.functional as F
from torch import Tensor, nn

STEADY = 1e-3  # gray-level deviation below which an image is not scaled up


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


def standardised(images: Tensor, side: int) -> Tensor:
    """Gray levels (N, side²) of averaged images (N, 1, H, W), of mean 0 and deviation 1 each."""
    small = averaged(images, side).flatten(1)
    centred = small - small.mean(1, keepdim=True)
    return centred / (centred.std(1, keepdim=True, correction=0) + STEADY)


def at_side(side: int | None) -> list[nn.Module]:
    """What stands in front of a network that looks at side × side pixels; None: nothing."""
    return [] if side is None else [Averaged(side)]
