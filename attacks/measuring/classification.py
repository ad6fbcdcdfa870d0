"""What a classifier is worth on images of known findings: AUC, told apart by label, calibration."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from anonymize.statistics import Measured, MeasuredLabels, measure_classification

BINS = 15  # Guo et al. 2017
DECIMALS = 6  # of a calibration error, whose last digits depend on how a processor adds up
ALL, TOLD, HELD_BACK, ECE = "all", "told", "held_back", "ece"
Reading = dict[str, MeasuredLabels]  # by these names


def expected_calibration_error(probabilities: np.ndarray, present: np.ndarray) -> float:
    """Mean distance between what a classifier says and what is so (ECE), in [0, 1]; 0 is perfect.

    Σ_m |B_m|/n · |present(B_m) − said(B_m)| over `BINS` equal bins B_m of the probability of a
    finding: Guo et al., "On calibration of modern neural networks", ICML 2017, Eq. 3, for the two
    classes of one finding.

    Args:
        probabilities: (n,) in [0, 1] that the finding is there.
        present: bool (n,).

    Raises:
        ValueError: no images, shapes that differ, or values outside [0, 1].
    """
    said, present = np.asarray(probabilities, np.float64), np.asarray(present, bool)
    if said.shape != present.shape or said.ndim != 1 or not len(said):
        raise ValueError(
            f"probabilities and present must have one shape (n,), n > 0, got {said.shape} and "
            f"{present.shape}"
        )
    if not ((said >= 0) & (said <= 1)).all():
        raise ValueError("probabilities must lie in [0, 1]")
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    apart = np.bincount(bins, weights=said - present, minlength=BINS)
    return float(np.abs(apart).sum() / len(said))


@dataclass(frozen=True)
class Known:
    """What is there to read from the images.

    Attributes:
        targets: (n, labels): 1 present, 0 absent, NaN unknown.
        patient: (n,) codes.
        labels: names of the columns.
        held_back: those that methods were not told of.
    """

    targets: np.ndarray
    patient: np.ndarray
    labels: Sequence[str]
    held_back: Collection[str] = ()


def measure_reading(logits: np.ndarray, known: Known, *, resamplings: int, seed: int) -> Reading:
    """Every figure of one classifier's ``logits`` (n, labels).

    Returns:
        AUCs of `ALL` labels, and where some are held back of those `TOLD` and `HELD_BACK`; and
        `ECE` of the labels that have an AUC, so that both means are of the same.

    Raises:
        ValueError: as `measure_classification`.
    """

    def measured(held: bool | None = None) -> MeasuredLabels:
        columns = [
            i for i, n in enumerate(known.labels) if held is None or (n in known.held_back) == held
        ]
        return measure_classification(
            logits[:, columns],
            known.targets[:, columns],
            known.patient,
            [known.labels[i] for i in columns],
            resamplings=resamplings,
            seed=seed,
        )

    found = {ALL: measured()}
    if known.held_back:
        found |= {TOLD: measured(held=False), HELD_BACK: measured(held=True)}
    return found | {ECE: _calibration(logits, known.targets, found[ALL].per_class)}


def _calibration(logits: np.ndarray, targets: np.ndarray, aucs: dict[str, float]) -> MeasuredLabels:
    errors = dict.fromkeys(aucs, float("nan"))
    for column, (label, auc) in enumerate(aucs.items()):
        if not np.isnan(auc):
            known = ~np.isnan(targets[:, column])
            said, present = expit(logits[known, column]), targets[known, column] == 1
            errors[label] = round(expected_calibration_error(said, present), DECIMALS)
    defined = [e for e in errors.values() if not np.isnan(e)]
    mean = float(np.mean(defined)) if defined else float("nan")
    return MeasuredLabels(Measured(mean, np.zeros(0)), errors)
