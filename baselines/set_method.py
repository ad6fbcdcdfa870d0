"""What the methods that mix patients have in common: whom they bring together, by what lot, and
what they say of the outputs."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, Rows, in_batches
from anonymize.errors import UsageError
from anonymize.image_noise import ImageNoise
from anonymize.set_anonymizer import Radiographs, SetAnonymizer, SetRelease
from baselines.grouping import clusters, codes_by_labels
from baselines.noise import Noisy
from baselines.readers import Readers, read_by_others
from baselines.teacher import CrossFitted

BATCH = 256
LOTS = 3  # of patients, whose outputs are read by what learnt from the other two


class ByLot(Noisy, SetAnonymizer):
    """A release follows from the secret, the options, the images, whose they are and their labels:
    whoever holds the secret can repeat it, and nobody else can guess it. The order of the rows and
    the patients' codes do not matter."""

    @abstractmethod
    def _knowing(self, other: Self) -> Self:
        """``other``, with what this one learnt."""

    def keyed(self, secret: bytes) -> Self:
        return self._knowing(super().keyed(secret))

    def redrawn(self, seed: int) -> Self:
        """With what it learnt."""
        return self._knowing(super().redrawn(seed))

    def arranged(
        self, given: Radiographs, noise: ImageNoise | None = None
    ) -> tuple[Radiographs, np.ndarray, np.random.Generator]:
        """The set in an order that follows from the secret and what the set holds, not from how it
        is listed; the rows in that order; and random numbers that follow from the same. ``noise``:
        for another purpose than the release."""
        noise = noise or self.noise
        own: dict[int, list[tuple[bytes, int]]] = {}
        for rows in in_batches(np.arange(len(given)), BATCH):
            for row, image in zip(rows.tolist(), given.images.batch(rows), strict=True):
                key = noise.words(image[0], 4).tobytes() + plain(given.targets[row])
                own.setdefault(int(given.patients[row]), []).append((key, row))
        patients = sorted((sorted(images) for images in own.values()), key=_keys)
        sizes = np.array([len(images) for images in patients], np.int64)
        content = b"".join(key for images in patients for key, _ in images)
        order = np.array([row for images in patients for _, row in images], np.int64)
        ordered = Radiographs(
            Rows(given.images, order),
            np.repeat(np.arange(len(sizes)), sizes),
            given.targets[order],
        )
        seed = hashlib.sha256(sizes.astype("<i8").tobytes() + content).digest()
        return ordered, order, np.random.default_rng(np.frombuffer(seed, "<u4"))


