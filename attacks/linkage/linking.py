"""How well an attacker links released images to real ones whose patients are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from attacks.linkage.album import Album
from attacks.linkage.matching import Matcher
from attacks.linkage.ranking import Ranking, pictures
from attacks.measuring.estimates import Estimate
from attacks.measuring.metrics import Owners
from attacks.measuring.statistics import estimate_identification


def named_after(released: Album, real: Album) -> Album:
    """``released`` with the patients of the real files of the same name, where it has none itself.

    `anonymize apply` keeps names unless it is told otherwise. This serves the figures: what is
    released for others to link must not have such names.
    """
    if released.identified.any():
        return released
    row_of = {name: row for row, name in enumerate(_files(real))}
    rows = np.array([row_of.get(name, -1) for name in _files(released)])
    frame = released.table.frame.assign(
        patient_id=np.where(rows >= 0, real.patients[rows], released.names),
        identified=(rows >= 0) & real.identified[rows],
    )
    return replace(released, table=released.table.with_frame(frame))


def owners(released: Album, real: Album) -> tuple[Owners, Owners]:
    """Whose images these are; files of one name are the same image."""
    count = len(released)
    files = np.concatenate([_files(released), _files(real)])
    who = np.concatenate([_people(album, kind) for album, kind in ((released, "a"), (real, "b"))])
    known = np.concatenate([released.identified, real.identified])
    image, patient = (np.unique(names, return_inverse=True)[1] for names in (files, who))
    both = Owners(image, patient, known)
    return both[np.arange(count)], both[np.arange(count, len(files))]


def link_figures(
    matcher: Matcher, released: Album, real: Album, *, resamplings: int, seed: int
) -> dict[str, Estimate] | None:
    """What `attacks evaluate` measures, an image never compared with its own original; None where
    no patient of ``released`` is known to be in ``real``."""
    try:
        found = matcher.measure(
            pictures(released),
            pictures(real),
            owners(released, real),
            resamplings=resamplings,
            seed=seed,
        )
    except ValueError:  # no genuine pairs, or nothing but them
        return None
    return estimate_identification([found])


def originals_first(ranking: Ranking) -> float | None:
    """Share of the probes whose original is in the gallery and is ranked first; None where no
    original is there."""
    probes, gallery = owners(ranking.probes, ranking.gallery)
    present = np.isin(probes.image, gallery.image)
    if not present.any():
        return None
    first = gallery.image[ranking.columns[:, 0]] == probes.image
    return float(first[present].mean())


def _files(album: Album) -> np.ndarray:
    """Names of the files without folders, if they are different; else with them."""
    names = np.array([PurePosixPath(name).name for name in album.names.tolist()])
    return names if len(np.unique(names)) == len(names) else album.names


def _people(album: Album, kind: str) -> np.ndarray:
    """Equal text for images of one patient, in both collections."""
    unknown = np.char.add(f"{kind}/", album.people.astype(str))
    return np.where(album.identified, np.char.add("id/", album.patients), unknown)
