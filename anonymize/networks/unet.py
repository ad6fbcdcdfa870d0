"""The U-Net of Buda et al. 2019 (Computers in Biology and Medicine 109).

Parameter names are those of the published weights, so that these load as they are.
"""

from collections import OrderedDict

import torch
from torch import Tensor, nn


class UNet(nn.Module):
    """Encoder, bottleneck and decoder with skip connections; (B, in, H, W) → (B, out, H, W).

    Per level two 3×3 convolutions without bias, each with batch norm and ReLU; 2×2 max pooling
    downwards, 2×2 transposed convolution upwards; a 1×1 convolution and ``activation`` at the end.
    ``features`` channels at the first level, doubled at each of ``levels`` poolings; H and W are
    multiples of 2**levels.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, features: int, levels: int, activation
    ) -> None:
        super().__init__()
        self.levels, self.activation = levels, activation
        channels, width = in_channels, features
        for level in range(1, levels + 1):
            self.add_module(f"encoder{level}", _block(channels, width, f"enc{level}"))
            channels, width = width, 2 * width
        self.bottleneck = _block(channels, width, "bottleneck")
        self.pool = nn.MaxPool2d(2)
        for level in range(levels, 0, -1):
            width //= 2
            self.add_module(f"upconv{level}", nn.ConvTranspose2d(2 * width, width, 2, stride=2))
            self.add_module(f"decoder{level}", _block(2 * width, width, f"dec{level}"))
        self.conv = nn.Conv2d(features, out_channels, 1)

    def forward(self, images: Tensor) -> Tensor:
        skips, x = [], images
        for level in range(1, self.levels + 1):
            x = self.get_submodule(f"encoder{level}")(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        for level in range(self.levels, 0, -1):
            x = self.get_submodule(f"upconv{level}")(x)
            x = self.get_submodule(f"decoder{level}")(torch.cat((x, skips[level - 1]), dim=1))
        return self.activation(self.conv(x))


def _block(channels: int, width: int, name: str) -> nn.Sequential:
    parts = []
    for i, inputs in ((1, channels), (2, width)):
        parts += [
            (f"{name}conv{i}", nn.Conv2d(inputs, width, 3, padding=1, bias=False)),
            (f"{name}norm{i}", nn.BatchNorm2d(width)),
            (f"{name}relu{i}", nn.ReLU(inplace=True)),
        ]
    return nn.Sequential(OrderedDict(parts))
