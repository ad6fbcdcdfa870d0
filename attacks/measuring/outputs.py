"""Outputs of several people as the trials that they are."""

import numpy as np

from attacks.measuring.metrics import Owners

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
