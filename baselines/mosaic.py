"""A mosaic: every patch of an image is of another patient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from anonymize.data.batches import Images
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient
from baselines.patchwork import patchwork, weights
from baselines.placing import placed
from baselines.set_method import SetMethod, SetOptions


class MosaicOptions(SetOptions):
    """How much of whom is shown."""

    g: int = Field(4, ge=2, le=16, description="patches along a side")
    m: int = Field(
        4, ge=1, description="patches of a patient in the whole release, at most; g² is an image"
    )
    uses: int = Field(1, ge=1, le=100, description="mosaics that show each patch")
    feather: float = Field(
        0.5, ge=0, le=1, description="part of a patch over which it passes into its neighbour"
    )

    @model_validator(mode="after")
    def _share(self) -> MosaicOptions:
        if self.m > self.g**2:
            raise ValueError(f"m must be at most g² = {self.g**2}, got {self.m}")
        return self


class Mosaic(SetMethod):
    """An image of g × g patches, each of another patient of one utility code, at the place where it
    was; they pass into each other, and gray levels, sharpness and noise are made equal.

    A patient is shown in at most ``m`` different patches over the whole release, of images drawn by
    lot, each in ``uses`` mosaics. Their weights add up to m/g² of an image, which is all that
    anybody can put together of him; they reach ``feather``/2 patches into their neighbours, where
    they fade. Patches are left over where g² does not divide them, and not shown.

    What is not promised: that a patch tells nobody, who has the image it is of, whose it is.
    """

    name = "mosaic"
    Options = MosaicOptions

    @property
    def people(self) -> int:
        return self.settings.g**2

    @property
    def shown(self) -> float:
        return self.settings.m / self.settings.g**2

    def mixed(self, given: Radiographs, rng: np.random.Generator) -> list[list[np.ndarray]]:
        images, o = by_patient(given.patients), self.settings
        return [
            [*placed([images[i] for i in cluster], self.people, o.m, o.uses, rng)]
            for cluster in self.clusters(given, rng)
        ]

    def made(self, images: Images, outputs: Sequence[np.ndarray]) -> Tensor:
        height, width = images.batch(np.zeros(0, int)).shape[-2:]
        weight = weights((height, width), self.settings.g, self.settings.feather)
        return patchwork(images, np.stack(outputs), weight)
