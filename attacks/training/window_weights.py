"""What each window of an image is worth for telling whose it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import Tensor

from attacks.measuring.judged import judged_on
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs, pair_auc
from attacks.training.windows import Window

ROUNDS = 30  # of expectation and maximization
FEWEST = 1e-3  # share of the pairs that a window is never thought to tell nothing of
SURE = 20.0  # genuine pairs that count as much as what all windows have in common
STEADY = 1e-4  # deviation of cosines below which they are not scaled up


@dataclass(frozen=True)
class Mixed:
    """What the released window of an image has of the image, over many of them: in a share of the
    cases its score is N(``away``, 1), else that of a stranger, N(0, 1)."""

    share: float
    away: float

    @classmethod
    def fit(cls, scores: np.ndarray) -> Self:
        """Most likely for standardised scores (N,) of images and what became of them (expectation
        and maximization, Dempster et al. 1977)."""
        share, away = 0.2, max(float(np.quantile(scores, 0.95)), 0.5)
        for _ in range(ROUNDS):
            odds = share / (1 - share) * np.exp(np.clip(away * scores - away**2 / 2, -50, 50))
            told = odds / (1 + odds)
            share = float(np.clip(told.mean(), FEWEST, 1 - FEWEST))
            away = max(float((told * scores).sum() / told.sum()), 0.0)
        return cls(share, away)


@dataclass(frozen=True)
class Weights:
    """What the score of each of W windows is worth, float64 (W,).

    Attributes:
        middle, deviation: of impostors.
        apart: how many deviations genuine pairs lie above them.
        share: of the pairs in which the window tells anything.
    """

    middle: np.ndarray
    deviation: np.ndarray
    apart: np.ndarray
    share: np.ndarray

    def likelihood(self, scores: np.ndarray, window: int) -> np.ndarray:
        """Log-likelihood ratios of scores in one window: N(apart, 1) against N(0, 1)."""
        apart = self.apart[window]
        return apart * (scores - self.middle[window]) / self.deviation[window] - apart**2 / 2


def of_patients(windows: Sequence[Window], known: Tensor, owners: Owners, reach: int) -> Weights:
    """How far patients are apart in each window of real images, by their maps (N, 10, c, c); where
    patients are few, nearer to what all windows have in common.

    Raises DataError: nobody is shown in several images."""
    genuine, impostors = genuine_pairs(owners, owners), impostor_pairs(owners, owners)
    if not (genuine.any() and impostors.any()):
        with judged_on("the validation part"):
            pair_auc(np.zeros(genuine.shape, np.float32), owners, owners)
    found = []
    for window in windows:
        scores = window.cosine(known, known, reach)
        others = scores[impostors]
        found.append((others.mean(), max(others.std(), STEADY), scores[genuine].mean()))
    middle, deviation, same = np.array(found, float).T
    apart = ((same - middle) / deviation).clip(min=0)
    pairs = genuine.sum() / 2
    apart = (pairs * apart + SURE * apart.mean()) / (pairs + SURE)
    return Weights(middle, deviation, apart, np.ones(len(found)))


def of_pairs(
    weights: Weights,
    windows: Sequence[Window],
    pairs: tuple[Tensor, Tensor],
    owners: Owners,
    *,
    reach: int,
    rng: np.random.Generator,
) -> Weights:
    """How often a window of a released image shows what it showed of the real one, and how much of
    that; maps (N, 10, c, c) of ``pairs`` released and real, impostors drawn among them."""
    after, before = pairs
    other = rng.permutation(len(before))
    orders = np.stack([np.arange(len(before)), other])
    strange = owners.patient != owners.patient[other]
    found = []
    for window, apart in zip(windows, weights.apart, strict=True):
        own, others = window.of_rows(after, before, orders, reach)
        middle, deviation = others[strange].mean(), max(others[strange].std(), STEADY)
        mixed = Mixed.fit((own - middle) / deviation)
        clear = min(mixed.away * deviation / max(1 - middle, STEADY), 1.0)
        found.append((middle, deviation, apart * clear, mixed.share))
    return Weights(*np.array(found, float).T)
