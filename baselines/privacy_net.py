"""Privacy-Net (Kim et al. 2021), as Packhäuser et al. 2023 adapted it to radiographs.

A U-Net predicts the anonymized image itself, against the same classifier and verifier.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.trained import Generator, TrainedAnonymizer
from baselines.options import PrivacyNetOptions


class Encoder(nn.Module):
    """The U-Net: (B, 1, H, W) → (B, 1, H, W) in (0, 1); H and W multiples of 2**levels.

    Parameter names are those of the published weights. Per level two 3×3 convolutions with batch
    norm, leaky ReLU (0.2) after the first only; 2×2 max pooling downwards, 3×3 transposed
    convolution of stride 2 upwards; sigmoid at the end.
    """

    def __init__(self, *, features: int, levels: int) -> None:
        super().__init__()
        self.levels = levels
        channels, width = 1, features
        for level in range(1, levels + 1):
            self.add_module(f"down_{level}", _two_convolutions(channels, width))
            channels, width = width, 2 * width
        self.bridge = _two_convolutions(channels, width)
        self.pool = nn.MaxPool2d(2)
        for level in range(1, levels + 1):
            self.add_module(f"trans_{level}", _upwards(width))
            self.add_module(f"up_{level}", _two_convolutions(width + width // 2, width // 2))
            width //= 2
        self.out = nn.Sequential(nn.Conv2d(width, 1, 3, padding=1), nn.BatchNorm2d(1))

    def forward(self, images: Tensor) -> Tensor:
        skips, x = [], images
        for level in range(1, self.levels + 1):
            x = self.get_submodule(f"down_{level}")(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bridge(x)
        for level in range(1, self.levels + 1):
            x = torch.cat((self.get_submodule(f"trans_{level}")(x), skips.pop()), dim=1)
            x = self.get_submodule(f"up_{level}")(x)
        return torch.sigmoid(self.out(x))


class ImageGenerator(Generator):
    """Predicts the anonymized image."""

    recordable = True

    def __init__(self, options: PrivacyNetOptions) -> None:
        super().__init__()
        self.core = Encoder(features=options.features, levels=options.levels)
        self.options = options

    def forward(self, images: Tensor) -> Tensor:
        return self.core(images)


class PrivacyNet(TrainedAnonymizer):
    """A trained Privacy-Net as an anonymizer for images of any size.

    The image is predicted at the network's size and enlarged to the image's own: what is finer
    than the network sees is lost, and none of the input's own pixels reach the output.
    """

    name = "privacy-net"
    is_concurrent = True
    Options = PrivacyNetOptions
    Generator = ImageGenerator

    def anonymize(self, images: Tensor) -> Tensor:
        predicted = self.inference(self.seen(images))
        return F.interpolate(
            predicted, size=images.shape[-2:], mode="bilinear", align_corners=False, antialias=True
        )


def _two_convolutions(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.LeakyReLU(0.2)
        ),
        nn.Conv2d(width, width, 3, padding=1),
        nn.BatchNorm2d(width),
    )


def _upwards(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ConvTranspose2d(width, width, 3, stride=2, padding=1, output_padding=1),
        nn.BatchNorm2d(width),
        nn.LeakyReLU(0.2),
    )
