"""The distinct images of a release, and who went into each: several rows may show one released
image. Where every image has a release of its own, nothing is different from other sets."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import Tensor

from attacks.attacker import Auxiliary, ImageSet
from attacks.measuring.judged import judged_on
from attacks.measuring.metrics import (
    Owners,
    PairCounts,
    genuine_pairs,
    impostor_pairs,
    pair_auc,
    same_image,
)

UNTOLD = 0.5  # the AUC where everybody went into everything


def distinct(images: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The first row (U,) of every distinct image of (N, 1, H, W), and the number (N,) of each."""
    seen: dict[bytes, int] = {}
    number = np.array(
        [seen.setdefault(image.numpy().tobytes(), len(seen)) for image in images], int
    )
    return np.unique(number, return_index=True)[1], number


def each_once(images: ImageSet) -> ImageSet:
    """The set without images that stand in it before: who gives patches to many is one."""
    return images[distinct(images.images)[0]]


@dataclass(frozen=True)
class Outputs:
    """The distinct images of a released set.

    Attributes:
        images: (U, 1, H, W).
        number: int64 (N,), the distinct image of each row.
        owners: of the rows, with all who went into each.
    """

    images: Tensor
    number: np.ndarray
    owners: Owners

    @classmethod
    def of(cls, released: ImageSet) -> Self:
        """Of rows (N,), one for every real image that went into one of them."""
        first, number = distinct(released.images)
        return cls(released.images[first], number, released.owners)

    @classmethod
    def to_choose_by(cls, known: Auxiliary, *, informed: bool) -> tuple[Self, ImageSet]:
        """Probes and gallery of the validation part, each image once; who knows no released image
        chooses by real ones."""
        gallery = each_once(known.validation_real)
        return cls.of(known.validation_released if informed else gallery), gallery

    def link_auc(self, scores: np.ndarray, gallery: Owners) -> float:
        """Mean of the pair AUCs against all impostors and, where there are any, matched ones, of
        scores (U, G): genuine are images of a contributor that did not themselves go in.

        Raises DataError: nobody is shown in several images."""
        found = [self._auc(scores, self.owners, gallery)]
        if self.owners.covariates is not None and gallery.covariates is not None:
            matched = self._pairs(self.owners.matching, gallery.matching)
            if all(kind.any() for kind in matched):
                found.append(_auc_of(scores, *matched))
        return float(np.mean(found))

    def origin_auc(self, scores: np.ndarray, gallery: Owners) -> float:
        """Pair AUC of scores (U, G) where genuine are the very images that went in; 0.5 where
        these, or images of others, are not in the gallery."""
        own, impostors = self._went_in(gallery), self._pairs(self.owners, gallery)[1]
        return _auc_of(scores, own, impostors) if own.any() and impostors.any() else UNTOLD

    def _auc(self, scores: np.ndarray, owners: Owners, gallery: Owners) -> float:
        genuine, impostors = self._pairs(owners, gallery)
        if genuine.any() and impostors.any():
            return _auc_of(scores, genuine, impostors)
        with judged_on("the validation part"):
            pair_auc(scores[self.number], owners, gallery)
        return UNTOLD

    def _pairs(self, owners: Owners, gallery: Owners) -> tuple[np.ndarray, np.ndarray]:
        """bool (U, G): genuine pairs and impostor pairs, as every contributor has it."""
        genuine = self._any(genuine_pairs(owners, gallery))
        impostors = ~self._any(~impostor_pairs(owners, gallery))
        return genuine & ~self._went_in(gallery), impostors

    def _went_in(self, gallery: Owners) -> np.ndarray:
        return self._any(same_image(self.owners, gallery))

    def _any(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(self.images), rows.shape[1]), bool)
        np.logical_or.at(found, self.number, rows)
        return found


def _auc_of(scores: np.ndarray, genuine: np.ndarray, impostors: np.ndarray) -> float:
    known, others = np.sort(scores[genuine]), np.sort(scores[impostors])
    below, through = (np.searchsorted(others, known, side) for side in ("left", "right"))
    return PairCounts(known, below, through - below, len(others)).auc
