"""Whitening (`anonymize.whitening`) of training images in their principal components."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from anonymize.whitening import scatter
from attacks.measuring.metrics import Owners
from attacks.training.learning import nobody_to_learn_from
from attacks.training.restoration import Restoration


def of_patients(vectors: np.ndarray, owners: Owners) -> np.ndarray:
    """(C, C), what varies within identified patients, of vectors (N, C). Raises DataError: none of
    them has several images."""
    known = owners.identified
    if len(np.unique(owners.patient[known])) == known.sum():
        raise nobody_to_learn_from()
    return scatter(vectors[known], owners.patient[known])


def of_copies(kinds: Sequence[np.ndarray]) -> np.ndarray:
    """(C, C), what varies between each image and its changed copies: ``kinds`` of vectors (N, C) of
    the same images."""
    return scatter(np.concatenate(kinds), np.tile(np.arange(len(kinds[0])), len(kinds)))


@dataclass(frozen=True)
class Metric:
    """One way to look at probes and gallery, and the pair AUC that it reaches on validation."""

    auc: float
    whitening: np.ndarray
    restoration: Restoration | None = None


@dataclass(frozen=True)
class Taught:
    """The same N training images of each kind (real, released), in the principal components of all.

    Attributes:
        basis: of histograms (D,).
        means: histogram (D,) of each kind.
        reduced: components (N, C) of each kind, around its mean.
        copies: of each kind, components (N, C) of changed copies, any number.
        owners: of each kind.
    """

    basis: PCA
    means: list[np.ndarray]
    reduced: list[np.ndarray]
    copies: list[list[np.ndarray]]
    owners: list[Owners]

    def within(self, kinds: slice = slice(None)) -> np.ndarray:
        """What varies within patients, and within changed copies of an image where there are any.
        Raises DataError: no patient of several images."""
        reduced, owners = self.reduced[kinds], self.owners[kinds]
        first = owners[0].patient[owners[0].identified]
        if len(np.unique(first)) == len(first):
            raise nobody_to_learn_from()
        patient = np.concatenate([o.patient for o in owners])
        known = np.concatenate([o.identified for o in owners])
        found = scatter(np.concatenate(reduced)[known], patient[known])
        changed = [copy for kind in self.copies[kinds] for copy in kind]
        return found + of_copies([*reduced, *changed]) if changed else found


def learnt_matrices(
    metric: Metric, taught: Taught, gray: np.ndarray | None
) -> dict[str, np.ndarray]:
    """The matrices of a metric; ``gray`` are the levels of the released training images."""
    axes = taught.basis.components_
    used = len(metric.whitening)
    learnt = {"projection": axes[:used].T @ metric.whitening}
    if metric.restoration is not None:
        real, released = taught.means
        matrix = metric.restoration.of_descriptions(axes)[:, :used] @ metric.whitening
        assert gray is not None  # of every restoration
        # The mean of what was released is seen where the mean of the real images is.
        centre = np.concatenate([released, gray.mean(axis=0)]) @ matrix
        learnt |= {"restoration": matrix, "offset": real @ learnt["projection"] - centre}
    return {name: array.astype(np.float32) for name, array in learnt.items()}
