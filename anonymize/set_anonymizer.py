"""The contract of methods that see many images at once: each output is made of several people, or
in the place of one, of strangers."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer, check_images
from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.errors import ModelError, UsageError

BATCH = 256


@dataclass(frozen=True)
class Radiographs:
    """Images of one size, whose they are, and what is to be read from them.

    Attributes:
        images: one a row.
        patients: int64 (N,) codes.
        targets: float32 (N, L): 1 present, 0 absent, NaN unknown; L may be 0.
        names: ``image_id`` of each, by which a method says what it draws from; None: not known.
    """

    images: Images
    patients: np.ndarray
    targets: np.ndarray
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        shapes = np.shape(self.patients), np.shape(self.targets)
        rows = len(self.images)
        if [shape[:1] for shape in shapes] != [(rows,)] * 2 or [*map(len, shapes)] != [1, 2]:
            raise UsageError(
                "a set needs N images, patients (N,) and targets (N, L); got "
                f"{rows}, {shapes[0]} and {shapes[1]}"
            )
        if self.names is not None and len(self.names) != rows:
            raise UsageError(
                f"names of a set must be one an image: {rows} images, {len(self.names)} names"
            )
        kinds = [np.asarray(values).dtype for values in (self.patients, self.targets)]
        if kinds[0].kind not in "iu" or kinds[1].kind != "f":
            raise UsageError(
                "patients of a set must be integer codes and targets floating point numbers; "
                f"got {kinds[0]} and {kinds[1]}"
            )

    def __len__(self) -> int:
        return len(self.patients)


@dataclass(frozen=True)
class SetRelease:
    """What became of a set.

    Attributes:
        images: the M outputs.
        contributors: for each output the rows of the set that went into it, ascending. A row that
            stands in none was withheld.
        groups: for each output the code of the group of patients that it was made within.
        bound: share of the outputs whose contributor anybody names rightly at most, who knows
            everybody's images and labels, the method and what it learnt from, and not the lot; in
            the mean over lots. None where nothing is promised.
        labels: float32 (M, L), what the method says of each output, from 0 to 1 or NaN; None: no
            more than what is known of the contributors.
    """

    images: HeldImages
    contributors: Sequence[np.ndarray]
    groups: np.ndarray
    bound: float | None = None
    labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.contributors)

    def targets(self, given: np.ndarray) -> np.ndarray:
        """float32 (M, L), the labels of each output: the method's own, or the mean of what is known
        of its contributors, of (N, L)."""
        if self.labels is not None:
            return self.labels
        found = np.full((len(self), given.shape[1]), np.nan, np.float32)
        for target, rows in zip(found, self.contributors, strict=True):
            known = ~np.isnan(given[rows])
            total, count = np.nansum(given[rows], axis=0), known.sum(axis=0)
            target[count > 0] = total[count > 0] / count[count > 0]
        return found

    def withheld(self, rows: int) -> np.ndarray:
        """Those of the ``rows`` images of the set that nothing was released of, ascending."""
        used = np.concatenate([np.zeros(0, np.int64), *self.contributors])
        return np.setdiff1d(np.arange(rows), used)


@dataclass(frozen=True)
class Coding:
    """What whoever has a method can work out, whose outputs depend on a patient through one of a
    few codes alone.

    Attributes:
        centres: float64 (K, L), what is read from images of each code on average.
        read: what the method reads from each of N real images, float64 (N, L); a patient's code
            follows from the mean of his.
        sent: the code of each of N outputs, int64 (N,) in 0 … K − 1.
    """

    centres: np.ndarray
    read: Callable[[Images], np.ndarray]
    sent: Callable[[Images], np.ndarray]


class SetAnonymizer(Anonymizer):
    """Many images in, outputs that several patients contributed to, or that strangers stand in for
    one: a method has :attr:`people` and :meth:`release`."""

    @property
    @abstractmethod
    def people(self) -> int:
        """How many different patients an output has at least."""

    @property
    def says(self) -> bool:
        """Whether it says itself what its outputs show (:attr:`SetRelease.labels`), for which it
        needs labels to learn from."""
        return False

    @property
    def guess(self) -> float | None:
        """How often, on average, a guess at which contributor of one output somebody is can be
        right at most; None where nothing is promised."""
        return None

    @property
    def shown(self) -> float | None:
        """The largest share of an image that a release shows of anybody's, all outputs together;
        None where no output shows a part of one image."""
        return None

    @property
    def coding(self) -> Coding | None:
        """What whoever has the method knows of its codes; None where an output depends on its
        patient by more than a code."""
        return None

    @property
    def undoing(self) -> Callable[[Tensor], Tensor] | None:
        """What whoever has the method does to outputs (B, 1, H, W), rounded to gray levels, to find
        the contributors' images in them; None where there is nothing to be done."""
        return None

    def fit(self, known: Radiographs) -> Self:
        """Learns from images that it may learn from; by default nothing."""
        return self

    @torch.no_grad()
    def released(self, given: Radiographs) -> SetRelease:
        """:meth:`release`, checked; nothing of it is to be used where this raises.

        Raises:
            UsageError: images that are no gray levels.
            ModelError: an output of fewer than :attr:`people` patients, one that names no rows of
                the set or has another size, values that are no gray levels; or one patient in two
                groups, who could be told by what they have in common.
        """
        for rows in in_batches(np.arange(len(given)), BATCH):
            check_images(given.images.batch(rows))
        try:
            found = self.release(given)
        except Exception as error:
            error.add_note(f"This happened in method {self.name}.")
            raise
        if not len(found.images) == len(found) == len(found.groups):
            raise ModelError(
                f"method {self.name} must say who contributed to each output, and its group; got "
                f"{len(found.images)} outputs, {len(found)} and {len(found.groups)}"
            )
        self._check_images(found, given)
        self._check_contributors(found, given)
        self._check_labels(found, given)
        return found

    def _check_images(self, found: SetRelease, given: Radiographs) -> None:
        wrong = f"method {self.name} must give "
        shape = tuple(given.images.batch(np.arange(min(1, len(given)))).shape[1:])
        for rows in in_batches(np.arange(len(found)), BATCH):
            pixels = found.images.batch(rows)
            if tuple(pixels.shape[1:]) != shape:
                raise ModelError(f"{wrong}images {shape}, got {tuple(pixels.shape[1:])}")
            if not (pixels.min() >= 0 and pixels.max() <= 1):
                raise ModelError(f"{wrong}gray levels in [0, 1], got other values or NaN")

    def _check_contributors(self, found: SetRelease, given: Radiographs) -> None:
        wrong = f"method {self.name} must "
        whose: dict[int, int] = {}
        for rows, group in zip(found.contributors, found.groups.tolist(), strict=True):
            inside = rows.dtype.kind in "iu" and len(rows) and 0 <= rows[0] <= rows[-1] < len(given)
            if not inside or (np.diff(rows) <= 0).any():
                raise ModelError(f"{wrong}name rows of the set as contributors, ascending")
            patients = np.unique(given.patients[rows])
            if len(patients) < self.people:
                raise ModelError(
                    f"{wrong}make an output of {self.people} patients or more, "
                    f"got one of {len(patients)}"
                )
            if any(whose.setdefault(patient, group) != group for patient in patients.tolist()):
                raise ModelError(f"{wrong}keep a patient in one group of patients, got one in two")

    def _check_labels(self, found: SetRelease, given: Radiographs) -> None:
        if (found.labels is not None) != self.says:
            raise ModelError(f"method {self.name} must give labels if, and only if, it says so")
        if found.labels is None:
            return
        shape = len(found), given.targets.shape[1]
        outside = (found.labels < 0) | (found.labels > 1)  # NaN is neither
        if found.labels.shape != shape or outside.any():
            raise ModelError(
                f"method {self.name} must give labels {shape} from 0 to 1, or NaN; got others"
            )

    @abstractmethod
    def release(self, given: Radiographs) -> SetRelease:
        """Outputs (M, 1, H, W) of images (N, 1, H, W), and who contributed to each.

        Every output is of :attr:`people` different patients or more, and a patient stands in
        outputs of one group only; who cannot be is withheld.
        """

    def anonymize(self, images: Tensor) -> Tensor:
        """One image at a time there is nobody to hide among.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"method {self.name} releases sets of images, not one after the other; "
            "call released(Radiographs(images, patients, targets))"
        )
