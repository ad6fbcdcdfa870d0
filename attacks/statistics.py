"""How sure a figure is: spread over runs, and confidence by resampling patients.

A patient's images, and the scores of their pairs, depend on each other: drawing pairs again
instead of patients makes intervals too narrow (1.4 to 1.9 times on the published test pairs). So
patients are drawn with replacement, and all scores of a patient's probes come along: the subsets
bootstrap of Bolle, Ratha and Pankanti, "Error analysis of pattern recognition systems – the
subsets bootstrap", CVIU 93(1), 2004. The gallery stays as it is. Intervals are the 2.5th and
97.5th percentiles.

Every run of an attacker is measured with the same draws (same seed, same patients), so that the
mean over the runs has its interval too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attacks.metrics import (
    Owners,
    PairCounts,
    auc,
    check_scores,
    count_below,
    count_pairs,
    genuine_scores,
    impostor_pairs,
    retrieve,
)
from attacks.results import Estimate, LabelAuc

RESAMPLINGS = 1000
CHUNK = 1 << 22  # weights held at a time


@dataclass(frozen=True)
class Measured:
    """A figure of one run, and its values (B,) over the draws of patients (empty: not drawn).

    A draw in which the figure is undefined, for instance without a genuine pair, is NaN.
    """

    value: float
    draws: np.ndarray


def draw_patients(patients: int, *, resamplings: int = RESAMPLINGS, seed: int = 0) -> np.ndarray:
    """How often each patient is drawn: float64 (B, K), whole numbers, each row's sum is K."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(
        patients, np.full(patients, 1 / patients), size=resamplings
    ).astype(np.float64)


def summary(runs: Sequence[Measured], *, ddof: int = 0) -> Estimate:
    """Mean, deviation and interval over independent runs of one attacker or classifier.

    Args:
        runs: at least one, measured with the same draws.
        ddof: the deviation's divisor is n − ddof; 0 as in the published program. The deviation of
            a single run is 0.

    Raises:
        ValueError: no runs, or runs of different numbers of draws.
    """
    if not runs:
        raise ValueError("summary needs at least one run")
    if len({len(run.draws) for run in runs}) > 1:
        raise ValueError("all runs must be measured with the same draws of patients")
    values = [run.value for run in runs]
    return Estimate(
        mean=float(np.mean(values)),
        sd=float(np.std(values, ddof=ddof)) if len(values) > 1 else 0.0,
        runs=values,
        ci95=percentile_interval(np.mean([run.draws for run in runs], axis=0)),
        ddof=ddof,
    )


def percentile_interval(draws: np.ndarray) -> tuple[float, float] | None:
    """2.5th and 97.5th percentile; None where fewer than half of the draws are defined."""
    defined = draws[np.isfinite(draws)]
    if not len(defined) or len(defined) < len(draws) / 2:
        return None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


# Identification: a score matrix


