"""Small networks on pooled gradient orientations, cheap and blind to how bright an image is; and
with coarse gray levels beside them: what one loses in a release, the other may keep."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.networks.backbones import backbone, input_of
from anonymize.networks.compact import Residual
from anonymize.networks.gradients import ORIENTATIONS, pooled_orientations
from attacks.networks.resolution import Averaged

CELLS = 24
LEFT = CELLS // 4  # cells along a side after two strides
MAPS = 64
COARSE = 32  # pixels along a side
DROPOUT = 0.2  # before the last layer


class GradientNet(nn.Module):
    """Images (B, 1, H, W) of 24 pixels or more → (B, features), by the place of every gradient.

    Orientations are pooled to 24 × 24 cells, each divided by the strength of its neighbourhood.
    Nothing is pooled over the whole image, for radiographs lie alike and a rib's place counts.

    Args:
        width: channels of the first block; they double at each of two strides.
    """

    def __init__(self, features: int, *, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(ORIENTATIONS),
            Residual(ORIENTATIONS, width, stride=1),
            Residual(width, 2 * width, stride=2),
            Residual(2 * width, 4 * width, stride=2),
            nn.Conv2d(4 * width, MAPS, 1, bias=False),
            nn.BatchNorm2d(MAPS),
            nn.ReLU(inplace=True),
        )
        self.fc = nn.Sequential(
            nn.Flatten(), nn.Dropout(DROPOUT), nn.Linear(MAPS * LEFT**2, features)
        )

    def forward(self, images: Tensor) -> Tensor:
        (cells,) = pooled_orientations(images, CELLS)
        energy = cells.square().sum(1, keepdim=True)
        around = F.avg_pool2d(energy, 3, stride=1, padding=1, count_include_pad=False)
        return self.fc(self.body(cells / (around + 1e-6).sqrt()))


class TwoStream(nn.Module):
    """Images (B, 1, H, W) of 24 pixels or more → (B, features), half of them from each stream.

    Neither half is brought to a length of its own: training decides what each is worth.

    Args:
        width: channels of the first block of both.
    """

    def __init__(self, features: int, *, width: int) -> None:
        super().__init__()
        coarse = backbone("compact", features // 2, weights=None, width=width)
        self.fine = GradientNet(features - features // 2, width=width)
        self.coarse = nn.Sequential(Averaged(COARSE), input_of("compact"), coarse)

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat((self.fine(images), self.coarse(images)), dim=1)
