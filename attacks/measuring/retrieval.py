"""How well scores rank the images of a patient first: exact, numpy only."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attacks.measuring.metrics import (
    Owners,
    blocks,
    check_scores,
    genuine_pairs,
    impostor_pairs,
    known_people,
    of_several,
)


@dataclass(frozen=True)
class Retrieval:
    """Where the genuine gallery images of each counted probe stand in its ranking.

    A probe is counted where it is identified, has R ≥ 1 genuine gallery images and an impostor.
    Its ranking holds the genuine and impostor images by falling score; on a tie the smaller gallery
    index comes first.

    Attributes:
        patient: (Q,) patient code of each counted probe.
        ranks: Q ascending int64 arrays of length R, 1 = most alike.
        first: Q arrays, codes of the probe's people whom the genuine image that ranks first shows;
            None: its own patient's.
        shown: patient codes of all genuine images, ascending; None: those of the probes.
        several: probes were made of several people's images, any of whom is genuine.
        coin: (Q,) share of genuine images in the ranking: how often a random guess is right.
        coin_shows: (K,) how likely random guesses, one a probe, name each patient in ``shown``.
    """

    patient: np.ndarray
    ranks: tuple[np.ndarray, ...]
    first: tuple[np.ndarray, ...] | None = None
    shown: np.ndarray | None = None
    several: bool = False
    coin: np.ndarray | None = None
    coin_shows: np.ndarray | None = None

    def within(self, k: int) -> np.ndarray:
        """bool (Q,): a genuine image among the first k. k = 1: the nearest neighbour is genuine."""
        return np.array([r[0] <= k for r in self.ranks], bool)

    @property
    def first_is_own(self) -> np.ndarray:
        """bool (Q,): the nearest neighbour is an image of the probe's own patient."""
        if self.first is None:
            return self.within(1)
        own = [p in first for p, first in zip(self.patient, self.first, strict=True)]
        return self.within(1) & own

    def r_precisions(self) -> np.ndarray:
        """(Q,) genuine share of the first R (Manning et al. 2008, section 8.4)."""
        return np.array([np.count_nonzero(r <= len(r)) / len(r) for r in self.ranks])

    def average_precisions_at_r(self) -> np.ndarray:
        """(Q,) (1/R) Σ_{i ≤ R} precision(i) · [i is genuine] (Musgrave et al. 2020, eq. 4)."""
        return np.array(
            [(np.arange(1, len(r) + 1) / r)[r <= len(r)].sum() / len(r) for r in self.ranks]
        )

    def vulnerable(self) -> tuple[np.ndarray, np.ndarray]:
        """Patient codes (K,) and bool (K,): another image of the patient is the nearest neighbour
        of some probe that shows her.

        The mean is R_s, the linkage risk of a patient known to be in the gallery.
        """
        named = self.patient[:, None] if self.first is None else self.first
        code = np.unique(self.patient) if self.shown is None else self.shown
        right = [named[n] for n in np.flatnonzero(self.within(1))]
        return code, np.isin(code, np.concatenate([np.zeros(0, np.int64), *right]))


def retrieve(scores: np.ndarray, probes: Owners, gallery: Owners) -> Retrieval:
    """Ranks of the genuine images of every counted probe. Raises ValueError: wrong shape, NaN, or
    no probe with a genuine and an impostor gallery image."""
    check_scores(scores, probes, gallery)
    patients, ranks, first, coin = [], [], [], []
    missed: Counter[int] = Counter()  # log of the chance that no random guess names a patient
    for i, own, others in _compared(probes, gallery):
        if not own.any() or not others.any():
            continue
        ranked = np.flatnonzero(own | others)
        row, genuine = scores[i, ranked], np.flatnonzero(own)
        score = scores[i, genuine][:, None]
        ahead = (row > score) | ((row == score) & (ranked < genuine[:, None]))
        ranks_of = 1 + np.count_nonzero(ahead, axis=1)
        ranks.append(np.sort(ranks_of))
        coin.append(len(genuine) / len(ranked))
        patients.append(probes.patient[i])
        image, person = _named(probes[i : i + 1], gallery, genuine)
        first.append(person[image == np.argmin(ranks_of)])
        whose, images = np.unique(person, return_counts=True)
        missed.update(dict(zip(whose.tolist(), np.log1p(-images / len(ranked)), strict=True)))
    if not ranks:
        raise ValueError("no identified probe has another image of its patient in the gallery")
    probed = np.array(patients, np.int64)
    shown = np.array(sorted(missed), np.int64)
    chances = -np.expm1([missed[code] for code in shown.tolist()])
    several = of_several(probes, gallery)
    return Retrieval(probed, tuple(ranks), tuple(first), shown, several, np.array(coin), chances)


def _compared(probes: Owners, gallery: Owners) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The row of each identified probe; its genuine pairs, and its impostors', bool (G,)."""
    for part in blocks(probes, gallery):
        asked = probes[part]
        both = genuine_pairs(asked, gallery), impostor_pairs(asked, gallery)
        for row in np.flatnonzero(asked.identified):
            yield part.start + row, both[0][row], both[1][row]


def _named(probe: Owners, gallery: Owners, genuine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (n,) among the ``genuine`` images of a probe, and codes of whom both show."""
    if gallery.contributors is None:
        return np.arange(len(genuine)), gallery.patient[genuine]
    shows, asked = known_people(gallery[genuine]), known_people(probe)
    place, column = np.nonzero(np.isin(shows, asked[asked >= 0]))
    place, person = np.unique(np.stack([place, shows[place, column]]), axis=1)
    return place, person
