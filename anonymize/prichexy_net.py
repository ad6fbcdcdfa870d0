"""PriCheXy-Net (Packhäuser et al., MICCAI 2023): a U-Net predicts the flow field that deforms."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from anonymize import flow
from anonymize.anonymizer import DEFORMED
from anonymize.networks.build import build_generator
from anonymize.options import FlowOptions
from anonymize.trained import Generator, TrainedAnonymizer


class FlowGenerator(Generator):
    """Deforms images with the field of Eq. 1."""

    options: FlowOptions

    def __init__(self, options: FlowOptions) -> None:
        super().__init__()
        self.unet = build_generator(options)
        self.options = options

    @property
    def core(self) -> nn.Module:  # type: ignore[override]  # set once, as the unet
        return self.unet

    def bound(self, size: int) -> float:
        return self.options.mu

    @property
    def frame(self) -> int:  # type: ignore[override]  # the published program's artefact
        return self.options.kernel // 2 if self.options.border == "reference" else 0

    def displacement(self, images: Tensor) -> Tensor:
        """Eq. 1 without the identity: −μ·G(x), Gaussian filtered.

        (B, 1, H, W) in [0, 1] → displacement (B, 2, H, W), |·| ≤ μ with replicated borders.
        """
        o = self.options
        return flow.smooth(
            -o.mu * self.unet(images), kernel=o.kernel, sigma=o.sigma, border=o.border
        )

    def forward(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))


class PriCheXyNet(TrainedAnonymizer):
    """A trained flow generator as an anonymizer for images of any size.

    The displacement is predicted at the network's size and applied at the image's own.
    """

    name = "prichexy-net"
    Options = FlowOptions
    Generator = FlowGenerator
    generator: FlowGenerator

    @property
    def changes_nothing(self) -> bool:
        return self.generator.options.mu == 0

    @property
    def evidence(self) -> str:
        return f"{DEFORMED}; {super().evidence}"

    @torch.no_grad()
    def displacement(self, images: Tensor) -> Tensor:
        predicted = self.generator.displacement(self.seen(images))
        height, width = images.shape[-2:]
        return flow.resize(predicted, (height, width))

    def anonymize(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))
