"""How sure a figure is: its values over draws of patients, and intervals from them.

A patient's images, and the scores of their pairs, depend on each other: drawing pairs again
instead of patients makes intervals too narrow (1.4 to 1.9 times on the published test pairs). So
patients are drawn with replacement, and all scores of a patient's images come along: the subsets
bootstrap of Bolle, Ratha and Pankanti, "Error analysis of pattern recognition systems – the
subsets bootstrap", CVIU 93(1), 2004.

Plain percentiles are too narrow for few patients, and lopsided near 0 and 1 (docs/attacks.md has
the coverage). So the draws give a standard error of the log odds, its divisor n − 1 patients, and
the interval is Student's t on that scale, which keeps it within [0, 1] (Pepe, The Statistical
Evaluation of Medical Tests, 2003, section 5.2); of a difference, on its own scale. An error of the
figure itself, put on that scale, is too small near 0 and 1, where few exceptions decide: a draw has
them twice, or not at all. The log odds of an unbiased figure lie too far from 0, by half the second
derivative times its variance, which is (p − ½) times the squared error of the log odds; the
interval is around what is left.

Of a rate, a share of cases that are right or wrong, the draws of few patients vary more on that
scale than such rates do. Its interval is that of Wilson (Journal of the American Statistical
Association 22, 1927), of as many cases as its error is that of, with Student's t in place of the
normal quantile (Korn and Graubard, Survey Methodology 24, 1998; Dean and Pagano, Journal of Survey
Statistics and Methodology 3, 2015).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t

from anonymize.auc import CHUNK, plain_auc, structural_components, weighted_auc

FORMULA = "2026-11-29T16"  # since when scores give these figures and intervals
# Up to so many patients they gave the same since then, but for rates, which had wider ones, and
# those of the first two for means over runs.
AS_BEFORE = {"2026-11-25": 200, "2026-11-27": inf, "2026-11-27T09": inf}
RESAMPLINGS = 1000
BEARERS = 3  # patients with a finding, and without: fewer do not say how sure its AUC is
ENOUGH = 0.55  # of the draws; of two patients half hold both, and these are all alike
FURTHEST = np.log(16)  # log odds by which a draw differs: one without an exception is not certain
Interval = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """A figure of one run, and its values (B,) over the draws of patients (empty: not drawn).

    A draw in which the figure is undefined, for instance without a genuine pair, is NaN.
    """

    value: float
    draws: np.ndarray
    patients: float = inf  # how many bear the figure, as `effective` counts them
    bounded: bool = True  # it lies in [0, 1]; False: it is a difference
    rate: bool = False  # it is a share of cases that are right or wrong, or their mean

    @property
    def defined(self) -> bool:
        """Whether its draws say how sure it is: enough of them are defined, and more than one
        patient bears it."""
        finite = int(np.isfinite(self.draws).sum())
        return 0 < finite >= len(self.draws) * ENOUGH and self.patients > 1

    @property
    def error(self) -> float:
        """Standard error over the draws of patients."""
        return float(np.nanstd(self.draws)) * expansion(self.patients)

    @property
    def log_odds_error(self) -> float:
        """Standard error of its log odds over the draws of patients; for a value in (0, 1)."""
        inside = np.clip(self.draws, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        away = np.clip(logit(inside) - logit(self.value), -FURTHEST, FURTHEST)
        return float(np.nanstd(away)) * expansion(self.patients)

    @property
    def log_odds(self) -> float:
        """Its log odds less their bias, by one standard error at most; for a value in (0, 1)."""
        error = self.log_odds_error
        return float(logit(self.value)) - (self.value - 0.5) * min(error**2, 2 * error)

    @property
    def interval(self) -> Interval | None:
        """95 %; None where it is not defined."""
        return confidence_interval(self)

    def distance(self, value: float) -> float:
        """From ``value`` to the figure, in standard errors; of log odds where it is bounded. Where
        it does not vary: 0 or infinite."""
        if self.bounded and 0 < self.value < 1 and 0 < value < 1:
            away, error = self.log_odds - logit(value), self.log_odds_error
        else:
            away, error = self.value - value, self.error
        if not error:
            return float(np.sign(away) * inf) if away else 0.0
        return float(away / error)


def draw_patients(patients: int, *, resamplings: int = RESAMPLINGS, seed: int = 0) -> np.ndarray:
    """How often each patient is drawn: float64 (B, K), whole numbers, each row's sum is K."""
    return np.concatenate(list(_drawn(patients, resamplings, seed)))


