"""Histograms of oriented gradients (Dalal and Triggs 2005) of whole batches, in torch; as the first
layer of a network, and a learnt metric of them.

9 orientations without sign; a gradient is shared between the two nearest. Cells are counted along
a side, so that images of any size give equally long histograms.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.errors import UsageError

ORIENTATIONS = 9
BLOCK = 3  # cells along a side of what is normalised together
CLIPPED = 0.2  # L2-Hys
CELLS = 8  # along a side, of :class:`Histograms`
VALUES = ORIENTATIONS * BLOCK**2 * (CELLS - BLOCK + 1) ** 2


def orientation_maps(images: Tensor) -> Tensor:
    """Gradient magnitudes (B, 9, H, W) of images (B, 1, H, W), split by orientation."""
    padded = F.pad(images, (1, 1, 1, 1), mode="replicate")
    x = padded[:, :, 1:-1, 2:] - padded[:, :, 1:-1, :-2]
    y = padded[:, :, 2:, 1:-1] - padded[:, :, :-2, 1:-1]
    magnitude = (x**2 + y**2 + 1e-12).sqrt()
    angle = torch.atan2(y, x).remainder(math.pi) * (ORIENTATIONS / math.pi)
    below = angle.floor()
    above = magnitude * (angle - below)
    lower = below.long() % ORIENTATIONS
    maps = magnitude.new_zeros(len(images), ORIENTATIONS, *images.shape[-2:])
    maps.scatter_(1, lower, magnitude - above)
    return maps.scatter_(1, (lower + 1) % ORIENTATIONS, above)


def pooled_orientations(images: Tensor, *cells: int) -> list[Tensor]:
    """Mean :func:`orientation_maps` (B, 9, c, c) of c × c cells, for each c given; UsageError for
    images with fewer pixels than cells along a side."""
    if min(images.shape[-2:]) < max(cells):
        raise UsageError(
            f"{max(cells)} cells along a side need images of {max(cells)} pixels, got "
            f"{tuple(images.shape[-2:])}; take fewer cells or larger images"
        )
    maps = orientation_maps(images)
    return [F.adaptive_avg_pool2d(maps, count) for count in cells]


def histograms(images: Tensor, *cells: int) -> Tensor:
    """Block-normalised histograms (B, Σ 81 · (c − 2)²) of images (B, 1, H, W), for each number c of
    cells along a side in turn, each of length 1.

    Raises UsageError: fewer than 3 cells, or images with fewer pixels than cells along a side."""
    if min(cells) < BLOCK:
        raise UsageError(f"a block is {BLOCK} × {BLOCK} cells, got {min(cells)} along the side")
    found = []
    for pooled in pooled_orientations(images, *cells):
        blocks = F.unfold(pooled, BLOCK)  # (B, 81, blocks)
        blocks = F.normalize(F.normalize(blocks, dim=1).clamp(max=CLIPPED), dim=1)
        found.append(F.normalize(blocks.flatten(1), dim=1))
    return torch.cat(found, dim=1)


class Histograms(nn.Module):
    """Images (B, 1, H, W) to :func:`histograms` (B, VALUES, 1, 1), with a gradient;
    nothing of it is learnt."""

    def forward(self, images: Tensor) -> Tensor:
        with torch.autocast(images.device.type, enabled=False):
            return histograms(images.float(), CELLS)[:, :, None, None]


class Metric(nn.Module):
    """Standardised values (B, VALUES, 1, 1), mapped linearly to (B, features)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.standardize = nn.BatchNorm2d(VALUES)
        self.fc = nn.Linear(VALUES, features, bias=False)
        nn.init.orthogonal_(self.fc.weight)

    def forward(self, values: Tensor) -> Tensor:
        return self.fc(self.standardize(values).flatten(1))
