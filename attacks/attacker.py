"""The Attacker contract: what an adversary may learn from, and how alike it finds two images.

Probes are released images, the gallery is real images whose patients the adversary knows. An
attacker scores; `metrics` says how good the scores are; nobody decides here what a success is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from anonymize import section
from anonymize.errors import DataError, UsageError
from attacks.measuring.metrics import Owners
from attacks.measuring.similarity import Distance, check_sets, similarity

if TYPE_CHECKING:
    import pandas as pd

    from attacks.knowledge.levels import Level

Knowledge = Literal["ignorant", "lazy", "informed", "white-box"]
Features = TypeVar("Features")


@dataclass(frozen=True)
class ImageSet:
    """Images and whose they are.

    Attributes:
        images: (N, 1, H, W), uint8 (full range) or float32 in [0, 1], dense tissue bright.
        owners: of length N.
        labels: float32 (N, L), what a release says that its images show, NaN where it does not
            know; None where it says nothing of its own.
    """

    images: Tensor
    owners: Owners
    labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.images.ndim != 4 or self.images.shape[1] != 1:
            raise UsageError(f"images must have shape (N, 1, H, W), got {tuple(self.images.shape)}")
        if self.images.dtype not in (torch.uint8, torch.float32):
            raise UsageError(f"images must be uint8 or float32, got {self.images.dtype}")
        if len(self.images) != len(self.owners):
            raise UsageError(
                f"every image needs an owner: {len(self.images)} images, {len(self.owners)} owners"
            )

    def __len__(self) -> int:
        return len(self.owners)

    def __getitem__(self, rows: np.ndarray) -> ImageSet:
        """The images of the given row numbers, in that order."""
        labels = None if self.labels is None else self.labels[rows]
        return ImageSet(self.images[torch.as_tensor(rows)], self.owners[rows], labels)


@dataclass(frozen=True)
class Auxiliary:
    """The images that an adversary may learn from: none of them is probed.

    Row i of a released set is what became of row i of the real one.

    Attributes:
        real, released: of the training part.
        validation_real, validation_released: of other patients, to choose by.
    """

    real: ImageSet
    released: ImageSet
    validation_real: ImageSet
    validation_released: ImageSet


def unit_float(images: Tensor) -> Tensor:
    """uint8 images over their full range as float32 in [0, 1]; float images as they are."""
    return images.float() / 255 if images.dtype == torch.uint8 else images


def unit_batches(images: Tensor, size: int, device: torch.device) -> Iterator[Tensor]:
    """:func:`unit_float` of ``size`` images (N, 1, H, W) at a time; none of an empty set."""
    if len(images):
        yield from (unit_float(batch).to(device) for batch in images.split(size))


def linked(attacker: Attacker, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
    """``attacker.link(probes, gallery)``, checked.

    Raises:
        DataError: an empty set, a matrix of another shape, or scores that are no numbers.
    """
    check_sets(probes, gallery)
    expected = (len(probes), len(gallery))
    try:
        scores = attacker.link(probes, gallery)
    except Exception as error:
        error.add_note(f"This happened in attacker {attacker.name}.")
        raise
    if not isinstance(scores, np.ndarray):
        raise DataError(
            f"attacker {attacker.name} must give a numpy array of shape {expected}, "
            f"got a {type(scores).__name__}"
        )
    if scores.shape != expected:
        raise DataError(
            f"attacker {attacker.name} must give scores of shape {expected}, got {scores.shape}"
        )
    wrong = int(np.isnan(scores).any(axis=1).sum())
    if wrong:
        raise DataError(
            f"attacker {attacker.name} gave NaN for {wrong} of {len(probes)} probes, so it has no "
            "figure; look for NaN in its images and weights, or lower its learning rate"
        )
    return scores


def section_of(name: str) -> str:
    """The section of options of the attacker ``name``."""
    return name.replace("-", "_")


class Remembered(Generic[Features]):
    """``features(images)`` of the images asked for last: every method meets the same gallery."""

    def __init__(self, features: Callable[[Tensor], Features]) -> None:
        self._features = features
        self._images: Tensor | None = None

    def __call__(self, images: Tensor) -> Features:
        if images is not self._images:
            self._images, self._known = images, self._features(images)
        return self._known


class Attacker(ABC):
    """Learns from images that are not probed, then scores pairs: it has :meth:`score`, and
    :meth:`fit` if it learns; the rest has defaults.

    Attributes:
        name: the attacker's, by default that of its entry point.
        Options: a section of typed options, ``evaluation.NAME`` with _ for -; none by default.
        settings: the options, typed, of an attacker without a constructor of its own.
        knowledge: what was at hand to learn from: "ignorant" – real images only, or nothing;
            "lazy" – the same, but the public anonymizer is run over the gallery too (the field's
            *lazy-informed*: Srivastava et al. 2020, VoicePrivacy); "informed" – released images;
            "white-box" – the anonymizer itself, with its weights.
    """

    name: str
    Options: ClassVar[type[section.Options]] = section.Options
    knowledge: Knowledge = "ignorant"

    def __init__(self, options: section.Options | None = None) -> None:
        self.settings: Any = options or self.Options()

    @classmethod
    def ladder(cls) -> Mapping[Knowledge, Level]:
        """The attacker at each level of knowledge that it has, the usual one first.

        None said: what `levels.usual_ladder` makes of a class with a :meth:`fit` or without.
        """
        return {}

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns. A training-free attacker keeps this: it learns nothing and gives itself back.

        Raises:
            DataError: nothing to learn from, such as a part without a patient of several images.
        """
        return self

    def link(self, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """float32 (P, G), higher = rather the same patient.

        By default the images' score; an attacker that uses what is known of them beside their
        pixels has its own. The patients of ``probes`` are what it has to find out.
        """
        return self.score(probes.images, gallery.images)

    @abstractmethod
    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G), higher = more alike, for images (P, 1, H, W) and (G, 1, H, W).

        Raises:
            DataError: an empty set.
        """


class OfTheTable(Attacker):
    """An attacker that links by what is known beside the pixels, and looks at none.

    Args:
        frame: rows of the data table; ``Owners.image`` counts them.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        raise UsageError(f"attacker {self.name} looks at no pixels; call link with sets of images")


class Described(Attacker):
    """An attacker that describes each image alone, and compares the descriptions.

    Attributes:
        distance: between two descriptions.
    """

    distance: Distance = "cosine"

    def __init__(self, options: section.Options | None = None) -> None:
        super().__init__(options)
        self._gallery = Remembered(self.features)

    @property
    def asymmetric(self) -> bool:
        """Probes are described in another way than the gallery."""
        return False

    @abstractmethod
    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, D) of images (N, 1, H, W), neither centred nor scaled."""

    def probe_features(self, images: Tensor) -> np.ndarray:
        """The same of probes (P, 1, H, W)."""
        return self.features(images)

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G); :func:`similarity` of the features.

        Raises:
            UsageError: probes and gallery differ in size.
            DataError: an empty set, or features that are not finite.
        """
        check_sets(probes, gallery)
        if probes.shape[1:] != gallery.shape[1:]:
            raise UsageError(
                f"probes and gallery must have one size, got {tuple(probes.shape[1:])} "
                f"and {tuple(gallery.shape[1:])}"
            )
        known = self._gallery(gallery)
        shared = probes is gallery and not self.asymmetric
        asked = known if shared else self.probe_features(probes)
        return similarity(asked, known, self.distance)
