"""The figures of `metrics` from embeddings, without a score matrix: 100,000 × 100,000 images.

Scores are inner products of vectors that :func:`comparable` makes. Rankings come from an exact
index (`search`), the pair AUC from a histogram of all scores that is filled a block of rows at a
time: it is known to within a bound that is measured with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from anonymize.statistics import RESAMPLINGS, Measured, draw_patients
from attacks.measuring.metrics import Owners, PairCounts, slices
from attacks.measuring.search import Related, search
from attacks.measuring.similarity import Distance, centred, unit
from attacks.measuring.statistics import mean_of, retrieval_figures

BINS = 1 << 18
BLOCK = 1 << 24  # scores at a time: 128 MiB with their bins


def comparable(
    asked: np.ndarray, known: np.ndarray, distance: Distance
) -> tuple[np.ndarray, np.ndarray]:
    """float32 vectors (P, E) and (G, E) whose inner products rank as `similarity.similarity`.

    "cosine": the cosine of the centred features itself. "euclidean": −‖a − b‖² as the product of
    (2a, −‖a‖², 1) and (b, 1, −‖b‖²).

    Raises:
        DataError: no features, or features that are not finite.
    """
    return products(*centred(asked, known), distance)


def products(
    asked: np.ndarray, known: np.ndarray, distance: Distance
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`comparable` vectors of features (P, D) and (G, D) that are centred already."""
    if distance == "cosine":
        return unit(asked), unit(known)
    own, other = ((f**2).sum(axis=1, keepdims=True) for f in (asked, known))
    return (
        np.hstack([2 * asked, -own, np.ones_like(own)]).astype(np.float32),
        np.hstack([known, np.ones_like(other), -other]).astype(np.float32),
    )


def measure_vectors(
    asked: np.ndarray,
    known: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> dict[str, Measured]:
    """What `statistics.measure_identification` gives, without the matrix; and ``auc_error``, the
    most by which the AUC may be off.

    The draws of the AUC take the patients of the genuine pairs again; the impostor scores, which
    are so many, stay as they are.

    Args:
        asked, known: float32 vectors (P, E) and (G, E) whose inner products are the scores, as
            :func:`comparable` makes them.

    Raises:
        ValueError: no genuine or no impostor pairs.
    """
    found = count_scores(asked, known, probes, gallery)
    retrieval = search(asked, known, probes, gallery)
    codes = np.unique(probes.patient)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    whose, wins = np.searchsorted(codes, probes.patient[found.probe]), found.wins()
    counts = found.counts()
    own, number = (np.bincount(whose, w, minlength=len(codes)) for w in (wins, None))
    has = np.flatnonzero(number)
    return {
        "auc": Measured(counts.auc, mean_of(wins, whose, weights).draws),
        "auc_patient": mean_of(own[has] / number[has], has, weights),
        "auc_error": Measured(found.error, np.zeros(0)),
        "equal_error_rate": Measured(counts.equal_error_rate, np.zeros(0)),
        **retrieval_figures(retrieval, codes, weights),
    }


@dataclass(frozen=True)
class Distribution:
    """How the scores of all pairs are distributed over bins of one width, low scores first.

    Attributes:
        impostors: int64 (bins,), impostor pairs in each.
        genuine, probe: (n,) the bin of each genuine pair, and the row of its probe.
    """

    impostors: np.ndarray
    genuine: np.ndarray
    probe: np.ndarray

    def counts(self) -> PairCounts:
        """As if the scores of a bin were equal."""
        genuine = np.sort(self.genuine)
        below = np.cumsum(self.impostors) - self.impostors
        return PairCounts(
            genuine, below[genuine], self.impostors[genuine], int(self.impostors.sum())
        )

    def wins(self) -> np.ndarray:
        """(n,) share of the impostor scores below each genuine one, those of its bin half."""
        below = np.cumsum(self.impostors) - self.impostors / 2
        return below[self.genuine] / self.impostors.sum()

    @property
    def error(self) -> float:
        """The most by which the AUC may differ from that of the scores themselves: half the share
        of the pairs of a genuine and an impostor score that lie in one bin."""
        return float(self.impostors[self.genuine].mean() / self.impostors.sum() / 2)


def count_scores(
    asked: np.ndarray,
    known: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    bins: int = BINS,
) -> Distribution:
    """The distribution of the inner products of all genuine and impostor pairs.

    Args:
        asked, known: float32 (P, E) and (G, E).

    Raises:
        ValueError: no genuine or no impostor pair.
    """
    a, b = torch.from_numpy(asked), torch.from_numpy(known).T.contiguous()
    related = Related(probes, gallery)
    most = _most(asked) * _most(known) * (1 + 1e-5) + 1e-30
    impostors, genuine, probe = np.zeros(bins, np.int64), [], []

    def counted(numbers: torch.Tensor) -> np.ndarray:
        return torch.bincount(numbers.view(-1), minlength=bins).numpy()

    for rows in slices(len(asked), max(1, BLOCK // len(known))):
        numbers = (a[rows] @ b).add_(most).mul_(bins / (2 * most)).int()
        row, column, own = related.pairs(rows)
        others = numbers[torch.from_numpy(row - rows.start), torch.from_numpy(column)]
        impostors += counted(numbers) - counted(others)
        genuine.append(others.numpy()[own])
        probe.append(row[own])
    found = Distribution(impostors, np.concatenate(genuine), np.concatenate(probe))
    found.counts()  # refuses what has no genuine or no impostor pair
    return found


def _most(vectors: np.ndarray) -> float:
    """The greatest length."""
    return float(np.linalg.norm(vectors, axis=1).max())