def _drawn(patients: int, resamplings: int, seed: int) -> Iterator[np.ndarray]:
    """The rows of `draw_patients`, some at a time."""
    generator, even = np.random.default_rng(seed), np.full(patients, 1 / patients)
    rows = max(1, CHUNK // patients)
    for start in range(0, resamplings, rows):
        size = min(rows, resamplings - start)
        yield generator.multinomial(patients, even, size=size).astype(np.float64)


def confidence_interval(measured: Measured, level: float = 0.95) -> Interval | None:
    """Of one figure; None where it is not defined.

    A figure that is 0 or 1 gets the limit that as many patients without an exception allow (the
    exact binomial one, about 3.7 / n at 95 %). A difference that is the same in every draw, as of
    two figures without an exception, has none.
    """
    if not measured.defined:
        return None
    value, tail = measured.value, (1 - level) / 2
    errors = float(t.isf(tail, measured.patients - 1))
    if not measured.bounded:
        reach = errors * measured.error
        return (value - reach, value + reach) if reach else None
    if not 0 < value < 1:  # or a rounding error beyond
        limit = 1 - tail ** (1 / measured.patients)
        return (0.0, limit) if value <= 0 else (1 - limit, 1.0)
    if measured.rate:
        return _wilson(value, measured.error**2, errors)
    centre, reach = measured.log_odds, errors * measured.log_odds_error
    return float(expit(centre - reach)), float(expit(centre + reach))


def _wilson(rate: float, variance: float, errors: float) -> Interval:
    """Of so many standard errors; ``rate`` in (0, 1)."""
    alone = rate * (1 - rate)  # the variance of one case
    share = errors**2 * min(variance / alone, 1)
    centre = (rate + share / 2) / (1 + share)
    reach = sqrt(share * alone + share**2 / 4) / (1 + share)
    return centre - reach, centre + reach


def expansion(patients: float) -> float:
    """√(n / (n − 1)): a bootstrap's deviation has n as divisor."""
    return sqrt(1 / (1 - 1 / patients))


def effective(counts: np.ndarray) -> float:
    """How many patients bear a figure of which each has ``counts`` entries: (Σ n)² / Σ n² (Kish,
    Survey Sampling, 1965); their number where all have as many, 1 where one has nearly all."""
    counts = np.asarray(counts, float)
    squares = float((counts**2).sum())
    return float(counts.sum() ** 2 / squares) if squares else 0.0


def measure_auc(
    scores: np.ndarray,
    present: np.ndarray,
    unit: np.ndarray,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> Measured:
    """AUC of a list, ties half; all arrays (n,). ``unit`` is what is drawn: equal values together.

    ValueError where shapes differ, for NaN, or without both values among ``present``.
    """
    scores, present = np.asarray(scores), np.asarray(present, bool)
    if scores.ndim != 1 or not scores.shape == present.shape == np.shape(unit):
        raise ValueError(
            "scores, present and unit must have one shape (n,), got "
            f"{scores.shape}, {present.shape} and {np.shape(unit)}"
        )
    if np.isnan(scores).any():
        raise ValueError("scores must not hold NaN")
    if present.all() or not present.any():
        raise ValueError("an AUC needs both values among present")
    codes, owner = np.unique(unit, return_inverse=True)
    draws = [
        weighted_auc(scores, present, owner, weights)
        for weights in _drawn(len(codes), resamplings, seed)
    ]
    bearing = effective(_scarcer(present, owner, len(codes)))
    return Measured(plain_auc(scores, present), np.concatenate(draws), bearing)


def _scarcer(present: np.ndarray, owner: np.ndarray, patients: int) -> np.ndarray:
    """Each patient's share (K,) in the entries that an AUC has from fewer patients: those present,
    or those absent."""
    kinds = [np.bincount(owner[kind], minlength=patients) for kind in (present, ~present)]
    fewer = min(kinds, key=effective)
    return fewer / fewer.sum()


@dataclass(frozen=True)
class MeasuredLabels:
    """Mean over the labels that are defined, the AUC of every label (NaN: undefined) and its 95 %
    interval (None: undefined)."""

    mean: Measured
    per_class: dict[str, float]
    intervals: dict[str, Interval | None] = field(default_factory=dict)


def measure_classification(
    scores: np.ndarray,
    targets: np.ndarray,
    patient: np.ndarray,
    labels: Sequence[str],
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> MeasuredLabels:
    """AUC of each label and their mean. Draws are those of a first order, in which every label is
    defined: patients drawn again would often lack one whose bearers are few.

    Args:
        scores: (n, labels), higher = rather present.
        targets: (n, labels): 1 present, 0 absent, NaN unknown; the unknown are left out label by
            label. A label that fewer than :data:`BEARERS` patients have, or have not, is undefined
            and left out of the mean: it would pass for certain there, since a patient who alone has
            it hardly moves its AUC when he is drawn twice.
        patient: (n,) codes.

    Raises:
        ValueError: shapes differ, NaN scores, targets other than 0, 1 and NaN.
    """
    scores, targets = np.asarray(scores), np.asarray(targets)
    if scores.shape != targets.shape or scores.shape != (len(patient), len(labels)):
        raise ValueError(
            f"scores and targets must have shape ({len(patient)}, {len(labels)}) (images, labels), "
            f"got {scores.shape} and {targets.shape}"
        )
    if not np.isin(targets[~np.isnan(targets)], (0, 1)).all():
        raise ValueError("targets must be 0, 1 or NaN (unknown)")
    if np.isnan(scores).any():
        raise ValueError("scores must not hold NaN")
    codes, owner = np.unique(patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    per_class: dict[str, float] = {}
    intervals: dict[str, Interval | None] = {}
    moves, shares = [], []
    for column, label in enumerate(labels):
        known = ~np.isnan(targets[:, column])
        score, present = scores[known, column], targets[known, column] == 1
        own = owner[known]
        if min(len(np.unique(own[kind])) for kind in (present, ~present)) < BEARERS:
            per_class[label], intervals[label] = float("nan"), None
            continue
        per_class[label] = value = plain_auc(score, present)
        moved = weights @ np.bincount(own, structural_components(score, present), len(codes))
        shares.append(_scarcer(present, own, len(codes)))
        bearing = effective(shares[-1])
        intervals[label] = Measured(value, value + moved, bearing).interval
        moves.append(expansion(bearing) * moved)
    if not moves:
        return MeasuredLabels(Measured(float("nan"), np.zeros(0)), per_class, intervals)
    # A patient who is rare under one label need not be under another: more bear the mean than one.
    # Each label's error is that of its own few bearers.
    bearing = effective(np.sum(shares, axis=0))
    value = float(np.nanmean(list(per_class.values())))
    draws = value + np.mean(moves, axis=0) / expansion(bearing)
    return MeasuredLabels(Measured(value, draws, bearing), per_class, intervals)