def measure_identification(
    scores: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> dict[str, Measured]:
    """Every figure of a score matrix (P, G) by name; `results.TITLES` lists the names.

    Raises:
        ValueError: wrong shape, NaN, or no genuine or impostor pairs.
    """
    check_scores(scores, probes, gallery)
    codes, owner = np.unique(probes.patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    wins, counts = _wins_by_patient(scores, probes, gallery, owner, len(codes))
    found = {
        "auc": Measured(counts.auc, wins.draws(weights)),
        "equal_error_rate": Measured(counts.equal_error_rate, np.zeros(0)),
    }
    retrieval = retrieve(scores, probes, gallery)
    asked = np.searchsorted(codes, retrieval.patient)
    for name, values in (
        ("precision_at_1", retrieval.within(1)),
        ("map_at_r", retrieval.average_precisions_at_r()),
        ("r_precision", retrieval.r_precisions()),
        ("top_5", retrieval.within(5)),
        ("top_10", retrieval.within(10)),
    ):
        found[name] = _mean_of(values, asked, weights)
    patient, vulnerable = retrieval.vulnerable()
    found["r_s"] = _mean_of(vulnerable, np.searchsorted(codes, patient), weights)
    return found


def estimate_identification(
    runs: Sequence[Mapping[str, Measured]], *, ddof: int = 0
) -> dict[str, Estimate]:
    """`summary` of every figure that all runs measured; what `results.Attack.of` takes."""
    return {name: summary([run[name] for run in runs], ddof=ddof) for name in runs[0]}


@dataclass(frozen=True)
class _Wins:
    """Sufficient for the pair AUC of any draw: ``wins[a, k]`` counts the genuine scores of patient
    ``with_genuine[a]`` above impostor scores of patient k, ties half."""

    wins: np.ndarray
    with_genuine: np.ndarray
    genuine: np.ndarray
    impostors: np.ndarray

    def draws(self, weights: np.ndarray) -> np.ndarray:
        mine = weights[:, self.with_genuine]
        won = ((mine @ self.wins) * weights).sum(axis=1)
        return _ratio(won, (mine @ self.genuine) * (weights @ self.impostors))


def _wins_by_patient(
    scores: np.ndarray, probes: Owners, gallery: Owners, owner: np.ndarray, patients: int
) -> tuple[_Wins, PairCounts]:
    genuine, row = genuine_scores(scores, probes, gallery)
    order = np.argsort(genuine)
    genuine = genuine[order]
    with_genuine, whose = np.unique(owner[row[order]], return_inverse=True)
    wins = np.zeros((len(with_genuine), patients))
    impostors = np.zeros(patients)
    below, tied = np.zeros((2, len(genuine)), np.int64)
    # Rows of one patient lie together in `rows`, split at `ends`.
    rows = np.argsort(owner, kind="stable")
    ends = np.cumsum(np.bincount(owner, minlength=patients))[:-1]
    for k, own in enumerate(np.split(rows, ends)):
        block = scores[own][impostor_pairs(probes[own], gallery)]
        under, equal = count_below(genuine, block)
        wins[:, k] = np.bincount(whose, under + 0.5 * equal, minlength=len(with_genuine))
        impostors[k] = len(block)
        below += under
        tied += equal
    counts = PairCounts(genuine, below, tied, int(impostors.sum()))
    return _Wins(wins, with_genuine, np.bincount(whose).astype(float), impostors), counts


def _mean_of(values: np.ndarray, patient: np.ndarray, weights: np.ndarray) -> Measured:
    """Mean of ``values``, and over the draws; ``patient`` indexes the columns of ``weights``."""
    patients = weights.shape[1]
    total = np.bincount(patient, weights=values, minlength=patients)
    number = np.bincount(patient, minlength=patients)
    return Measured(float(np.mean(values)), _ratio(weights @ total, weights @ number))


# Lists: verification pairs, classification


def measure_pairs(
    scores: np.ndarray,
    same: np.ndarray,
    patient: np.ndarray,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> dict[str, Measured]:
    """AUC and equal error rate of a list of pairs: all arrays (n,); ``patient`` is the probe's.

    Raises:
        ValueError: shapes differ, NaN, no genuine or no impostor pair.
    """
    counts = count_pairs(scores, same)
    codes, owner = np.unique(patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    draws = weighted_auc(scores, np.asarray(same, bool), owner, weights)
    return {
        "auc": Measured(counts.auc, draws),
        "equal_error_rate": Measured(counts.equal_error_rate, np.zeros(0)),
    }


@dataclass(frozen=True)
class MeasuredLabels:
    """Mean over the labels that are defined, and the AUC of every label (NaN: undefined)."""

    mean: Measured
    per_class: dict[str, float]


def measure_classification(
    scores: np.ndarray,
    targets: np.ndarray,
    patient: np.ndarray,
    labels: Sequence[str],
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> MeasuredLabels:
    """AUC of each label and their mean.

    Args:
        scores: (n, labels), higher = rather present.
        targets: (n, labels): 1 present, 0 absent, NaN unknown; the unknown are left out label by
            label. A label without both values is undefined and left out of the mean; in a draw
            likewise.
        patient: (n,) patient codes.
        labels: names of the columns.

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
    codes, owner = np.unique(patient, return_inverse=True)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    per_class, draws = {}, []
    for column, label in enumerate(labels):
        known = ~np.isnan(targets[:, column])
        score, present = scores[known, column], targets[known, column] == 1
        if present.all() or not present.any():
            per_class[label] = float("nan")
            continue
        per_class[label] = auc(score, present)
        draws.append(weighted_auc(score, present, owner[known], weights))
    if not draws:
        return MeasuredLabels(Measured(float("nan"), np.zeros(0)), per_class)
    return MeasuredLabels(
        Measured(float(np.nanmean(list(per_class.values()))), _mean_of_defined(np.array(draws))),
        per_class,
    )


def estimate_classification(runs: Sequence[MeasuredLabels], *, ddof: int = 0) -> LabelAuc:
    """`summary` over the runs; labels without an AUC stay without."""
    labels = {
        name: float(np.mean([run.per_class[name] for run in runs])) for name in runs[0].per_class
    }
    if np.isnan(runs[0].mean.value):
        return LabelAuc(mean=None, per_class=labels)
    whole = summary([run.mean for run in runs], ddof=ddof)
    return LabelAuc(
        mean=whole.mean, sd=whole.sd, runs=whole.runs, ci95=whole.ci95, per_class=labels
    )


def weighted_auc(
    scores: np.ndarray, same: np.ndarray, owner: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """AUC (B,) of a list in which entry i counts ``weights[b, owner[i]]`` times.

    Args:
        scores, same, owner: (n,); ``owner`` indexes the columns of ``weights``.
        weights: (B, K). Where no genuine or no impostor entry remains, the AUC is NaN.
    """
    order = np.argsort(scores, kind="stable")
    same, owner = same[order], owner[order]
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) != 0])
    rows = max(1, CHUNK // max(1, len(scores)))
    found = []
    for i in range(0, len(weights), rows):
        weight = weights[i : i + rows][:, owner]
        genuine = np.add.reduceat(weight * same, starts, axis=1)
        impostor = np.add.reduceat(weight * ~same, starts, axis=1)
        below = np.cumsum(impostor, axis=1) - impostor
        won = (genuine * (below + impostor / 2)).sum(axis=1)
        found.append(_ratio(won, genuine.sum(axis=1) * impostor.sum(axis=1)))
    return np.concatenate(found)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    undefined = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def _mean_of_defined(draws: np.ndarray) -> np.ndarray:
    """Mean over the labels of draws (labels, B) without the undefined ones."""
    defined = np.isfinite(draws)
    return _ratio(np.where(defined, draws, 0).sum(axis=0), defined.sum(axis=0))
