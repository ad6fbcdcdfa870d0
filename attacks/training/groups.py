"""P × K batches: groups of K images of one patient, and which of their pairs are genuine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import Images
from attacks.measuring.metrics import Owners
from attacks.training.learning import nobody_to_learn_from

Kinds = Literal["real", "released-released", "released-real", "mixed"]


@dataclass(frozen=True)
class Groups:
    """The groups of an epoch.

    Attributes:
        rows: int64 (n, K), images of one patient; an image may repeat.
        real: bool (n, K), the real image is shown, else the released one.
        mirrored: bool (n,), the whole group is. A mirrored patient is another patient.
    """

    rows: np.ndarray
    real: np.ndarray
    mirrored: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def batches(self, patients: int) -> Iterator[np.ndarray]:
        """Numbers of ``patients`` groups at a time; fewer than two compare nobody."""
        for start in range(0, len(self), patients):
            if len(self) - start > 1:
                yield np.arange(start, min(start + patients, len(self)))


@dataclass(frozen=True)
class Lessons:
    """What an attacker learns from.

    Attributes:
        real, released: training images; row i of one is row i of the other.
        kinds: which are shown: real images only; released ones only; both in turn; or one of both
            at random.
    """

    real: Images
    released: Images
    owners: Owners
    kinds: Kinds

    def groups(self, *, images: int, singles: float, flip: bool, seed: int) -> Groups:
        """Those of an epoch, in random order; every image of an identified patient with several
        stands in one.

        Args:
            images: K. A patient's last group is filled up with others of the patient's images.
            singles: share of groups that repeat one image, of patients with one image and of
                unknown ones; drawn anew for every seed, at most all of them.
            flip: half of the groups are mirrored.

        Raises:
            DataError: no identified patient has several images.
        """
        rng = np.random.default_rng(seed)
        several, alone = _by_patient(self.owners)
        if not several:
            raise nobody_to_learn_from()
        found = [group for own in several for group in _cut(rng.permutation(own), images, rng)]
        repeated = min(len(alone), round(singles * len(found) / (1 - singles)))
        found += [np.repeat(row, images) for row in rng.permutation(alone)[:repeated]]
        rows = np.stack(found)[rng.permutation(len(found))]
        real = np.full(rows.shape, self.kinds == "real")
        if self.kinds == "released-real":
            real[:, 1::2] = True
        elif self.kinds == "mixed":
            real = rng.random(rows.shape) < 0.5
        return Groups(rows, real, rng.random(len(rows)) < (0.5 if flip else 0))

    def images(self, groups: Groups, chosen: np.ndarray) -> Tensor:
        """float32 (K · groups, 1, H, W) of some groups, in their order."""
        rows = groups.rows[chosen].ravel()
        mirror = np.repeat(groups.mirrored[chosen], groups.rows.shape[1])
        images = _choose(
            groups.real[chosen].ravel(), self.real.batch(rows), self.released.batch(rows)
        )
        return _choose(mirror, images.flip(-1), images)


def pair_masks(owners: Owners, groups: Groups, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs of the images of some groups, in their order, are genuine and which impostors:
    bool (m, m) each, m = K · groups. An image with itself, unless it stands there twice, and two
    images of an unknown patient are neither.
    """
    rows = groups.rows[chosen].ravel()
    mirrored = np.repeat(groups.mirrored[chosen], groups.rows.shape[1])
    patient = owners.patient[rows] * 2 + mirrored
    same = patient[:, None] == patient
    known = owners.identified[rows]
    genuine = same & ((known[:, None] & known) | (rows[:, None] == rows))
    np.fill_diagonal(genuine, False)
    return genuine, ~same


def _choose(flags: np.ndarray, yes: Tensor, no: Tensor) -> Tensor:
    return torch.where(torch.from_numpy(flags).view(-1, 1, 1, 1), yes, no)


def _by_patient(owners: Owners) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows of each identified patient with several images; and all other rows."""
    known = np.flatnonzero(owners.identified)
    order = known[np.argsort(owners.patient[known], kind="stable")]
    starts = np.flatnonzero(np.diff(owners.patient[order], prepend=np.nan) != 0)
    patients = np.split(order, starts[1:]) if len(order) else []
    several = [rows for rows in patients if len(rows) > 1]
    alone = np.setdiff1d(np.arange(len(owners)), np.concatenate([order[:0], *several]))
    return several, alone


def _cut(rows: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pieces of ``size``, the last one filled up; a piece of one image gets others first."""
    for start in range(0, len(rows), size):
        piece = rows[start : start + size]
        others = rng.permutation(np.concatenate([rows[:start], rows[start + size :]]))
        more = np.concatenate([piece, others])[:size]
        yield np.resize(more, size)
