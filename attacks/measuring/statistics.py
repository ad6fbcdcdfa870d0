"""How sure a figure is: spread over runs, and confidence by resampling patients.

The patients of the probes are drawn with replacement (`anonymize.statistics`), and all scores of
a patient's probes come along. The gallery stays as it is.

Every run of an attacker is measured with the same draws (same seed, same patients), so that the
mean over the runs has its interval too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.statistics import (
    RESAMPLINGS,
    Measured,
    MeasuredLabels,
    draw_patients,
    percentile_interval,
    ratio,
)
from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.measuring.metrics import (
    Owners,
    PairCounts,
    check_scores,
    count_below,
    genuine_scores,
    impostor_pairs,
)
from attacks.measuring.retrieval import Retrieval, retrieve

TOP = (5, 10, 15)  # ranks of Schmahl et al. 2025


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
        "auc_patient": wins.one_pair_a_patient(weights),
        "equal_error_rate": Measured(counts.equal_error_rate, np.zeros(0)),
    }
    return found | retrieval_figures(retrieve(scores, probes, gallery), codes, weights)


def retrieval_figures(
    retrieval: Retrieval, codes: np.ndarray, weights: np.ndarray
) -> dict[str, Measured]:
    """Every figure of the ranks by name.

    Args:
        codes: (K,) patient codes, ascending, with those of the probes.
        weights: (B, K), how often a draw takes each patient.
    """
    asked = np.searchsorted(codes, retrieval.patient)
    patient, vulnerable = retrieval.vulnerable()
    found = {
        "precision_at_1": mean_of(retrieval.within(1), asked, weights),
        "map_at_r": mean_of(retrieval.average_precisions_at_r(), asked, weights),
        "r_precision": mean_of(retrieval.r_precisions(), asked, weights),
    }
    for k in TOP:
        found[f"top_{k}"] = mean_of(retrieval.within(k), asked, weights)
    return found | {"r_s": mean_of(vulnerable, np.searchsorted(codes, patient), weights)}


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

    def one_pair_a_patient(self, weights: np.ndarray) -> Measured:
        """The pair AUC expected if one genuine pair of each patient is drawn."""
        even = replace(
            self, wins=self.wins / self.genuine[:, None], genuine=np.ones(len(self.genuine))
        )
        every = np.ones((1, len(self.impostors)))
        return Measured(float(even.draws(every)[0]), even.draws(weights))

    def draws(self, weights: np.ndarray) -> np.ndarray:
        """(B,) the pair AUC of patients drawn ``weights`` (B, K) times."""
        mine = weights[:, self.with_genuine]
        won = ((mine @ self.wins) * weights).sum(axis=1)
        return ratio(won, (mine @ self.genuine) * (weights @ self.impostors))


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


def mean_of(values: np.ndarray, patient: np.ndarray, weights: np.ndarray) -> Measured:
    """Mean of ``values``, and over the draws; ``patient`` indexes the columns of ``weights``."""
    patients = weights.shape[1]
    total = np.bincount(patient, weights=values, minlength=patients)
    number = np.bincount(patient, minlength=patients)
    return Measured(float(np.mean(values)), ratio(weights @ total, weights @ number))


# Lists: classification


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
