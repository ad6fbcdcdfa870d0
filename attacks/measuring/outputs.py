"""Outputs of several people as the trials that they are."""

from dataclasses import replace
from functools import reduce

import numpy as np

from anonymize.statistics import Measured, draw_patients
from attacks.measuring.metrics import Contributors, Owners, genuine_places
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import mean_of

ROUNDING = 1e-4  # of the scores' deviation: another patient's rows differ by a thousand times that


def each_once(scores: np.ndarray, probes: Owners) -> tuple[np.ndarray, Owners]:
    """The rows of a score matrix (P, G), and their owners, with every output once.

    An output of several people stands in a row for each of their images, and would count as so many
    independent ones. It is kept for the first identified patient whom it stands for. Rows that are
    told apart, as those of a patient's outputs taken together, all stay; not those that are so by
    rounding, since last bits depend on what else is computed beside them.
    """
    if probes.contributors is None:
        return scores, probes
    nearly = ROUNDING * float(np.std(scores, where=np.isfinite(scores)))
    kept: dict[bytes, list[int]] = {}
    went_in = np.hstack([*vars(probes.contributors).values()])
    for n in np.lexsort((np.arange(len(probes)), ~probes.identified)):
        rows = kept.setdefault(went_in[n].tobytes(), [])
        if not any(np.allclose(scores[n], scores[k], rtol=0, atol=nearly) for k in rows):
            rows.append(n)
    first = np.sort(np.concatenate(list(kept.values())))
    return scores[first], probes[first]


def of_patients(
    scores: np.ndarray, probes: Owners, gallery: Owners
) -> tuple[np.ndarray, Owners, Owners]:
    """A score matrix (P, G) in which all that shows a patient was taken together, and the owners:
    one row for each image. Its contributors are who is in all outputs that show its patient, since
    these are told apart by nobody else, and the images that are in all of them."""
    (asked, own), (known, others) = (_together(owners) for owners in (probes, gallery))
    return scores[np.ix_(asked, known)], own, others


def _together(owners: Owners) -> tuple[np.ndarray, Owners]:
    first = np.sort(np.unique(owners.image, return_index=True)[1])
    own = owners[first]
    if owners.contributors is None or own.contributors is None:
        return first, own
    each = owners.contributors[np.unique(owners.output, return_index=True)[1]]
    shown = {
        patient: [_in_all(of[(each.patient == patient).any(axis=1)]) for of in vars(each).values()]
        for patient in np.unique(own.patient[own.identified]).tolist()
    }
    alone = zip(*vars(own.contributors).values(), strict=True)
    rows = [
        shown[patient] if known else one
        for patient, known, one in zip(own.patient.tolist(), own.identified, alone, strict=True)
    ]
    return first, replace(own, contributors=Contributors(*map(np.stack, zip(*rows, strict=True))))


def _in_all(rows: np.ndarray) -> np.ndarray:
    """(C,) codes that stand in each of the ``rows`` (n, C), and −1."""
    found = reduce(np.intersect1d, rows)
    found = found[found >= 0]
    return np.r_[found, np.full(rows.shape[1] - len(found), -1)]


def own_guesses(
    scores: np.ndarray,
    probes: Owners,
    gallery: Owners,
    *,
    patients: np.ndarray,
    **drawn: int,
) -> dict[str, Measured]:
    """How often the best match of an image's output is another image of this very patient, of those
    who have one; nothing where nobody has, or outputs are of one person.

    Args:
        scores: (P, G), a row for each image, whichever output stands for it.
        patients: as `statistics.measure_identification` has it.
    """
    if probes.contributors is None:
        return {}
    row, column = genuine_places(probes, gallery)
    rows = np.unique(row[probes.patient[row] == gallery.patient[column]])
    if not len(rows):
        return {}
    try:
        ranks = retrieve(scores[rows], probes[rows], gallery)
    except ValueError:  # nobody else is alike
        return {}
    asked = np.searchsorted(patients, ranks.patient)
    weights = draw_patients(len(patients), **drawn)
    return {"precision_at_1_own": mean_of(ranks.first_is_own, asked, weights)}
