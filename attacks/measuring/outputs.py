"""Outputs of several people as the trials that they are."""

import numpy as np

from attacks.measuring.metrics import Owners


def each_once(scores: np.ndarray, probes: Owners) -> tuple[np.ndarray, Owners]:
    """The rows of a score matrix (P, G), and their owners, with every output once.

    An output of several people stands in a row for each of their images, and would count as so many
    independent ones. It is kept for the first identified patient whom it stands for. Rows that are
    told apart, as those of a patient's outputs taken together, all stay.
    """
    if probes.contributors is None:
        return scores, probes
    made_of = probes.contributors.image
    last_wins = np.lexsort((-np.arange(len(probes)), probes.identified))
    rows = {(made_of[n].tobytes(), scores[n].tobytes()): n for n in last_wins}
    first = np.sort(np.fromiter(rows.values(), np.int64))
    return scores[first], probes[first]
