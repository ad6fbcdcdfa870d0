"""Is a difference more than chance? From the draws of patients that two methods share.

Probabilities are the mirror of `statistics.confidence_interval`: a value lies outside the 95 %
interval where its two-sided p is below 0.05. Of a figure that is 0 or 1 it is how likely as many
patients without an exception are (exact binomial).
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import t

from anonymize.statistics import Measured, confidence_interval
from attacks.measuring.estimates import NotWorse
from attacks.measuring.statistics import mean_over_runs


def paired_runs(first: Sequence[Measured], second: Sequence[Measured]) -> list[Measured]:
    """First less second, run by run, where both have as many; else each run of the first less the
    mean of the second, whose spread over its runs is in the draws.

    Args:
        first, second: at least one run each, measured with the same draws of patients.

    Raises:
        ValueError: other numbers of draws.
    """
    if len({len(run.draws) for run in (*first, *second)}) > 1:
        raise ValueError("paired figures must be measured with the same draws of patients")
    if len(first) != len(second):
        second = [mean_over_runs(second)] * len(first)
    return [
        Measured(a.value - b.value, a.draws - b.draws, min(a.patients, b.patients), bounded=False)
        for a, b in zip(first, second, strict=True)
    ]


def p_above(measured: Measured, value: float) -> float:
    """One-sided p that the figure is no more than ``value``; 1 where its draws do not tell."""
    if not measured.defined:
        return 1.0
    if measured.bounded and not 0 < measured.value < 1:
        return value**measured.patients if measured.value >= 1 else 1.0
    return float(t.sf(measured.distance(value), measured.patients - 1))


def p_below(measured: Measured, value: float) -> float:
    """One-sided p that the figure is no less than ``value``; 1 where its draws do not tell."""
    if not measured.defined:
        return 1.0
    if measured.bounded and not 0 < measured.value < 1:
        return (1 - value) ** measured.patients if measured.value <= 0 else 1.0
    return float(t.cdf(measured.distance(value), measured.patients - 1))


def p_different(measured: Measured, value: float = 0.0) -> float:
    """Two-sided p that the figure is ``value``."""
    return min(1.0, 2 * min(p_above(measured, value), p_below(measured, value)))


def equivalence(difference: Measured, margin: float) -> NotWorse:
    """Whether a difference is within ±``margin``: two one-sided tests at 5 % (Schuirmann, Journal
    of Pharmacokinetics and Biopharmaceutics 15, 1987). Where both p are below it, the 90 % interval
    of the difference lies inside (−δ, δ).

    Args:
        difference: for instance of utilities, `mean_over_runs` of `paired_runs`.
        margin: δ > 0.
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    worse, better = p_above(difference, -margin), p_below(difference, margin)
    return NotWorse(
        margin=margin,
        not_worse=worse < 0.05,
        equivalent=max(worse, better) < 0.05,
        p=worse,
        ci90=confidence_interval(difference, level=0.9),
    )


def holm(ps: Sequence[float]) -> list[float]:
    """(n,) adjusted so that one false rejection among all has no more than its probability
    (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(ps, kind="stable")
    left = len(ps) - np.arange(len(ps))
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(ps, float)[order] * left))
    return adjusted.tolist()
