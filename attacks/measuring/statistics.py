"""How sure a figure is: spread over runs, and confidence by resampling patients and runs.

Patients are drawn with replacement (`anonymize.statistics`). The pair figures take them on both
sides (`drawn_pairs`). The figures of rankings take those of the probes and leave the gallery as it
is: a drawn gallery has but 63 % of the patients, so every rank would be better than it is.

Every run of an attacker is measured with the same draws (same seed, same patients), and so is every
method: means over runs and differences of methods have intervals of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from anonymize.auc import ratio
from anonymize.statistics import (
    RESAMPLINGS,
    Measured,
    MeasuredLabels,
    draw_patients,
    effective,
    expansion,
)
from attacks.measuring.drawn_pairs import DrawnPairs
from attacks.measuring.error_rates import PairCounts
from attacks.measuring.estimates import COMPARISONS, PASSED, Estimate, LabelAuc
from attacks.measuring.independence import independent_comparisons
from attacks.measuring.metrics import Owners, check_scores
from attacks.measuring.retrieval import Retrieval, retrieve

TOP = (5, 10, 15)  # ranks of Schmahl et al. 2025
ROC = tuple(f"{rate:.3g}" for rate in np.geomspace(1e-4, 1, 25))  # false match rates


def summary(runs: Sequence[Measured]) -> Estimate:
    """Mean, deviation (divisor n, as in the published program) and interval over independent runs
    of one attacker or classifier: at least one, measured with the same draws.

    Raises ValueError: no runs, or runs of different numbers of draws."""
    if not runs:
        raise ValueError("summary needs at least one run")
    if len({len(run.draws) for run in runs}) > 1:
        raise ValueError("all runs must be measured with the same draws of patients")
    whole = mean_over_runs(runs)
    values = [run.value for run in runs]
    sd = float(np.std(values))
    return Estimate(mean=whole.value, sd=sd, runs=values, ci95=whole.interval)


def mean_of_runs(runs: Sequence[Measured]) -> Measured:
    """Mean of these very runs, measured with the same draws; at least one."""
    return Measured(
        float(np.mean([run.value for run in runs])),
        np.mean([run.draws for run in runs], axis=0),
        min(run.patients for run in runs),
        all(run.bounded for run in runs),
        all(run.rate for run in runs),
    )


def mean_over_runs(runs: Sequence[Measured]) -> Measured:
    """Mean of runs that stand for all there could be: each draw of patients draws runs, too, since
    what other seeds would give is as unknown as what other patients would.

    Runs differ by their seeds, and because each takes these patients otherwise; the latter is in
    the draws of patients, so only the variance of seeds comes on top, as in an analysis of variance
    of two random factors (Searle, Casella and McCulloch, Variance Components, 1992, chapter 4). The
    degrees of freedom of both are combined (Satterthwaite, Biometrics Bulletin 2, 1946) and stand
    in ``patients``, less one. Of few runs these are too many where the runs make most of the error:
    runs that happen to lie close together say both that the error is small and that it is well
    known. So they are drawn towards those of the runs alone, by as much as is of the runs.

    Where generators were trained with several seeds, a run is the mean of all attacks on one of
    them: it has the attackers' spread in it, so that the outer level alone is drawn (Davison and
    Hinkley, Bootstrap Methods and their Application, 1997, section 3.8).

    Where patients are so few that what raises one run lowers another, the error is still no less
    than that of the runs.
    """
    whole, n = mean_of_runs(runs), len(runs)
    values = np.array([run.value for run in runs])
    draws = np.array([run.draws for run in runs])
    between = float(values.var(ddof=1)) if n > 1 else 0.0
    if not between or not whole.patients > 1 or not np.isfinite(draws).any():
        return whole
    seeds = between - _interaction(draws) * expansion(whole.patients) ** 2
    if seeds <= 0:
        wider = max(1.0, np.sqrt(between / n) / whole.error) if whole.error else 1.0
        return replace(whole, draws=whole.value + wider * (whole.draws - whole.value))
    drawn = np.random.default_rng(n).integers(n, size=draws.shape)
    moved = (values[drawn].mean(axis=0) - whole.value) * expansion(n) * np.sqrt(seeds / between)
    of_patients, of_runs = whole.error**2, between / n
    spread = of_patients**2 / (whole.patients - 1) + of_runs**2 / (n - 1)
    # Of a difference of mean squares that may be less than of any of them.
    least = min(n, whole.patients) - 1
    freedom = max((of_patients + seeds / n) ** 2 / spread, least)
    of_seeds = seeds / n / (of_patients + seeds / n)
    patients = 1 + freedom ** (1 - of_seeds) * least**of_seeds
    away = (whole.draws - whole.value) * expansion(whole.patients) + moved
    return replace(whole, draws=whole.value + away / expansion(patients), patients=patients)


def _interaction(draws: np.ndarray) -> float:
    """Variance between runs by the patients alone: of (n, B) draws, what is left without the mean
    of each run and of each draw."""
    apart = draws - np.nanmean(draws, axis=1, keepdims=True)
    return float(np.nanmean(apart.var(axis=0, ddof=1)))


# Identification: a score matrix


def measure_identification(
    scores: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
    patients: np.ndarray | None = None,
) -> dict[str, Measured]:
    """Every figure of a score matrix (P, G) by name; `results.TITLES` lists the names.

    Args:
        patients: codes of all who are drawn, ascending, so that who withholds some is measured with
            the draws of who does not; None: those of the images.

    Raises:
        ValueError: wrong shape, NaN, or no genuine or impostor pairs.
    """
    check_scores(scores, probes, gallery)
    codes = np.union1d(probes.patient, gallery.patient) if patients is None else patients
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    pairs = DrawnPairs(scores, probes, gallery, codes)
    found = pairs.figures(weights)
    found |= roc_figures(pairs.counts, independent_comparisons(probes, gallery))
    everybody = None if probes.matched else background(gallery)
    ranks = retrieve(scores, probes, gallery)
    return found | retrieval_figures(ranks, codes, weights, everybody)


def roc_figures(counts: PairCounts, independent: int) -> dict[str, Measured]:
    """The true match rate at each of `ROC`, and the number of independent comparisons, by name."""
    found = {COMPARISONS: independent}
    rates = [float(rate) for rate in ROC]
    found |= {
        f"{PASSED}|{name}": 1 - missed
        for name, missed in zip(ROC, counts.non_match_rates(np.array(rates)), strict=True)
    }
    return {name: Measured(float(value), np.zeros(0)) for name, value in found.items()}


def background(gallery: Owners) -> np.ndarray:
    """Codes of the patients whom an adversary knows, ascending."""
    return np.unique(gallery.patient[gallery.identified])


def retrieval_figures(
    retrieval: Retrieval,
    codes: np.ndarray,
    weights: np.ndarray,
    everybody: np.ndarray | None = None,
) -> dict[str, Measured]:
    """Every figure of the ranks by name.

    Args:
        codes: (K,) patient codes, ascending, with those of the probes.
        weights: (B, K), how often a draw takes each patient.
        everybody: patients of the gallery, for ``r_s_all``; None: it is not wanted.
    """
    asked = np.searchsorted(codes, retrieval.patient)
    patient, vulnerable = retrieval.vulnerable()
    found = {
        "precision_at_1": mean_of(retrieval.within(1), asked, weights),
        "map_at_r": mean_of(retrieval.average_precisions_at_r(), asked, weights),
        "r_precision": mean_of(retrieval.r_precisions(), asked, weights),
    }
    if retrieval.several:
        assert retrieval.coin is not None
        found["precision_at_1_coin"] = mean_of(retrieval.coin, asked, weights)
        assert retrieval.coin_shows is not None
        given_away = np.searchsorted(codes, patient)
        found["r_s_coin"] = mean_of(retrieval.coin_shows, given_away, weights)
    for k in TOP:
        found[f"top_{k}"] = mean_of(retrieval.within(k), asked, weights)
    found["r_s"] = mean_of(vulnerable, np.searchsorted(codes, patient), weights)
    if everybody is not None:
        linked = np.isin(everybody, patient[vulnerable])
        found["r_s_all"] = mean_of(linked, np.searchsorted(codes, everybody), weights)
    return found


def estimate_identification(runs: Sequence[Mapping[str, Measured]]) -> dict[str, Estimate]:
    """`summary` of every figure that all runs measured; what `results.Attack.of` takes."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: summary([run[name] for run in runs]) for name in names}


def mean_of(values: np.ndarray, patient: np.ndarray, weights: np.ndarray) -> Measured:
    """Mean of ``values`` in [0, 1], and over the draws; ``patient`` indexes the columns of
    ``weights``."""
    patients = weights.shape[1]
    total = np.bincount(patient, weights=values, minlength=patients)
    number = np.bincount(patient, minlength=patients)
    draws = ratio(weights @ total, weights @ number)
    return Measured(float(np.mean(values)), draws, effective(number), rate=True)


# Lists: classification


def estimate_classification(runs: Sequence[MeasuredLabels]) -> LabelAuc:
    """`summary` over the runs; labels without an AUC stay without."""
    labels = {
        name: float(np.mean([run.per_class[name] for run in runs])) for name in runs[0].per_class
    }
    if np.isnan(runs[0].mean.value):
        return LabelAuc(mean=None, per_class=labels)
    whole = summary([run.mean for run in runs])
    return LabelAuc(**whole.model_dump(exclude={"ddof"}), per_class=labels)
