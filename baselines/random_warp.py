"""A random smooth warp: PriCheXy-Net's flow field with noise in the place of the network."""

from collections.abc import Callable

import torch
from torch import Tensor

from anonymize import flow, spline
from anonymize.anonymizer import DEFORMED, TONED
from anonymize.tone import toned
from baselines.noise import Noisy
from baselines.options import RandomWarpOptions

ROUNDS = 6  # to the scale that gives an RMS; one is enough where nothing is integrated


class RandomWarp(Noisy):
    """Uniform noise, Gaussian filtered, scaled to the largest displacement μ: nothing is learnt.

    What a trained warp has to surpass whose displacement is as large in the root mean square
    (``rms``), of the same ``controls`` and ``squarings``. The filter leaves noise of a standard
    deviation of 0.08 μ: it is scaled up until the largest component of the field is μ, so that the
    comparison is not won against a warp that hardly moves anything. With ``border="reference"``
    the frame of the published program lies about the noise, and moves by itself: as far as
    ``rms=0.14`` of ``size=64``, as 0.07 of 256. A fine field folds the image
    where μ is large, one of 256 × 256 vectors from 0.015 on, one of ``size=64`` from 0.05 on.

    An image always gets the same field from one ``RandomWarp``, another image another one.
    """

    name = "random-warp"
    is_concurrent = True
    Options = RandomWarpOptions

    @property
    def changes_nothing(self) -> bool:
        return self.settings.mu == 0

    @property
    def evidence(self) -> str:
        known = DEFORMED if self.settings.tone is None else TONED
        return f"{known}; {super().evidence}"

    def displacement(self, images: Tensor) -> Tensor:
        return _each(images, self._field, 2)

    def tone(self, images: Tensor) -> Tensor | None:
        return None if self.settings.tone is None else _each(images, self._tone, 1)

    def anonymize(self, images: Tensor) -> Tensor:
        return toned(flow.warp(images, self.displacement(images)), self.tone(images))

    def _field(self, image: Tensor) -> Tensor:
        """The displacement (1, 2, size, size) of an image (H, W)."""
        o = self.settings
        noise = self.noise.uniform(image, (1, 2, o.size, o.size)).float()
        if o.border is not None:
            return self._framed(noise)
        if o.controls is None:
            smooth = flow.smooth(noise, kernel=o.kernel, sigma=o.sigma)
        else:
            smooth = spline.smooth(noise, o.controls)
        if o.rms is None:
            return spline.integrated(o.mu / smooth.abs().max() * smooth, o.squarings)
        moved = smooth
        for _ in range(ROUNDS):
            smooth = o.rms / flow.magnitude(moved).square().mean().sqrt() * smooth
            moved = spline.integrated(smooth, o.squarings)
        return moved

    def _framed(self, noise: Tensor) -> Tensor:
        """The frame, and smooth noise scaled so that together they have ``rms``, or the least that
        they can where the frame alone has more."""
        o = self.settings
        frame, whole = (
            flow.smooth(field, kernel=o.kernel, sigma=o.sigma, border=o.border)
            for field in (torch.zeros_like(noise), noise)
        )
        own = whole - frame
        pairs = (own, own), (own, frame), (frame, frame)
        square, mixed, alone = ((a * b).sum(1).mean() for a, b in pairs)
        root = (mixed**2 - square * (alone - o.rms**2)).clamp(min=0).sqrt()
        return frame + ((root - mixed) / square).clamp(min=0) * own

    def _tone(self, image: Tensor) -> Tensor:
        """The tone (1, 1, size, size) of an image (H, W), of numbers behind the displacement's."""
        o = self.settings
        noise = self.noise.uniform(image, (1, 3, o.size, o.size)).float()
        smooth = spline.smooth(noise[:, 2:], o.controls)
        return o.tone / smooth.abs().max() * smooth


def _each(images: Tensor, field: Callable[[Tensor], Tensor], channels: int) -> Tensor:
    """The field of each image (H, W), at its size."""
    h, w = images.shape[-2:]
    fields = torch.empty(len(images), channels, h, w)
    for own, image in zip(fields, images, strict=True):
        own[:] = flow.resize(field(image[0]), (h, w))[0]
    return fields.to(images.device)
