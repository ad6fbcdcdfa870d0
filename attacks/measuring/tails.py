"""How probable it is that a stranger scores higher than anybody who was seen: fitted tails.

Of each probe the highest scores of the strangers are known. Above a threshold of its own, the
excesses follow a generalised Pareto distribution (peaks over threshold: Pickands, Annals of
Statistics 3, 1975; Davison and Smith, JRSS B 52, 1990). Few excesses tell little of its shape, so
that all probes share one, and each has its own threshold and scale: the regional L-moments of
Hosking and Wallis, *Regional Frequency Analysis*, 1997, for sites that differ by a factor alone.

Scores are near to normal more often than not, and of these the shape changes all the way to the
end. So a second model stands beside it: the generalised Weibull tail (de Valk, Extremes 19, 2016),
in which the logarithm of the probability is a power of the score: of a normal tail about 2, of an
exponential one 1. Where the two differ, the data do not tell.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

SHARE = 0.05  # of the strangers of a probe that are above its threshold
FEWEST = 5  # excesses of a probe
ENOUGH = round(1.1 * FEWEST / SHARE)  # people: so many give as many excesses without a tenth, too
MOST = 400
POWERS = (-2.0, 3.0)
FLAT = 1e-6  # a shape or power that is none

# Scores (Q,), one a probe → probability that a stranger scores higher; NaN below the threshold.
Tail = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Strangers:
    """The highest scores that each probe has among people whom it does not show.

    Attributes:
        people: (Q,) of how many people.
        scores: (Q, k) the highest, one a person, falling; −inf where there are fewer.
        whose: int (Q, k) their numbers.
        there: bool (K,), who of all numbers takes part.
    """

    people: np.ndarray
    scores: np.ndarray
    whose: np.ndarray
    there: np.ndarray

    def without(self, left_out: np.ndarray) -> "Strangers":
        """The same as if the people of these numbers, bool (K,), had not been there; of the scores
        those that are surely the highest still."""
        scores = np.where(left_out[self.whose], -np.inf, self.scores)
        order = np.argsort(-scores, axis=1, kind="stable")
        left = np.isfinite(scores).sum(axis=1).min(initial=scores.shape[1])
        scores, whose = (np.take_along_axis(a, order, 1)[:, :left] for a in (scores, self.whose))
        people = self.people - np.count_nonzero(left_out & self.there)
        return Strangers(people, scores, whose, self.there & ~left_out)


@dataclass(frozen=True)
class Excesses:
    """Of each probe the scores above its threshold.

    Attributes:
        threshold: (Q,) exceeded by ``share`` of the strangers, a number.
        above: (Q, k) less the threshold, falling.
        scale: (Q,) their mean.
    """

    threshold: np.ndarray
    above: np.ndarray
    scale: np.ndarray
    share: float

    @classmethod
    def of(cls, strangers: Strangers, share: float = SHARE) -> "Excesses | None":
        """The highest ``share`` of the strangers; None where these are too few."""
        fewest = int(strangers.people.min(initial=2**62))
        count = min(round(fewest * share), MOST, strangers.scores.shape[1] - 1)
        if not len(strangers.people) or count < FEWEST:
            return None
        highest = strangers.scores[:, : count + 1].astype(np.float64)
        above = highest[:, :-1] - highest[:, -1:]
        return cls(highest[:, -1], above, above.mean(axis=1), count / fewest)

    def tail(self, beyond: Callable[[np.ndarray], np.ndarray]) -> Tail:
        """Of the share of the excesses that are above each height (Q,), in mean excesses."""

        def above(scores: np.ndarray) -> np.ndarray:
            higher = scores > self.threshold
            with np.errstate(all="ignore"):  # without an excess every height is infinite
                heights = np.where(higher, (scores - self.threshold) / self.scale, 0)
                return np.where(higher, self.share * beyond(heights), np.nan)

        return above

    @property
    def curve(self) -> np.ndarray:
        """(k,) mean of all probes' excesses, each in its own mean excesses; falling."""
        known = self.scale > 0
        return (self.above[known] / self.scale[known, None]).mean(axis=0)


def pareto(excesses: Excesses) -> Tail:
    """Generalised Pareto with a shape that all probes share, by L-moments."""
    curve = excesses.curve[::-1]
    k = len(curve)
    second = 2 * float((np.arange(k) / (k - 1) * curve).mean()) - curve.mean()
    shape = 2 - curve.mean() / second  # the L-CV is 1 / (2 − ξ)

    def beyond(heights: np.ndarray) -> np.ndarray:
        scaled = heights / (1 - shape)
        if abs(shape) < FLAT:
            return np.exp(-scaled)
        return np.maximum(1 + shape * scaled, 0) ** (-1 / shape)

    return excesses.tail(beyond)


def weibull(excesses: Excesses) -> Tail:
    """Generalised Weibull: −ln p is (1 + ρ · height / a)^(1/ρ) times that of the threshold; ρ and a
    by least squares of the mean excesses."""
    curve = excesses.curve
    k = len(curve)
    first = -np.log(excesses.share)
    ratio = 1 - np.log((np.arange(k) + 0.5) / k) / first
    weights = np.arange(1, k + 1)  # the highest vary most

    def fitted(power: float) -> tuple[float, float]:
        """Scale, and sum of squares."""
        expected = (ratio**power - 1) / power if abs(power) > FLAT else np.log(ratio)
        scale = (weights * expected * curve).sum() / (weights * expected**2).sum()
        return scale, float((weights * (curve - scale * expected) ** 2).sum())

    power = minimize_scalar(lambda p: fitted(p)[1], bounds=POWERS, method="bounded").x
    scale = fitted(power)[0]

    def beyond(heights: np.ndarray) -> np.ndarray:
        if abs(power) < FLAT:
            return np.exp(first * (1 - np.exp(heights / scale)))
        return np.exp(first * (1 - np.maximum(1 + power * heights / scale, 0) ** (1 / power)))

    return excesses.tail(beyond)
