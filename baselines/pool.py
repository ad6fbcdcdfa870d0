"""Strangers brought together by what a classifier sees in them, who stand in for others."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.errors import DataError, counted
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient, clusters
from baselines.synthesis import made_up
from baselines.teacher import CrossFitted

SIDE = 64  # pixels along a side by which an image of the pool is known again, at most
BATCH = 256


@dataclass(frozen=True)
class Pool:
    """Patients of a pool by code.

    Attributes:
        teachers: that learnt from the pool.
        centres: float64 (K, L), the mean of each code's patients.
        images: that are shown.
        names: of the films that it was made of.
        members: for each code its patients, each as the rows of the images.
    """

    images: Images
    names: tuple[str, ...]
    teachers: CrossFitted
    centres: np.ndarray
    members: list[list[np.ndarray]]

    @classmethod
    def fit(cls, known: Radiographs, rng: np.random.Generator, *, codes: int, donors: int) -> Self:
        """At most ``codes`` codes by k-means, of ``donors`` patients each or more.

        Args:
            known: its names are the images' numbers where it has none.

        Raises:
            DataError: fewer patients than that, or no label to be told by.
        """
        own = by_patient(known.patients)
        if len(own) < donors:
            raise DataError(
                f"the pool must have {donors} patients or more, which is what a code has at least, "
                f"got {counted(len(own), 'patient')}; give it more, or take fewer donors"
            )
        teachers = CrossFitted.fit(known, rng)
        if not teachers.own.any():
            raise DataError(
                "the pool must have a label that some of its patients have and others have not, "
                "from which a classifier learns what to keep; give it one that can be seen"
            )
        found = clusters(teachers.own, donors, codes, int(rng.integers(2**31)))
        centres = np.stack([teachers.own[patients].mean(axis=0) for patients in found])
        members = [[own[patient] for patient in patients] for patients in found]
        names = range(len(known)) if known.names is None else known.names
        return cls(known.images, tuple(map(str, names)), teachers, centres, members)

    def imagined(self, each: int, seed: int) -> Self:
        """The same codes, in which ``each`` samples of a generative model of the pool stand for as
        many patients; ``names`` stay those of the films that it learnt from."""
        samples = made_up(self.images, self.members, each, seed)
        rows = np.arange(len(samples))[:, None]
        members = [list(rows[k * each : (k + 1) * each]) for k in range(len(self.members))]
        return replace(self, images=HeldImages(samples), members=members)

    def codes(self, images: Images, patients: np.ndarray) -> np.ndarray:
        """int64 (patients,): the nearest centre to what strangers look like in all their images
        together; patients in the order of their codes."""
        away = self.teachers.read(images, patients)[:, None] - self.centres
        return np.linalg.norm(away, axis=2).argmin(axis=1)

    def drawn(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows (N,) of the pool, an image of a patient of each code: nobody stands in a second time
        before all others of the code have stood in once."""
        rows = np.zeros(len(codes), np.int64)
        for code in np.unique(codes):
            asked = np.flatnonzero(codes == code)
            patients = rng.permutation(len(self.members[code]))
            for place, patient in zip(asked, np.resize(patients, len(asked)), strict=True):
                rows[place] = rng.choice(self.members[code][patient])
        return rows

    def known_again(self, released: Images) -> np.ndarray:
        """Rows (N,) of the pool's images that are most like N ≥ 1 outputs made of them."""
        return (_edges(released) @ self._known.T).argmax(dim=1).numpy()

    @cached_property
    def code_of(self) -> np.ndarray:
        """int64 (images,): the code of the patient of each."""
        code = np.zeros(len(self.images), np.int64)
        for number, patients in enumerate(self.members):
            code[np.concatenate(patients)] = number
        return code

    @cached_property
    def _known(self) -> Tensor:
        return _edges(self.images)


def _edges(images: Images) -> Tensor:
    """float32 (N, D) of length 1, N ≥ 1: differences of neighbouring pixels, which an image shares
    with no other, however much of another is added."""
    found = []
    for rows in in_batches(np.arange(len(images)), BATCH):
        batch = images.batch(rows)
        if min(batch.shape[-2:]) > SIDE:
            batch = F.interpolate(batch, (SIDE, SIDE), mode="area")
        both = [batch.diff(dim=axis).flatten(1) for axis in (-2, -1)]
        found.append(F.normalize(torch.cat(both, dim=1)))
    return torch.cat(found)
