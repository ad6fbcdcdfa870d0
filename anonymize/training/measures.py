"""How good a classifier or a verifier is on the test part: the figures of the papers, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict
from sklearn.metrics import confusion_matrix, roc_curve

from anonymize.statistics import (
    Interval,
    measure_auc,
    measure_classification,
    percentile_interval,
)

THRESHOLD = 0.5


class Record(BaseModel):
    """Base of what is written as JSON; an undefined figure is null."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Auc(Record):
    """An AUC with its 95 % interval by resampling patients; ``positives`` of ``known`` images."""

    auc: float | None
    ci95: Interval | None
    positives: int
    known: int


class ClassifierTest(Record):
    """A classifier on images: mean of the AUCs of all labels that have both values, and each."""

    auc: float | None
    ci95: Interval | None
    per_class: dict[str, Auc]
    images: int
    patients: int
    resamplings: int


class Confusion(Record):
    """Pairs by what they are and by what the verifier says at the threshold."""

    true_positive: int
    false_negative: int
    false_positive: int
    true_negative: int


class Curve(Record):
    """The ROC curve from (0, 0) to (1, 1); points on a straight line are left out."""

    false_positive_rate: list[float]
    true_positive_rate: list[float]


class VerifierTest(Record):
    """A verifier on pairs of real images (Packhäuser et al. 2022, "Patient verification").

    ``ci95`` resamples the patients of the pairs' first images; ``ci95_pairs`` the pairs, as was
    published: too narrow, since the pairs of a patient depend on each other. The other figures
    are those at ``threshold``; precision is null where nothing was called genuine. ``patients``
    counts those of the first images.
    """

    auc: float
    ci95: Interval | None
    ci95_pairs: Interval | None
    threshold: float
    accuracy: float
    specificity: float
    recall: float
    precision: float | None
    f1: float
    confusion: Confusion
    roc: Curve
    pairs: int
    patients: int
    resamplings: int


def measure_classifier(
    logits: np.ndarray,
    targets: np.ndarray,
    patients: np.ndarray,
    labels: Sequence[str],
    *,
    resamplings: int,
    seed: int,
) -> ClassifierTest:
    """Figures of ``logits`` (n, labels) against ``targets`` (n, labels), NaN where unknown.

    Args:
        patients: (n,) codes; they are what is resampled.
    """
    measured = measure_classification(
        logits, targets, patients, labels, resamplings=resamplings, seed=seed
    )
    known = ~np.isnan(targets)
    return ClassifierTest(
        auc=_defined(measured.mean.value),
        ci95=percentile_interval(measured.mean.draws),
        per_class={
            label: Auc(
                auc=_defined(measured.per_class[label]),
                ci95=measured.intervals[label],
                positives=int((targets[known[:, i], i] == 1).sum()),
                known=int(known[:, i].sum()),
            )
            for i, label in enumerate(labels)
        },
        images=len(logits),
        patients=len(np.unique(patients)),
        resamplings=resamplings,
    )


def measure_verifier(
    scores: np.ndarray,
    same: np.ndarray,
    patients: np.ndarray,
    *,
    resamplings: int,
    seed: int,
    threshold: float = THRESHOLD,
) -> VerifierTest:
    """Figures of pairs.

    Args:
        scores: (n,) similarity in [0, 1]; "the same patient" from ``threshold`` on.
        same: bool (n,), both values.
        patients: (n,) codes of the first images' patients.
    """
    draw: dict[str, Any] = {"resamplings": resamplings, "seed": seed}
    by_patient = measure_auc(scores, same, patients, **draw)
    by_pair = measure_auc(scores, same, np.arange(len(same)), **draw)
    called = scores >= threshold
    (tn, fp), (fn, tp) = confusion_matrix(same, called, labels=[False, True]).tolist()
    false_rate, true_rate, _ = roc_curve(same, scores)
    return VerifierTest(
        auc=by_patient.value,
        ci95=percentile_interval(by_patient.draws),
        ci95_pairs=percentile_interval(by_pair.draws),
        threshold=threshold,
        accuracy=(tp + tn) / len(same),
        specificity=tn / (tn + fp),
        recall=tp / (tp + fn),
        precision=tp / (tp + fp) if tp + fp else None,
        f1=2 * tp / (2 * tp + fp + fn),
        confusion=Confusion(
            true_positive=tp, false_negative=fn, false_positive=fp, true_negative=tn
        ),
        roc=Curve(false_positive_rate=false_rate.tolist(), true_positive_rate=true_rate.tolist()),
        pairs=len(same),
        patients=len(np.unique(patients)),
        resamplings=resamplings,
    )


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
