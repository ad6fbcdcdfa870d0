"""PriCheXy-Net (Packhäuser et al., MICCAI 2023): a U-Net predicts the flow field that deforms."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from anonymize import flow, spline
from anonymize.anonymizer import DEFORMED
from anonymize.generator_options import FlowOptions
from anonymize.networks.build import build_generator
from anonymize.trained import Generator, TrainedAnonymizer


class FlowGenerator(Generator):
    """Deforms images with the field of Eq. 1, or one that cannot fold."""

    options: FlowOptions

    def __init__(self, options: FlowOptions) -> None:
        super().__init__()
        self.unet = build_generator(options)
        self.options = options

    @property
    def core(self) -> nn.Module:  # type: ignore[override]  # set once, as the unet
        return self.unet

    def displacement(self, images: Tensor) -> Tensor:
        """Eq. 1 without the identity: −μ·G(x), Gaussian filtered; or its spline (``controls``).

        (B, 1, H, W) in [0, 1] → displacement (B, 2, H, W), |·| ≤ μ with replicated borders.
        """
        o = self.options
        raw = -o.reach(images.shape[-1]) * self.unet(images)
        if o.controls is not None:
            return spline.displacement(raw, controls=o.controls, squarings=o.squarings)
        return flow.smooth(raw, kernel=o.kernel, sigma=o.sigma, border=o.border)

    def penalty(self, images: Tensor) -> Tensor:
        if self.options.bending is None:
            return super().penalty(images)
        return self.options.bending * flow.bending_energy(self.displacement(images))

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
    def mu(self) -> float:
        return self.generator.options.reach(self.size)

    @property
    def changes_nothing(self) -> bool:
        return self.mu == 0

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
