"""Outputs of several people as the trials that they are."""

import numpy as np

from anonymize.statistics import Measured, draw_patients
from attacks.measuring.metrics import Owners, genuine_places
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
    for n in np.lexsort((np.arange(len(probes)), ~probes.identified)):
        rows = kept.setdefault(probes.contributors.image[n].tobytes(), [])
        if not any(np.allclose(scores[n], scores[k], rtol=0, atol=nearly) for k in rows):
            rows.append(n)
    first = np.sort(np.concatenate(list(kept.values())))
    return scores[first], probes[first]


def own_guesses(
    scores: np.ndarray, probes: Owners, gallery: Owners, **drawn: int
) -> dict[str, Measured]:
    """How often the best match of an image's output is another image of this very patient, of those
    who have one; nothing where nobody has, or outputs are of one person.

    Args:
        scores: (P, G), a row for each image, whichever output stands for it.
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
    codes = np.union1d(probes.patient, gallery.patient)
    asked, weights = np.searchsorted(codes, ranks.patient), draw_patients(len(codes), **drawn)
    return {"precision_at_1_own": mean_of(ranks.first_is_own, asked, weights)}
