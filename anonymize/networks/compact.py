"""A small residual network for small images: what `quick` trains on two CPU cores."""

from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn


class CompactResNet(nn.Module):
    """Strided stem, then one residual block a level; (B, 1, H, W) → (B, features).

    ``width`` channels at the first level, doubled at each of four levels.
    """

    def __init__(self, features: int, *, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 5, stride=2, padding=2, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.blocks = nn.Sequential(
            *(
                Residual(a, b, stride=1 if i == 0 else 2)
                for i, (a, b) in enumerate(pairwise(widths))
            )
        )
        self.fc = nn.Linear(widths[-1], features)

    def forward(self, images: Tensor) -> Tensor:
        return self.fc(self.blocks(self.stem(images)).mean((2, 3)))


class Residual(nn.Module):
    """Two 3×3 convolutions beside a shortcut (He et al. 2016, basic block)."""

    def __init__(self, channels: int, width: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.stride = stride
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        # Not by the convolution: oneDNN 3.12 writes beyond the gradient of one with a stride and
        # fewer than 8 channels that stand last, on processors with AVX2. Nor by a slice, whose
        # gradient has its channels first, so that all before it takes longer.
        kept = x if self.stride == 1 else F.avg_pool2d(x, 1, self.stride)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(kept))
