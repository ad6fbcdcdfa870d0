"""How well an attacker links released images to real ones whose patients are known."""

from dataclasses import replace

import numpy as np

from attacks.linkage.album import Album
from attacks.linkage.both_readings import BothReadings
from attacks.linkage.matching import Matcher
from attacks.linkage.ranking import Ranking, pictures
from attacks.linkage.whose import Whose, rows_named


def by_names(released: Album, real: Album) -> Whose:
    """Files of one name are the same image, unless they are said to show different patients."""
    original = rows_named(real, released.names.tolist())
    known = released.identified & real.identified[original]
    others = known & (released.patients != real.patients[original])
    return Whose(released, real, np.where(others, -1, original))


def named_after(released: Album, real: Album) -> Album:
    """``released`` with the patients of the real files of the same name, where it has none itself.

    `anonymize apply` keeps names unless it is told otherwise. This serves the figures: what is
    released for others to link must not have such names.
    """
    if released.identified.any():
        return released
    original = by_names(released, real).original
    frame = released.table.frame.assign(
        patient_id=np.where(original >= 0, real.patients[original], released.names),
        identified=(original >= 0) & real.identified[original],
    )
    return replace(released, table=released.table.with_frame(frame))


def link_figures(matcher: Matcher, released: Album, real: Album) -> BothReadings | None:
    """What `attacks evaluate` measures, an image never compared with its own original; None where
    no patient of ``released`` is known to be in ``real``."""
    known = by_names(released, real)
    sets = pictures(released), pictures(real)
    try:
        return BothReadings.of(matcher, sets, known.without_originals(), known.matched_by)
    except ValueError:  # no genuine pairs, or nothing but them
        return None


def originals_first(ranking: Ranking) -> float | None:
    """Share of the probes whose original is in the gallery and is ranked first; None where no
    original is there."""
    original = by_names(ranking.probes, ranking.gallery).original
    present = original >= 0
    if not present.any():
        return None
    return float((ranking.columns[:, 0] == original)[present].mean())
