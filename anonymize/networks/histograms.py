"""Gradient histograms of an image as the first layer of a network, and a learnt metric of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from anonymize.networks.gradients import BLOCK, ORIENTATIONS, histograms

CELLS = 8  # along a side of the image
VALUES = ORIENTATIONS * BLOCK**2 * (CELLS - BLOCK + 1) ** 2


class Histograms(nn.Module):
    """Images (B, 1, H, W) to :func:`gradients.histograms` (B, VALUES, 1, 1), with a gradient;
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
