"""What the methods that mix patients have in common: whom they bring together, and by what lot."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field

from anonymize.data.batches import in_batches
from anonymize.set_anonymizer import Radiographs, SetAnonymizer
from baselines.grouping import clusters, codes_by_labels, codes_by_teacher
from baselines.noise import ImageNoise, NoiseOptions, Noisy

BATCH = 256


class SetOptions(NoiseOptions):
    """Whom to bring together."""

    by: Literal["labels", "teacher"] = Field(
        "labels",
        description="patients of equal labels, or of whom a classifier that learnt from others "
        "sees the same",
    )
    codes: int = Field(16, ge=1, le=1000, description="kinds of patients at most")


class SetMethod(Noisy, SetAnonymizer):
    """Who is brought together follows from the secret, the options and the images: whoever holds
    the secret can repeat a release, and nobody else can guess it."""

    def keyed(self, secret: bytes) -> Self:
        """A seed or a key of its own stays."""
        if self.settings.key_file is not None or self.settings.seed is not None:
            return self
        own = self._own()
        made = type(self)(**own)
        made.noise = ImageNoise(secret, {"method": self.name, **own})
        return made

    def clusters(self, given: Radiographs, rng: np.random.Generator) -> list[np.ndarray]:
        """Patients, by their place among the codes of the set, of one utility code each and
        :attr:`people` or more; none where the set has fewer."""
        if self.settings.by == "labels" or not given.targets.shape[1]:
            codes = codes_by_labels(given)
        else:
            codes = codes_by_teacher(given, rng)
        return clusters(codes, self.people, self.settings.codes, int(rng.integers(2**31)))

    def rng(self, given: Radiographs) -> np.random.Generator:
        """Random numbers of this release."""
        told = [torch.zeros(0, 2)]
        for rows in in_batches(np.arange(len(given)), BATCH):
            values = given.images.batch(rows).flatten(1).double()
            told.append(torch.stack([values.mean(dim=1), values.square().mean(dim=1)], dim=1))
        return np.random.default_rng(self.noise.words(torch.cat(told), 4))
