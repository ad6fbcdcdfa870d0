"""How the scores of all pairs of embeddings are distributed, a block of rows at a time: the AUC of
100,000 × 100,000 images, known to within a bound that is measured with it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from attacks.measuring.error_rates import PairCounts, lost_shares
from attacks.measuring.metrics import Owners, slices
from attacks.measuring.search import Related

BINS = 1 << 18
BLOCK = 1 << 24  # scores at a time: 128 MiB with their bins


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

    def rejected(self, rate: float) -> np.ndarray:
        """bool (n,): genuine pairs below a threshold that ``rate`` of the impostor pairs pass."""
        passing = np.cumsum(self.impostors[::-1])[::-1]
        return passing[self.genuine] > rate * self.impostors.sum()

    @property
    def error(self) -> float:
        """The most by which the AUC may differ from that of the scores themselves: half the share
        of the pairs of a genuine and an impostor score that lie in one bin."""
        return float(self.impostors[self.genuine].mean() / self.impostors.sum() / 2)


def count_scores(
    asked: np.ndarray, known: np.ndarray, probes: Owners, gallery: Owners, *, bins: int = BINS
) -> Distribution:
    """The distribution of the inner products of all genuine and impostor pairs.

    Args:
        asked, known: float32 (P, E) and (G, E).

    Raises:
        ValueError: no genuine or no impostor pair.
    """
    related = Related(probes, gallery)
    impostors, genuine, probe = np.zeros(bins, np.int64), [], []

    def counted(numbers: torch.Tensor) -> np.ndarray:
        return torch.bincount(numbers.view(-1), minlength=bins).numpy()

    for rows, numbers in _numbers(asked, known, bins):
        row, column, own = related.pairs(rows)
        others = numbers[torch.from_numpy(row - rows.start), torch.from_numpy(column)]
        impostors += counted(numbers) - counted(others)
        genuine.append(others.numpy()[own])
        probe.append(row[own])
    found = Distribution(impostors, np.concatenate(genuine), np.concatenate(probe))
    found.counts()  # refuses what has no genuine or no impostor pair
    return found


def lost_by_image(
    asked: np.ndarray, known: np.ndarray, found: Distribution, times: np.ndarray, related: Related
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Of the impostor pairs of each probe (P,) and gallery image (G,): the sum of the shares of
    genuine scores above, those of one bin half; and how many pairs these are.

    Args:
        asked, known: float32 (P, E) and (G, E), as they were counted.
        found: by `count_scores`.
        times: (n,) how often each genuine pair counts.
    """
    bins = len(found.impostors)
    slots = lost_shares(np.bincount(found.genuine, times, bins))
    share = torch.from_numpy(slots[1::2].astype(np.float32))
    lost = np.zeros(len(asked)), np.zeros(len(known))
    met = np.full(len(asked), float(len(known))), np.full(len(known), float(len(asked)))
    for rows, numbers in _numbers(asked, known, bins):
        row, column, _ = related.pairs(rows)
        each = share[numbers]
        each[torch.from_numpy(row - rows.start), torch.from_numpy(column)] = 0
        lost[0][rows] += each.sum(dim=1, dtype=torch.float64).numpy()
        lost[1][:] += each.sum(dim=0, dtype=torch.float64).numpy()
        for side, at in zip(met, (row, column), strict=True):
            side -= np.bincount(at, minlength=len(side))
    return (lost[0], lost[1]), (met[0], met[1])


def _numbers(
    asked: np.ndarray, known: np.ndarray, bins: int
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Some rows, and the bins (n, G) of their inner products."""
    a, b = torch.from_numpy(asked), torch.from_numpy(known).T.contiguous()
    most = _most(asked) * _most(known) * (1 + 1e-5) + 1e-30
    for rows in slices(len(asked), max(1, BLOCK // len(known))):
        yield rows, (a[rows] @ b).add_(most).mul_(bins / (2 * most)).int()


def _most(vectors: np.ndarray) -> float:
    """The greatest length."""
    return float(np.linalg.norm(vectors, axis=1).max())
