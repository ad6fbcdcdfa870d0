"""A random smooth warp: PriCheXy-Net's flow field with noise in the place of the network."""

from __future__ import annotations

import torch
from pydantic import Field, model_validator
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import DEFORMED
from baselines.noise import NoiseOptions, Noisy


class RandomWarpOptions(NoiseOptions):
    """The field, in the terms of PriCheXy-Net's options."""

    mu: float = Field(0.01, ge=0, le=1, description="largest displacement; [−1, 1] spans an image")
    size: int = Field(256, ge=16, le=2048, description="the noise has size × size vectors")
    kernel: int = Field(9, ge=1, description="Gaussian filter of the field: its pixels, odd")
    sigma: float = Field(
        2.0, gt=0, allow_inf_nan=False, description="its standard deviation in pixels of the field"
    )

    @model_validator(mode="after")
    def _odd(self) -> RandomWarpOptions:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, got {self.kernel}")
        return self


class RandomWarp(Noisy):
    """Uniform noise, Gaussian filtered, scaled to the largest displacement μ: nothing is learnt.

    What a trained warp of the same μ has to surpass. The filter leaves noise of a standard
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
        return f"{DEFORMED}; {super().evidence}"

    def displacement(self, images: Tensor) -> Tensor:
        h, w = images.shape[-2:]
        fields = torch.empty(len(images), 2, h, w)
        for field, image in zip(fields, images, strict=True):
            field[:] = flow.resize(self._field(image[0]), (h, w))[0]
        return fields.to(images.device)

    def anonymize(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))

    def _field(self, image: Tensor) -> Tensor:
        o = self.settings
        noise = self.noise.uniform(image, (1, 2, o.size, o.size)).float()
        smooth = flow.smooth(noise, kernel=o.kernel, sigma=o.sigma)
        return o.mu / smooth.abs().max() * smooth
