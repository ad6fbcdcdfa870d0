"""PriCheXy-Net (Packhäuser et al., MICCAI 2023): a U-Net predicts the flow field that deforms."""

import torch
from torch import Tensor, nn

from anonymize import flow, spline
from anonymize.anonymizer import DEFORMED, TONED
from anonymize.generator_options import FlowOptions
from anonymize.networks.build import build_generator
from anonymize.tone import toned
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

    def bound(self, size: int) -> float:
        return self.options.reach(size)

    @property
    def frame(self) -> int:  # type: ignore[override]  # the published program's artefact
        return self.options.kernel // 2 if self.options.border == "reference" else 0

    def displacement(self, images: Tensor) -> Tensor:
        """Eq. 1 without the identity: −μ·G(x), Gaussian filtered; or its spline (``controls``).

        (B, 1, H, W) in [0, 1] → displacement (B, 2, H, W), |·| ≤ μ with replicated borders.
        """
        return self.fields(self.unet(images))[0]

    def fields(self, output: Tensor) -> tuple[Tensor, Tensor | None]:
        """What an output (B, C, H, W) of the U-Net means: the displacement, and the tone
        (B, 1, H, W) of :func:`tone.toned` where there is one."""
        o = self.options
        if o.controls is None or o.tone is None:
            return self._displacement(output), None
        return self._displacement(output), o.tone * spline.smooth(output[:, 2:], o.controls)

    def penalty(self, output: Tensor) -> Tensor:
        if self.options.bending is None:
            return super().penalty(output)
        return self.options.bending * flow.bending_energy(self._displacement(output))

    def _displacement(self, output: Tensor) -> Tensor:
        o = self.options
        move = -o.reach(output.shape[-1]) * output[:, :2]
        if o.controls is None:
            return flow.smooth(move, kernel=o.kernel, sigma=o.sigma, border=o.border)
        return spline.displacement(move, controls=o.controls, squarings=o.squarings)

    def forward(self, images: Tensor) -> Tensor:
        return _changed(images, *self.fields(self.unet(images)))


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
        known = DEFORMED if self.generator.options.tone is None else TONED
        return f"{known}; {super().evidence}"

    @torch.no_grad()
    def displacement(self, images: Tensor) -> Tensor:
        return self._fields(images)[0]

    @torch.no_grad()
    def tone(self, images: Tensor) -> Tensor | None:
        return None if self.generator.options.tone is None else self._fields(images)[1]

    def anonymize(self, images: Tensor) -> Tensor:
        return _changed(images, *self._fields(images))

    @torch.no_grad()
    def _fields(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        size = (images.shape[-2], images.shape[-1])
        displacement, tone = self.generator.fields(self.inference(self.seen(images)))
        return flow.resize(displacement, size), None if tone is None else flow.resize(tone, size)


def _changed(images: Tensor, displacement: Tensor, tone: Tensor | None) -> Tensor:
    warped = flow.warp(images, displacement)
    return warped if tone is None else toned(warped, tone)
