"""Real images in a release: a hash finds them, whosever they are."""

from functools import cached_property

import numpy as np
import torch

from anonymize.data.batches import in_batches
from anonymize.data.dataset import Dataset
from attacks.attackers.identical import pixel_digests
from attacks.knowledge.set_release import Released

BATCH = 256


class RealImages:
    """The pixels of all images of a data set, by hash."""

    def __init__(self, data: Dataset) -> None:
        self._data = data

    def shares(self, released: Released, rows: np.ndarray) -> dict[str, float]:
        """ "untouched" and "of_others": shares of the released images of ``rows`` that have the
        pixels of their own original, and of a real image of another patient."""
        patients, originals = self._data.patients, released.image[rows]
        found = pixel_digests(released.pixels[torch.as_tensor(rows)])
        others = [
            any(patients[image] != patients[r] for r in self._rows.get(digest, ()))
            for image, digest in zip(originals, found, strict=True)
        ]
        own = self._digests[originals] == found
        return {"untouched": float(own.mean()), "of_others": float((~own & others).mean())}

    @cached_property
    def _digests(self) -> np.ndarray:
        images, parts = self._data.images, []
        for rows in in_batches(np.arange(len(images)), BATCH):
            parts.append(pixel_digests(images.batch(rows)))
        return np.concatenate(parts)

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, digest in enumerate(self._digests):
            found.setdefault(digest, []).append(row)
        return found
