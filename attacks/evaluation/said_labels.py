"""Whom the labels of a release tell, that a method says of its outputs."""

from typing import Any

import numpy as np

from anonymize.statistics import Measured
from attacks.attackers.labels import labels_alike
from attacks.measuring.matching import PREFIX, measure_matched
from attacks.measuring.metrics import Owners
from attacks.measuring.outputs import each_once
from attacks.measuring.statistics import measure_identification


def labels_linked(
    labels: np.ndarray, logits: np.ndarray, probes: Owners, gallery: Owners, **drawn: Any
) -> Measured:
    """Pair AUC of :func:`labels_alike`: against matched impostors, where there are any.

    Args:
        labels: (N, L) of the outputs.
        logits: (G, L) of a classifier in real images of known people.
        drawn: of :func:`measure_identification`.
    """
    scores, probes = each_once(labels_alike(labels, logits), probes)
    matched = measure_matched(scores, probes, gallery, **drawn).get(PREFIX + "auc")
    return matched or measure_identification(scores, probes, gallery, **drawn)["auc"]
