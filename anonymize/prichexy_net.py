"""PriCheXy-Net (Packhäuser et al., MICCAI 2023): a U-Net predicts the flow field that deforms."""

import math
import os
from copy import copy
from typing import Self

import torch
from torch import Tensor, nn

from anonymize import flow, spline
from anonymize.anonymizer import DEFORMED, TONED
from anonymize.generator_options import FlowOptions
from anonymize.image_noise import ImageNoise
from anonymize.key_files import SECRET_BYTES
from anonymize.networks.build import build_generator
from anonymize.tone import toned
from anonymize.trained import Generator, TrainedAnonymizer


class FlowGenerator(Generator):
    """Deforms images with the field of Eq. 1, or one that cannot fold; which may be ``drawn``."""

    options: FlowOptions

    def __init__(self, options: FlowOptions) -> None:
        super().__init__()
        self.unet = build_generator(options)
        self.options = options
        self.redraw(0)

    @property
    def core(self) -> nn.Module:  # type: ignore[override]  # set once, as the unet
        return self.unet

    def bound(self, size: int) -> float:
        return self.options.reach(size)

    @property
    def frame(self) -> int:  # type: ignore[override]  # the published program's artefact
        return self.options.kernel // 2 if self.options.border == "reference" else 0

    @property
    def recordable(self) -> bool:  # type: ignore[override]  # what is drawn, is drawn elsewhere
        return self.options.drawn is None

    def redraw(self, seed: int) -> None:
        self.noise = ImageNoise(f"seed {seed}".encode(), {})

    def displacement(self, images: Tensor) -> Tensor:
        """Eq. 1 without the identity: −μ·G(x), Gaussian filtered; or its spline (``controls``).

        (B, 1, H, W) in [0, 1] → displacement (B, 2, H, W), |·| ≤ μ with replicated borders.
        """
        return self.fields(self.unet(images), images)[0]

    def displaced(self, images: Tensor, field: Tensor) -> Tensor:
        if self.options.tone is None:
            return super().displaced(images, field)
        return toned(flow.warp(images, field), self.fields(self.unet(images), images)[1])

    def fields(self, output: Tensor, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """What an output (B, C, H, W) of the U-Net means for ``images``, from whose pixels follows
        what is drawn: the displacement, and the tone (B, 1, H, W) of :func:`tone.toned` where there
        is one."""
        o = self.options
        moved = self._displacement(output) if o.drawn is None else self._drawn(output, images)
        if o.controls is None or o.tone is None:
            return moved, None
        return moved, o.tone * spline.smooth(output[:, -1:], o.controls)

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

    def _drawn(self, output: Tensor, images: Tensor) -> Tensor:
        """Each control point moves in a random direction, as far as the network says: what it may
        learn is where, never whither, which whoever learns from releases would learn, too."""
        o = self.options
        assert o.controls is not None
        assert o.drawn is not None
        least = o.drawn
        length = least + (1 - least) * (1 + spline.means(output[:, :1], o.controls)) / 2
        turn = torch.empty_like(length)
        for own, image in zip(turn, images, strict=True):
            own[:] = self.noise.uniform(image[0], own.shape)
        angle = math.pi * turn
        move = o.reach(output.shape[-1]) * length * torch.cat((angle.cos(), angle.sin()), dim=1)
        smooth = spline.through(move, output.shape[-2], output.shape[-1])
        return spline.integrated(smooth, o.squarings)

    def forward(self, images: Tensor) -> Tensor:
        displacement, tone = self.fields(self.unet(images), images)
        return toned(flow.warp(images, displacement), tone)


class PriCheXyNet(TrainedAnonymizer):
    """A trained flow generator as an anonymizer for images of any size.

    The displacement is predicted at the network's size and applied at the image's own. Where it is
    ``drawn``, an image always gets the same one from one object, from another another one.
    """

    name = "prichexy-net"
    is_concurrent = True
    Options = FlowOptions
    Generator = FlowGenerator
    generator: FlowGenerator

    def __init__(self, generator: FlowGenerator, *, size: int, fingerprint: str = "") -> None:
        super().__init__(generator, size=size, fingerprint=fingerprint)
        if self.is_random:
            self._take_noise(os.urandom(SECRET_BYTES))

    @property
    def is_random(self) -> bool:  # type: ignore[override]  # by its options
        return self.generator.options.drawn is not None

    @property
    def noise_is_known(self) -> bool:
        return "seed" in self.options

    def keyed(self, secret: bytes) -> Self:
        return self._with_noise(secret) if self.is_random and not self.noise_is_known else self

    def redrawn(self, seed: int) -> Self:
        if not self.is_random:
            return self
        made = self._with_noise(f"seed {seed}".encode())
        made.options = {**self.options, "seed": seed}
        return made

    def _with_noise(self, secret: bytes) -> Self:
        made = copy(self)
        made._take_noise(secret)
        return made

    def _take_noise(self, secret: bytes) -> None:
        """Random numbers follow from ``secret``, the model and each image from now on."""
        own = {key: value for key, value in self.options.items() if key != "seed"}
        context = {"method": self.name, "model": self.fingerprint, **own}
        self.generator = copy(self.generator)  # of the same weights; others keep their numbers
        self.generator.noise = ImageNoise(secret, context)

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
        displacement, tone = self._fields(images)
        return toned(flow.warp(images, displacement), tone)

    @torch.no_grad()
    def _fields(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        size = (images.shape[-2], images.shape[-1])
        output = self.inference(self.seen(images))
        displacement, tone = self.generator.fields(output, images)
        return flow.resize(displacement, size), None if tone is None else flow.resize(tone, size)
