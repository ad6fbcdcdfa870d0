"""How probable it is that nobody of N − 1 strangers comes before a patient.

Up to the people who were measured it is exact: which of them are in the gallery is drawn without
replacement. Beyond, each stranger is more alike with the probability of a fitted tail.

Several probes of a patient meet the same strangers. Where these are independent of each other, who
is not beaten by them in one probe is the less likely to be in another (Harris, Proceedings of the
Cambridge Philosophical Society 56, 1960): as if each probe met strangers of its own is the most
that they link together, and the best alone is the least. Of a number that is drawn without
replacement that does not hold, so probes are counted together there.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from attacks.measuring.crowd import Crowd

TOGETHER = 10  # probes of a patient whose strangers are counted together


def unbeaten(people: np.ndarray, ahead: np.ndarray, drawn: int) -> np.ndarray:
    """(Q,) probability that of ``people``, ``drawn`` at random without replacement, nobody is one
    of the ``ahead``: C(people − ahead, drawn) / C(people, drawn). Who is not there is not drawn."""
    people, ahead = (np.asarray(a, np.float64) for a in (people, ahead))
    drawn_of = np.minimum(drawn, people)
    left = people - ahead - drawn_of
    logarithm = (
        gammaln(people - ahead + 1)
        + gammaln(people - drawn_of + 1)
        - gammaln(np.maximum(left, 0) + 1)
        - gammaln(people + 1)
    )
    return np.where(ahead == 0, 1.0, np.where(left < 0, 0.0, np.exp(logarithm)))


def beyond(probability: np.ndarray, drawn: int) -> np.ndarray:
    """(Q,) the same of independent strangers who are ahead with the probabilities (Q,)."""
    with np.errstate(divide="ignore"):
        return np.exp(drawn * np.log1p(-probability))


def linked_exactly(crowd: Crowd, drawn: int) -> np.ndarray:
    """(K,) probability that a probe of each patient finds her among ``drawn`` of the strangers, by
    inclusion and exclusion; patients by rising code. Of more than ``TOGETHER`` probes the others
    are added (Boole's inequality), so that it is no less than the truth."""
    alone = unbeaten(crowd.people, crowd.ahead, drawn)
    found = []
    for rows in _grouped(crowd.patient):
        rows = rows[np.argsort(crowd.ahead[rows], kind="stable")]
        first, others = rows[:TOGETHER], rows[TOGETHER:]
        together = alone[first].sum() if len(first) < 2 else _union(crowd, first, drawn)
        found.append(together + alone[others].sum())
    return np.clip(found, 0, 1)


def _union(crowd: Crowd, rows: np.ndarray, drawn: int) -> float:
    """Probability that one of these probes is unbeaten."""
    people = np.zeros((1, crowd.who.shape[1]), bool)
    signs = np.array([-1.0])
    for row in rows:
        people = np.concatenate([people, people | crowd.who[row]])
        signs = np.concatenate([signs, -signs])
    each = unbeaten(np.full(len(people), crowd.people[rows].max()), people.sum(axis=1), drawn)
    return float((signs * each)[1:].sum())


def linked_at_most(alone: np.ndarray, patient: np.ndarray) -> np.ndarray:
    """(K,) that one of each patient's probes (Q,) is unbeaten, as if they were independent."""
    order, starts = _by_patient(patient)
    return 1 - np.multiply.reduceat(1 - alone[order], starts)


def linked_at_least(alone: np.ndarray, patient: np.ndarray) -> np.ndarray:
    """(K,) the probability of each patient's best probe."""
    order, starts = _by_patient(patient)
    return np.maximum.reduceat(alone[order], starts)


def linked_by_some(linked: np.ndarray, patient: np.ndarray, probes: int) -> np.ndarray:
    """(K,) of the patients who have ``probes`` or more: the probability that a random choice of so
    many holds one that links, of probes (Q,) that do or do not."""
    found = []
    for rows in _grouped(patient):
        if len(rows) >= probes:
            hits = int(np.count_nonzero(linked[rows]))
            found.append(1 - float(unbeaten(np.array(len(rows)), np.array(hits), probes)))
    return np.array(found)


def _by_patient(patient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows by rising code, and where each patient's begin."""
    order = np.argsort(patient, kind="stable")
    return order, np.flatnonzero(np.r_[True, np.diff(patient[order]) > 0])


def _grouped(patient: np.ndarray) -> Iterator[np.ndarray]:
    """The rows of each patient, by rising code."""
    order, starts = _by_patient(patient)
    yield from np.split(order, starts[1:])
