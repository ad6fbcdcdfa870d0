"""One score of a pair from those of its windows, when not all of them need be of one person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

TOP = 3  # windows
LIKELIHOOD = 30  # rounds of expectation and maximization
FEWEST = 1e-3  # share of the pairs that a window is never thought to tell nothing of


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
        for _ in range(LIKELIHOOD):
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

    def __getitem__(self, windows: np.ndarray) -> Weights:
        return Weights(
            self.middle[windows], self.deviation[windows], self.apart[windows], self.share[windows]
        )

    def likelihood(self, scores: np.ndarray, window: int) -> np.ndarray:
        """Log-likelihood ratios of scores in one window: N(apart, 1) against N(0, 1)."""
        apart = self.apart[window]
        return apart * (scores - self.middle[window]) / self.deviation[window] - apart**2 / 2


@dataclass(frozen=True)
class Pooling:
    """How the windows come together.

    Attributes:
        power: of the likelihood ratios before their mean over windows (weighed by share) is taken;
            0: the mean of their logarithms; infinite: the largest.
        top: of them, those that count; 0: all.
    """

    power: float
    top: int = 0

    def start(self, shape: tuple[int, int]) -> np.ndarray:
        """Of no window yet."""
        if self.top:
            return np.full((self.top, *shape), -np.inf, np.float32)
        return np.full(shape, 0.0 if self.power == 0 else -np.inf, np.float32)

    def add(self, total: np.ndarray, ratios: np.ndarray, share: float) -> np.ndarray:
        """With one window more, of log-likelihood ratios (P, G)."""
        if self.top:
            ordered = np.concatenate([total, ratios[None] + math.log(share)])
            return np.partition(ordered, -self.top, axis=0)[-self.top :]
        if self.power == 0:
            return total + ratios
        if math.isinf(self.power):
            return np.maximum(total, ratios + math.log(share))
        return np.logaddexp(total, self.power * ratios + math.log(share))

    def end(self, total: np.ndarray) -> np.ndarray:
        """float32 (P, G)."""
        if self.top:
            total = np.where(np.isfinite(total), total, 0).mean(axis=0)
        return (total / (self.power if 0 < self.power < math.inf else 1)).astype(np.float32)


POOLINGS = {
    "mean": Pooling(0),
    "soft": Pooling(0.5),
    "likelihood": Pooling(1),
    "sharp": Pooling(2),
    "max": Pooling(math.inf),
    "top": Pooling(math.inf, TOP),
}
