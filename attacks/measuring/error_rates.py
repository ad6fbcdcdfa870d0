"""AUC, ROC and error rates from how many impostor scores lie below each genuine one; numpy only."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PairCounts:
    """How many impostor scores lie below each genuine score: all that AUC, ROC and EER need.

    Attributes:
        genuine: (n,) the genuine scores, ascending.
        below, tied: (n,) impostor scores below, and equal to, each of them.
        impostors: number of impostor scores.
    """

    genuine: np.ndarray
    below: np.ndarray
    tied: np.ndarray
    impostors: int

    def __post_init__(self) -> None:
        if not len(self.genuine) or not self.impostors:
            raise ValueError(
                f"an AUC needs genuine and impostor pairs, got {len(self.genuine)} and "
                f"{self.impostors}; use a part of the data in which patients have several images"
            )

    @property
    def auc(self) -> float:
        """P(genuine > impostor) + ½ P(equal): Mann and Whitney 1947, Hanley and McNeil 1982."""
        wins = self.below.sum() + 0.5 * self.tied.sum()
        return float(wins / (len(self.genuine) * self.impostors))

    def roc(self) -> tuple[np.ndarray, np.ndarray]:
        """False and true match rates (n,) from (0, 0) to (1, 1), corners of the whole polyline.

        A pair is accepted where its score reaches the threshold. Between two genuine scores the
        curve is horizontal, so the points just above and at each genuine score are all corners.
        """
        _, first, count = np.unique(self.genuine, return_index=True, return_counts=True)
        below, tied = (a[first, None] for a in (self.below, self.tied))
        false, true = roc_corners(count[:, None], below, tied, np.array([self.impostors]))
        return false[:, 0], true[:, 0]

    @property
    def equal_error_rate(self) -> float:
        """The rate at which false matches equal false non-matches, on the interpolated ROC
        (ISO/IEC 19795-1:2021)."""
        return float(equal_error_rates(*(rates[:, None] for rates in self.roc()))[0])

    def non_match_rates(self, rates: np.ndarray) -> np.ndarray:
        """(n,) :func:`non_match_rates` at each of the false match rates (n,)."""
        passed = self.impostors - self.below[:, None] <= np.asarray(rates) * self.impostors
        return 1 - passed.mean(axis=0)


def roc_corners(
    genuine: np.ndarray, below: np.ndarray, tied: np.ndarray, impostors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """False and true match rates (2 m + 2, B) from (0, 0) to (1, 1), corners of B curves.

    Args:
        genuine: (m, B) how many genuine scores there are of m values, ascending.
        below, tied: (m, B) impostor scores below, and equal to, each value.
        impostors: (B,) how many.
    """
    times, at, equal = genuine[::-1], impostors - below[::-1], tied[::-1]
    accepted = np.cumsum(times, axis=0)
    ends = np.zeros((1, len(impostors))), np.ones((1, len(impostors)))
    rates = []
    for low, high, all_of in (
        (at - equal, at, impostors),
        (accepted - times, accepted, accepted[-1]),
    ):
        inner = np.stack([low, high], axis=1).reshape(-1, len(impostors)) / all_of
        rates.append(np.concatenate([ends[0], inner, ends[1]]))
    return rates[0], rates[1]


def equal_error_rates(false: np.ndarray, true: np.ndarray) -> np.ndarray:
    """(B,) of curves as `roc_corners` gives them."""
    # false + true rises along a curve, and is 1 where false = 1 − true.
    total = false + true
    last = np.argmax(total >= 1, axis=0)[None]
    (x0, x1), (y0, y1) = (
        [np.take_along_axis(rates, at, axis=0)[0] for at in (np.maximum(last - 1, 0), last)]
        for rates in (total, false)
    )
    return y0 + (1 - x0) / (x1 - x0) * (y1 - y0)


def non_match_rates(
    genuine: np.ndarray, below: np.ndarray, impostors: np.ndarray, rate: float
) -> np.ndarray:
    """(B,) share of the genuine scores that do not pass a threshold, which no more than ``rate`` of
    the impostor scores pass (ISO/IEC 19795-1:2021); arguments as of `roc_corners`."""
    rejected = impostors - below > rate * impostors
    return (genuine * rejected).sum(axis=0) / genuine.sum(axis=0)


def lost_shares(genuine: np.ndarray) -> np.ndarray:
    """(2 m + 1,) of an impostor score in each slot: the share of the ``genuine`` (m,) scores above
    it, equal ones half."""
    above = genuine.sum() - np.cumsum(genuine)
    lost = np.zeros(2 * len(genuine) + 1)
    lost[:-1:2], lost[1::2] = above + genuine, above + genuine / 2
    return lost / genuine.sum()