class SetMethod(ByLot):
    """A method of lots that says who is mixed with whom (:meth:`mixed`), and what that looks like
    (:meth:`made`)."""

    _known: Radiographs | None = None
    _strangers: Readers | None = None

    @abstractmethod
    def mixed(self, given: Radiographs, rng: np.random.Generator) -> list[list[np.ndarray]]:
        """For each group of patients its outputs, each as the rows that go into it; patients are
        0, 1, …, and the images of each stand together."""

    @abstractmethod
    def made(
        self, images: Images, outputs: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Tensor:
        """float32 (M, 1, H, W) of M ≥ 1 outputs, each given as the rows that go into it."""

    @property
    def read(self) -> float:
        """How much of an output's labels is read in it; 0 for methods without this option."""
        return getattr(self.settings, "read", None) or 0.0

    @property
    def says(self) -> bool:
        return self.read > 0

    def _knowing(self, other: Self) -> Self:
        other._known, other._strangers = self._known, self._strangers
        return other

    def fit(self, known: Radiographs) -> Self:
        """Keeps those from whom readers learn, where labels are read. Of a set that has an image of
        theirs they read nothing; that nobody of whom they learnt is in a set by other images is for
        the caller to see to."""
        if self.says:
            self._known, self._strangers = known, None
        return self

    def release(self, given: Radiographs) -> SetRelease:
        ordered, order, rng = self.arranged(given)
        strangers = self._readers_of(given)
        lots = [np.arange(len(given))] if strangers else self._lots(ordered, rng)
        found = [
            [rows[output] for output in group]
            for rows in lots
            for group in self.mixed(some_of(ordered, rows), rng)
        ]
        outputs = [rows for group in found for rows in group]
        names = rng.permutation(len(found))  # neither names nor neighbours tell anything
        groups = np.repeat(names, [len(group) for group in found])
        drawn = rng.permutation(len(outputs))
        outputs = [outputs[i] for i in drawn]
        shape = (0, *ordered.images.batch(np.zeros(0, int)).shape[1:])
        pixels = self.made(ordered.images, outputs, rng) if outputs else torch.zeros(shape)
        contributors = [np.unique(order[rows]) for rows in outputs]
        made = SetRelease(HeldImages(pixels), contributors, groups[drawn])
        if not self.says:
            return made
        if strangers:
            read = strangers.read(made.images, np.arange(len(made)))
        else:
            lot = np.zeros(len(given), int)
            for number, rows in enumerate(lots):
                lot[rows] = number
            lot_of = lot[np.array([rows[0] for rows in outputs], int)]
            read = read_by_others(ordered, lots, made.images, lot_of, rng)
        known = made.targets(given.targets)
        labels = self.read * read + (1 - self.read) * known  # what nobody can read stays unknown
        return replace(made, labels=labels.astype(np.float32))

    def _readers_of(self, given: Radiographs) -> Readers | None:
        """That learnt from those whom it was fitted on; None where it was on nobody, or on an image
        of the set.

        Raises UsageError: it was fitted on other labels."""
        if self._known is not None and self._known.targets.shape[1] != given.targets.shape[1]:
            raise UsageError(
                f"method {self.name} was fitted on {self._known.targets.shape[1]} labels, and is "
                f"to release {given.targets.shape[1]}; give it the same"
            )
        if self._known is None or {*digests(self._known.images)} & {*digests(given.images)}:
            return None
        if self._strangers is None:
            noise = self.noise.within({"method": self.name, "readers": True})
            known, _, rng = self.arranged(self._known, noise)
            self._strangers = Readers.fit(known, np.arange(len(known)), int(rng.integers(2**31)))
        return self._strangers

    def _lots(self, given: Radiographs, rng: np.random.Generator) -> list[np.ndarray]:
        """The rows of those who are mixed with each other; of several lots, with equally many
        patients of each kind in all. None where patients are too few for two.

        Raises UsageError: labels are to be read, and none is given."""
        if not self.says:
            return [np.arange(len(given))]
        patients = int(given.patients.max(initial=-1)) + 1
        number = min(LOTS, patients // self.people)
        if number < 2:
            return []
        if np.isnan(given.targets).all():
            raise UsageError(
                f"method {self.name} reads findings with read={self.read:g}, and learns "
                "to from labels: give it some, or leave read out"
            )
        drawn = rng.permutation(patients)
        drawn = drawn[np.lexsort(codes_by_labels(given)[drawn].T)]
        lot = np.zeros(patients, int)
        lot[drawn] = np.arange(patients) % number
        return [np.flatnonzero(lot[given.patients] == n) for n in range(number)]

    def clusters(self, given: Radiographs, rng: np.random.Generator) -> list[np.ndarray]:
        """Patients, by their place among the codes of the set, of one utility code each and
        :attr:`people` or more; none where the set has fewer. Of a code with fewer they join the
        nearest, or are in none."""
        if len(np.unique(given.patients)) < self.people:
            return []
        own = self.settings
        if own.by == "labels" or not given.targets.shape[1]:
            codes = codes_by_labels(given)
        else:
            codes = CrossFitted.fit(given, rng).own
        seed = int(rng.integers(2**31))
        return clusters(codes, self.people, own.codes, seed, join=own.small is None)


def some_of(given: Radiographs, rows: np.ndarray, names: np.ndarray | None = None) -> Radiographs:
    """The set's ``rows``; ``names`` of all its images."""
    return Radiographs(
        Rows(given.images, rows),
        given.patients[rows],
        given.targets[rows],
        None if names is None else names[rows].tolist(),
    )


def digests(images: Images) -> list[bytes]:
    """sha256 of the gray levels of each image."""
    return [
        hashlib.sha256(image.float().numpy().astype("<f4").tobytes()).digest()
        for rows in in_batches(np.arange(len(images)), BATCH)
        for image in images.batch(rows)
    ]


def plain(targets: np.ndarray) -> bytes:
    """Labels as bytes, equal where they are: one NaN, no −0."""
    return (np.where(np.isnan(targets), np.nan, targets) + 0.0).astype("<f4").tobytes()


def _keys(images: list[tuple[bytes, int]]) -> list[bytes]:
    return [key for key, _ in images]
