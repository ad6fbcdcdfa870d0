"""The second reading of every figure: among images of the same findings, sex, age and view.

The findings of a patient's images agree more often than those of two patients, so a release that
keeps findings links by them alone, however well it hides who it is. Where genuine pairs and
impostors are matched this tells nothing: an attacker that only reads findings has an AUC of 0.5.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from anonymize.data.table import Table
from anonymize.statistics import Measured
from attacks.measuring.estimates import Estimate, Matched
from attacks.measuring.metrics import (
    Covariates,
    Owners,
    check_scores,
    genuine_places,
    impostor_scores,
)
from attacks.measuring.statistics import measure_identification

PREFIX = "matched|"
PAIRS = ("genuine_pairs", "impostor_pairs")


def covariates_of(table: Table) -> Covariates:
    """Of every row of a table; findings of which only some are known are a set of their own."""
    frame = table.frame
    labels = frame[list(table.labels)].to_numpy(float)
    known = np.where(np.isnan(labels), -1, labels)
    findings = np.unique(known, axis=0, return_inverse=True)[1] if table.labels else 0 * frame.index
    return Covariates(
        findings=np.asarray(findings, np.int64).reshape(-1),
        sex=codes_of(frame["sex"], ("F", "M")),
        view=codes_of(frame["view"], ("AP", "PA")),
        age=frame["age"].to_numpy(float),
    )


def matched_by(table: Table) -> tuple[str, ...]:
    """What is known of the images to match impostors by: of "findings", "sex", "age" and "view"."""
    frame = table.frame
    known = {
        "findings": bool(table.labels),
        "sex": frame["sex"].ne("").any(),
        "age": frame["age"].notna().any(),
        "view": frame["view"].ne("").any(),
    }
    return tuple(name for name, any_known in known.items() if any_known)


def measure_matched(
    scores: np.ndarray, probes: Owners, gallery: Owners, **drawn: int
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


def split_matched(estimates: Mapping[str, Estimate]) -> tuple[dict[str, Estimate], Matched | None]:
    """Estimates without those of :func:`measure_matched`, and these as a part of results.json;
    None where no pairs match."""
    others = {n: e for n, e in estimates.items() if not n.startswith(PREFIX)}
    own = {n.removeprefix(PREFIX): e for n, e in estimates.items() if n.startswith(PREFIX)}
    if not own:
        return others, None
    pairs = {name: round(own.pop(name).mean) for name in PAIRS}
    return others, Matched.of(own, **pairs)


def codes_of(values: pd.Series, names: tuple[str, ...]) -> np.ndarray:
    """int64 (N,): the place of each value among the names, −1 where it is none of them."""
    return pd.Index(names).get_indexer(values).astype(np.int64)
