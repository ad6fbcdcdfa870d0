"""How good a classifier or a verifier is on the test part: the figures of the papers, as JSON.

Intervals (``ci95``) hold 95 %; what is undefined is None.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_curve

from anonymize.statistics import Interval, measure_auc, measure_classification

THRESHOLD = 0.5
Measures = dict[str, Any]


def measure_classifier(
    logits: np.ndarray,
    targets: np.ndarray,
    patients: np.ndarray,
    labels: Sequence[str],
    *,
    resamplings: int,
    seed: int,
) -> Measures:
    """Figures of ``logits`` (n, labels) against ``targets`` (n, labels), NaN where unknown.

    ``auc`` is the mean of the AUCs of all labels that enough patients have, and lack; each is in
    ``per_class``, with the number of ``positives`` among its ``known`` images. Patients (n,) are
    resampled.
    """
    measured = measure_classification(
        logits, targets, patients, labels, resamplings=resamplings, seed=seed
    )
    known = ~np.isnan(targets)
    return {
        "auc": _defined(measured.mean.value),
        "ci95": _listed(measured.mean.interval),
        "per_class": {
            label: {
                "auc": _defined(measured.per_class[label]),
                "ci95": _listed(measured.intervals[label]),
                "positives": int((targets[known[:, i], i] == 1).sum()),
                "known": int(known[:, i].sum()),
            }
            for i, label in enumerate(labels)
        },
        "images": len(logits),
        "patients": len(np.unique(patients)),
        "resamplings": resamplings,
    }


def measure_verifier(
    scores: np.ndarray, same: np.ndarray, patients: np.ndarray, *, resamplings: int, seed: int
) -> Measures:
    """Figures of pairs of real images (Packhäuser et al. 2022, "Patient verification").

    ``scores`` (n,) are similarities in [0, 1], "the same patient" from ``THRESHOLD`` on. ``ci95``
    resamples the ``patients`` (n,) of the first images; ``ci95_pairs`` the pairs, as was published:
    too narrow, since the pairs of a patient depend on each other. ``roc`` runs from (0, 0) to
    (1, 1), without the points on a straight line. The rest is measured at the threshold;
    ``precision`` is undefined where nothing was called genuine.
    """
    draw: dict[str, Any] = {"resamplings": resamplings, "seed": seed}
    by_patient = measure_auc(scores, same, patients, **draw)
    by_pair = measure_auc(scores, same, np.arange(len(same)), **draw)
    called = scores >= THRESHOLD
    (tn, fp), (fn, tp) = confusion_matrix(same, called, labels=[False, True]).tolist()
    false_rate, true_rate, _ = roc_curve(same, scores)
    return {
        "auc": by_patient.value,
        "ci95": _listed(by_patient.interval),
        "ci95_pairs": _listed(by_pair.interval),
        "threshold": THRESHOLD,
        "accuracy": (tp + tn) / len(same),
        "specificity": tn / (tn + fp),
        "recall": tp / (tp + fn),
        "precision": tp / (tp + fp) if tp + fp else None,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "confusion": {
            "true_positive": tp,
            "false_negative": fn,
            "false_positive": fp,
            "true_negative": tn,
        },
        "roc": {
            "false_positive_rate": false_rate.tolist(),
            "true_positive_rate": true_rate.tolist(),
        },
        "pairs": len(same),
        "patients": len(np.unique(patients)),
        "resamplings": resamplings,
    }


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value


def _listed(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
