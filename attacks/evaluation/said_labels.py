"""Whom the labels of a release tell, that a method says of its outputs."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from anonymize.statistics import Measured
from attacks.measuring.matching import PREFIX, measure_matched
from attacks.measuring.metrics import Owners
from attacks.measuring.statistics import measure_identification


def labels_linked(
    labels: np.ndarray, logits: np.ndarray, probes: Owners, gallery: Owners, **drawn: int
) -> Measured:
    """Pair AUC of who compares the labels of outputs with what a classifier reads in real images
    of known people, and looks at no output: against matched impostors, where there are any.

    Args:
        labels: (N, L) of the outputs; what is not known of an output is as in the mean
            of the others.
        logits: (G, L) of the real images.
        drawn: of :func:`measure_identification`.
    """
    said = ~np.isnan(labels).all(axis=0)
    labels, read = labels[:, said], expit(logits[:, said])
    known = np.where(np.isnan(labels), np.nanmean(labels, axis=0), labels)
    scores = -cdist(known, read, "cityblock").astype(np.float32)
    matched = measure_matched(scores, probes, gallery, **drawn).get(PREFIX + "auc")
    return matched or measure_identification(scores, probes, gallery, **drawn)["auc"]
