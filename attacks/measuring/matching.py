"""The second reading of every figure: among images of the same findings, sex, age and view.

The findings of a patient's images agree more often than those of two patients, so a release that
keeps findings links by them alone, however well it hides who it is. Where genuine pairs and
impostors are matched this tells nothing: an attacker that only reads findings has an AUC of 0.5.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from anonymize.statistics import Measured
from attacks.measuring.breakdown import split_breakdown
from attacks.measuring.estimates import Estimate, Matched
from attacks.measuring.metrics import (
    Owners,
    check_scores,
    genuine_places,
    impostor_scores,
)
from attacks.measuring.statistics import measure_identification

PREFIX = "matched|"
PAIRS = ("genuine_pairs", "impostor_pairs")


def measure_matched(
    scores: np.ndarray, probes: Owners, gallery: Owners, **drawn: Any
) -> dict[str, Measured]:
    """`statistics.measure_identification` of matched pairs, each name behind ``PREFIX``; nothing
    where no probe has both a genuine image and an impostor that are matched.

    Raises ValueError: wrong shape, NaN, owners without covariates."""
    check_scores(scores, probes, gallery)
    probes, gallery = probes.matching, gallery.matching
    try:
        found = measure_identification(scores, probes, gallery, **drawn)
    except ValueError:
        return {}
    genuine = len(genuine_places(probes, gallery)[0])
    impostors = sum(len(block) for block in impostor_scores(scores, probes, gallery))
    for name, count in zip(PAIRS, (genuine, impostors), strict=True):
        found[name] = Measured(count, np.zeros(0))
    return {PREFIX + name: measured for name, measured in found.items()}


def headline_auc(scores: np.ndarray, probes: Owners, gallery: Owners, **drawn: Any) -> Measured:
    """Pair AUC against matched impostors where there are any, else against all; as
    :func:`measure_matched`. Raises ValueError: no genuine pair, or no impostor."""
    matched = measure_matched(scores, probes, gallery, **drawn).get(PREFIX + "auc")
    return matched or measure_identification(scores, probes, gallery, **drawn)["auc"]


def split_matched(
    estimates: Mapping[str, Estimate], false_match_rate: float = 0.0
) -> tuple[dict[str, Estimate], Matched | None]:
    """Estimates without those of :func:`measure_matched`, and these as a part of results.json, with
    `breakdown.measure_breakdown` of them at ``false_match_rate``; None where no pairs match."""
    others = {n: e for n, e in estimates.items() if not n.startswith(PREFIX)}
    own = {n.removeprefix(PREFIX): e for n, e in estimates.items() if n.startswith(PREFIX)}
    if not own:
        return others, None
    pairs = {name: round(own.pop(name).mean) for name in PAIRS}
    own, breakdown = split_breakdown(own, false_match_rate)
    return others, Matched.of(own, breakdown=breakdown, **pairs)
