"""Differentiable gradient histograms of an image, and a learnt metric of them."""

from __future__ import annotations

import torch
from kornia.feature import DenseSIFTDescriptor
from torch import Tensor, nn

ANGLES, BLOCK = 8, 2  # soft orientation bins; cells along a side of a normalised block


class Histograms(nn.Module):
    """Blocks of soft-binned gradient histograms (B, n, 1, 1); nothing of it is learnt.

    HOG (Dalal and Triggs 2005) as the dense SIFT descriptor of kornia: bilinear in position and
    orientation, so that it has a gradient in the image.

    Args:
        size: of the images (B, 1, size, size), in pixels.
        cells: along a side.
    """

    def __init__(self, size: int, *, cells: int = 8) -> None:
        super().__init__()
        step = max(1, size // cells)
        self.blocks = DenseSIFTDescriptor(
            num_ang_bins=ANGLES,
            num_spatial_bins=BLOCK,
            spatial_bin_size=step,
            stride=step,
            padding=0,
        ).requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        with torch.autocast(images.device.type, enabled=False):
            return self.blocks(images.float()).flatten(1)[:, :, None, None]


class Metric(nn.Module):
    """Standardised values (B, n, 1, 1), mapped linearly to (B, features)."""

    def __init__(self, values: int, features: int) -> None:
        super().__init__()
        self.standardize = nn.BatchNorm2d(values)
        self.fc = nn.Linear(values, features, bias=False)
        nn.init.orthogonal_(self.fc.weight)

    def forward(self, values: Tensor) -> Tensor:
        return self.fc(self.standardize(values).flatten(1))
