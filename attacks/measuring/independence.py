"""How much evidence pairs are: those that share a patient are not independent."""

import numpy as np

from attacks.measuring.metrics import Owners, impostor_pairs


def independent_comparisons(probes: Owners, gallery: Owners) -> int:
    """How many impostor pairs of identified patients there are, none of whom is in two of them.

    Comparisons that share a patient are not independent, so K patients give K / 2 at most, however
    many pairs of images there are. Where impostors are matched, pairs are taken greedily.
    """
    codes = np.union1d(probes.patient[probes.identified], gallery.patient[gallery.identified])
    if not probes.matched:
        # As many pairs as patients allow, one of each pair a probe's.
        asked, known = (len(np.unique(o.patient[o.identified])) for o in (probes, gallery))
        return min(asked, known, len(codes) // 2)
    free = np.ones(len(codes), bool)
    found = 0
    for row in np.flatnonzero(probes.identified):
        own = np.searchsorted(codes, probes.patient[row])
        if not free[own]:
            continue
        alike = impostor_pairs(probes[row : row + 1], gallery)[0] & gallery.identified
        others = np.searchsorted(codes, gallery.patient[alike])
        others = others[free[others]]
        if len(others):
            free[[own, others[0]]] = False
            found += 1
    return found
