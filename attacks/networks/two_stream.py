"""Gradients beside coarse gray levels: what one of them loses in a release, the other may keep."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from anonymize.networks.backbones import backbone, input_of
from attacks.networks.gradient_net import GradientNet
from attacks.networks.resolution import Averaged

COARSE = 32  # pixels along a side


class TwoStream(nn.Module):
    """Images (B, 1, H, W) of 24 pixels or more → (B, features), half of them from each stream.

    Neither half is brought to a length of its own: training decides what each is worth.

    Args:
        features: number of outputs.
        width: channels of the first block of both.
    """

    def __init__(self, features: int, *, width: int) -> None:
        super().__init__()
        coarse = backbone("compact", features // 2, weights=None, width=width)
        self.fine = GradientNet(features - features // 2, width=width)
        self.coarse = nn.Sequential(Averaged(COARSE), input_of("compact"), coarse)

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat((self.fine(images), self.coarse(images)), dim=1)
