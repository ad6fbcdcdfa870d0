"""From a score to a probability: how much more probable two images of one person make it.

The logarithm of the likelihood ratio of genuine to impostor pairs is taken to be affine in the
score (Platt 1999) and not to fall with it, fitted with equal weight on both kinds (Brümmer and du
Preez, "Application-independent evaluation of speaker detection", Computer Speech & Language 20,
2006). The prior of the case at hand is added after that, so one calibration serves two images and
10⁸ pairs. Where genuine pairs score no higher, the best ratio that does not fall is 1: the prior.

A ratio is never taken to be greater than the number of impostor pairs, nor smaller than one over
the number of genuine pairs, that it was learnt from: n pairs say nothing of rarer events.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from anonymize.errors import DataError, UsageError


@dataclass(frozen=True)
class Calibration:
    """ln LR = slope · score + offset, within what was seen.

    Attributes:
        slope: positive; 0 of an attacker whose scores say nothing.
        offset: at score 0.
        genuine, impostors: number of pairs that it was learnt from.
    """

    slope: float
    offset: float
    genuine: int
    impostors: int

    @classmethod
    def fit(cls, genuine: np.ndarray, impostors: np.ndarray) -> Self:
        """From the scores (n,) and (m,) of pairs whose kind is known. Raises DataError: no pairs of
        a kind, or scores that are not finite."""
        if not len(genuine) or not len(impostors):
            raise DataError(
                "a calibration needs genuine and impostor pairs, got "
                f"{len(genuine)} and {len(impostors)}; use a data set with follow-ups"
            )
        scores = np.concatenate([genuine, impostors]).astype(np.float64)
        if not np.isfinite(scores).all():
            raise DataError(
                f"{int((~np.isfinite(scores)).sum())} of {len(scores)} scores are not finite; "
                "look for NaN in the images or in the weights of the network"
            )
        centre, spread = scores.mean(), scores.std() or 1.0
        model = LogisticRegression(C=np.inf, max_iter=1000)
        model.fit(*_smoothed((scores - centre) / spread, len(genuine), len(impostors)))
        slope = float(model.coef_[0, 0] / spread)
        if not slope > 0:
            return cls(0.0, 0.0, len(genuine), len(impostors))
        offset = float(model.intercept_[0] - slope * centre)
        return cls(slope, offset, len(genuine), len(impostors))

    def log_ratios(self, scores: np.ndarray) -> np.ndarray:
        """float64, ln of the likelihood ratio of each score, not falling with it."""
        found = self.slope * np.asarray(scores, np.float64) + self.offset
        return np.clip(found, -np.log(self.genuine), np.log(self.impostors))

    def probabilities(self, scores: np.ndarray, prior: float) -> np.ndarray:
        """float64 in [0, 1]: that a pair of each score is genuine."""
        return posterior(self.log_ratios(scores), prior)

    def highest(self, prior: float) -> float:
        """The highest probability that the pairs it was learnt from can support."""
        return float(posterior(np.log(self.impostors), prior))


def posterior(log_ratios: np.ndarray | float, prior: float) -> np.ndarray:
    """Bayes: float64 in [0, 1], of ln likelihood ratios. Raises UsageError: no prior in (0, 1)."""
    if not 0 < prior < 1:
        raise UsageError(f"a prior must lie between 0 and 1, both excluded; got {prior}")
    return expit(np.asarray(log_ratios, np.float64) + np.log(prior) - np.log1p(-prior))


def cost(genuine: np.ndarray, impostors: np.ndarray) -> float:
    """C_llr in bits, of ln likelihood ratios: 0 = certain and right, 1 = says nothing, above 1 =
    misleads (Brümmer and du Preez 2006, eq. 19)."""
    missed = np.logaddexp(0, -genuine).mean()
    mistaken = np.logaddexp(0, impostors).mean()
    return float((missed + mistaken) / 2 / np.log(2))


def _smoothed(
    scores: np.ndarray, genuine: int, impostors: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (2n, 1), labels and weights: every pair counts a little as the other kind (Platt
    1999), so that scores without any overlap have a finite slope; the kinds weigh equally."""
    of = np.repeat([genuine, impostors], [genuine, impostors])
    label = np.repeat([1, 0], [genuine, impostors])
    certain = (of + 1) / (of + 2) / of
    weights = np.concatenate([certain, 1 / of - certain])
    labels = np.concatenate([label, 1 - label])
    return np.tile(scores, 2)[:, None], labels, weights
