"""A random smooth warp: PriCheXy-Net's flow field with noise in the place of the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from pydantic import Field, model_validator
from torch import Tensor

from anonymize import flow, spline
from anonymize.anonymizer import DEFORMED, TONED
from anonymize.tone import toned
from baselines.noise import NoiseOptions, Noisy

ROUNDS = 6  # to the scale that gives an RMS; one is enough where nothing is integrated


class RandomWarpOptions(NoiseOptions):
    """The field, in the terms of PriCheXy-Net's options."""

    mu: float | None = Field(
        0.01, ge=0, le=1, description="largest displacement; [−1, 1] spans an image"
    )
    rms: float | None = Field(
        None,
        gt=0,
        le=0.5,
        description="instead: root mean square of the displacement's length, for each image",
    )
    size: int = Field(256, ge=16, le=2048, description="the noise has size × size vectors")
    kernel: int = Field(9, ge=1, description="Gaussian filter of the field: its pixels, odd")
    sigma: float = Field(
        2.0, gt=0, allow_inf_nan=False, description="its standard deviation in pixels of the field"
    )
    controls: int | None = Field(
        None, ge=4, le=256, description="of a cubic B-spline instead of the filter, on a side"
    )
    squarings: int | None = Field(
        None, ge=3, le=10, description="the spline is a velocity, integrated by so many squarings"
    )
    tone: float | None = Field(
        None, gt=0, le=0.25, description="largest change of a gray level besides, by a spline, too"
    )

    @model_validator(mode="before")
    @classmethod
    def _strength(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("rms") is None:
            return values
        if values.get("mu") is not None:
            raise ValueError("give mu or rms, not both")
        return {**values, "mu": None}

    @model_validator(mode="after")
    def _sound(self) -> RandomWarpOptions:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, got {self.kernel}")
        for name in ("squarings", "tone"):
            if getattr(self, name) is not None and self.controls is None:
                raise ValueError(f"{name} needs controls, the spline's")
        if self.controls and self.controls > self.size:
            raise ValueError(f"controls must be at most size, {self.size}, got {self.controls}")
        return self


class RandomWarp(Noisy):
    """Uniform noise, Gaussian filtered, scaled to the largest displacement μ: nothing is learnt.

    What a trained warp has to surpass whose displacement is as large in the root mean square
    (``rms``), of the same ``controls`` and ``squarings``. The filter leaves noise of a standard
    deviation of 0.08 μ: it is scaled up until the largest component of the field is μ, so that the
    comparison is not won against a warp that hardly moves anything. A fine field folds the image
    where μ is large, one of 256 × 256 vectors from 0.015 on, one of ``size=64`` from 0.05 on.

    An image always gets the same field from one ``RandomWarp``, another image another one. The
    fields are new for each ``RandomWarp``, unless ``seed`` or ``key_file`` is given.
    """

    name = "random-warp"
    Options = RandomWarpOptions
    lasting = True  # displacement() and anonymize() must agree

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
        warped, tone = flow.warp(images, self.displacement(images)), self.tone(images)
        return warped if tone is None else toned(warped, tone)

    def _field(self, image: Tensor) -> Tensor:
        """The displacement (1, 2, size, size) of an image (H, W)."""
        o = self.settings
        noise = self.noise.uniform(image, (1, 2, o.size, o.size)).float()
        if o.controls is None:
            smooth = flow.smooth(noise, kernel=o.kernel, sigma=o.sigma)
        else:
            smooth = spline.smooth(noise, o.controls)
        if o.rms is None:
            return self._moved(o.mu / smooth.abs().max() * smooth)
        moved = smooth
        for _ in range(ROUNDS):
            smooth = o.rms / flow.magnitude(moved).square().mean().sqrt() * smooth
            moved = self._moved(smooth)
        return moved

    def _tone(self, image: Tensor) -> Tensor:
        """The tone (1, 1, size, size) of an image (H, W), of numbers behind the displacement's."""
        o = self.settings
        noise = self.noise.uniform(image, (1, 3, o.size, o.size)).float()
        smooth = spline.smooth(noise[:, 2:], o.controls)
        return o.tone / smooth.abs().max() * smooth

    def _moved(self, smooth: Tensor) -> Tensor:
        squarings = self.settings.squarings
        return smooth if squarings is None else flow.exponential(smooth, squarings)


def _each(images: Tensor, field: Callable[[Tensor], Tensor], channels: int) -> Tensor:
    """The field of each image (H, W), at its size."""
    h, w = images.shape[-2:]
    fields = torch.empty(len(images), channels, h, w)
    for own, image in zip(fields, images, strict=True):
        own[:] = flow.resize(field(image[0]), (h, w))[0]
    return fields.to(images.device)
