"""Histograms of oriented gradients (Dalal and Triggs 2005) of whole batches, in torch.

9 orientations without sign; a gradient is shared between the two nearest. Cells are counted along
a side, so that images of any size give equally long histograms.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.errors import UsageError

ORIENTATIONS = 9
BLOCK = 3  # cells along a side of what is normalised together
CLIPPED = 0.2  # L2-Hys


def orientation_maps(images: Tensor) -> Tensor:
    """Gradient magnitudes (B, 9, H, W) of images (B, 1, H, W), split by orientation."""
    padded = F.pad(images, (1, 1, 1, 1), mode="replicate")
    x = padded[:, :, 1:-1, 2:] - padded[:, :, 1:-1, :-2]
    y = padded[:, :, 2:, 1:-1] - padded[:, :, :-2, 1:-1]
    magnitude = (x**2 + y**2 + 1e-12).sqrt()
    angle = torch.atan2(y, x).remainder(math.pi) * (ORIENTATIONS / math.pi)
    centres = torch.arange(ORIENTATIONS, device=images.device).view(1, -1, 1, 1)
    apart = (angle - centres).abs()
    apart = torch.minimum(apart, ORIENTATIONS - apart)
    return magnitude * (1 - apart).clamp(min=0)


def pooled_orientations(images: Tensor, cells: int) -> Tensor:
    """Mean :func:`orientation_maps` (B, 9, cells, cells) of cells × cells cells.

    Raises:
        UsageError: images with fewer pixels than cells along a side.
    """
    if min(images.shape[-2:]) < cells:
        raise UsageError(
            f"{cells} cells along a side need images of {cells} pixels, got "
            f"{tuple(images.shape[-2:])}; take fewer cells or larger images"
        )
    return F.adaptive_avg_pool2d(orientation_maps(images), cells)


def histograms(images: Tensor, cells: int) -> Tensor:
    """Block-normalised histograms (B, 81 · (cells − 2)²) of images (B, 1, H, W), of length 1.

    Raises:
        UsageError: fewer than 3 cells, or images with fewer pixels than cells along a side.
    """
    if cells < BLOCK:
        raise UsageError(f"a block is {BLOCK} × {BLOCK} cells, got {cells} along the side")
    blocks = F.unfold(pooled_orientations(images, cells), BLOCK)  # (B, 81, blocks)
    blocks = F.normalize(F.normalize(blocks, dim=1).clamp(max=CLIPPED), dim=1)
    return F.normalize(blocks.flatten(1), dim=1)
