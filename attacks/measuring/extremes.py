"""The pairs that say most about an attacker: its surest hits, its misses and its worst errors; and
whom it takes a few probes for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from attacks.measuring.metrics import (
    Owners,
    genuine_pairs,
    genuine_places,
    impostor_pairs,
    shares_ahead,
)

KINDS = ("found", "missed", "mistaken")
MAX_PAIRS = 4  # pairs of a kind that are kept
MAX_GUESSES = 5  # of a probe


@dataclass(frozen=True)
class Extreme:
    """A pair of a probe and a gallery image.

    Attributes:
        kind: "found": genuine with a high score; "missed": genuine with a low one; "mistaken":
            impostor with a high one.
        probe, gallery: ``Owners.image`` of both.
        ahead: share of all impostor pairs that score at least as high.
    """

    kind: str
    probe: int
    gallery: int
    ahead: float


@dataclass(frozen=True)
class Guess:
    """Whom a probe is taken for.

    Attributes:
        probe: ``Owners.image`` of it.
        gallery: ``Owners.image`` of those most alike, the first first.
        right: of each of them, whether it is of the same patient.
        rank: of the first that is, from 1.
        among: images that could have been before it.
    """

    probe: int
    gallery: Sequence[int]
    right: Sequence[bool]
    rank: int
    among: int


@dataclass(frozen=True)
class GuessPictures:
    """Guesses and their images: ``probes`` (n, 1, H, W) and ``gallery`` (n, k, 1, H, W), in [0, 1];
    where a probe has fewer than k guesses, black."""

    guesses: Sequence[Guess]
    probes: Tensor
    gallery: Tensor


@dataclass(frozen=True)
class PairPictures:
    """Pairs of one attacker and their images.

    Attributes:
        probes, gallery: (n, 1, H, W) in [0, 1], the images of each pair.
        guesses: of a few probes, the same for every method; None: of none.
    """

    attacker: str
    pairs: Sequence[Extreme]
    probes: Tensor
    gallery: Tensor
    guesses: GuessPictures | None = None


def extreme_pairs(
    scores: np.ndarray, probes: Owners, gallery: Owners, *, most: int = MAX_PAIRS
) -> list[Extreme]:
    """Up to ``most`` pairs of each kind, the most extreme first; no patient twice within a kind.
    ``scores``: (P, G), without NaN."""
    row, column = genuine_places(probes, gallery)
    genuine = scores[row, column]
    rising = np.argsort(genuine, kind="stable")
    stranger, closest = _closest_strangers(scores, probes, gallery)
    chosen = [
        ("found", _of_other_patients(row[rising[::-1]], column[rising[::-1]], probes, gallery)),
        ("missed", _of_other_patients(row[rising], column[rising], probes, gallery)),
        ("mistaken", _of_other_patients(stranger, closest, probes, gallery)),
    ]
    places = [(kind, i, j) for kind, pairs in chosen for i, j in islice(pairs, most)]
    ahead = shares_ahead([scores[i, j] for _, i, j in places], scores, probes, gallery)
    return [
        Extreme(kind, int(probes.image[i]), int(gallery.image[j]), float(share))
        for (kind, i, j), share in zip(places, ahead, strict=True)
    ]


def first_guesses(
    scores: np.ndarray,
    probes: Owners,
    gallery: Owners,
    images: np.ndarray,
    *,
    most: int = MAX_GUESSES,
) -> list[Guess]:
    """Of each probe that is among the ``images`` and has a genuine pair, the ``most`` gallery
    images that score highest; the first in the gallery on a tie.

    Args:
        scores: (P, G), without NaN.
        images: as ``Owners.image``.
    """
    found = []
    for i in np.flatnonzero(np.isin(probes.image, images)):
        one = probes[i : i + 1]
        right = genuine_pairs(one, gallery)[0]
        compared = np.flatnonzero(right | impostor_pairs(one, gallery)[0])
        if not right.any():
            continue
        order = compared[np.argsort(-scores[i, compared], kind="stable")]
        first = order[:most]
        found.append(
            Guess(
                probe=int(probes.image[i]),
                gallery=gallery.image[first].tolist(),
                right=right[first].tolist(),
                rank=int(np.argmax(right[order])) + 1,
                among=len(order),
            )
        )
    return found


def _closest_strangers(
    scores: np.ndarray, probes: Owners, gallery: Owners
) -> tuple[np.ndarray, np.ndarray]:
    """Every probe that has an impostor and its most alike one, the most alike pair first."""
    closest, best = np.zeros(len(probes), int), np.full(len(probes), -np.inf)
    for i in range(len(probes)):
        others = np.flatnonzero(impostor_pairs(probes[i : i + 1], gallery)[0])
        if len(others):
            closest[i] = others[np.argmax(scores[i, others])]
            best[i] = scores[i, closest[i]]
    order = np.argsort(-best, kind="stable")
    order = order[np.isfinite(best[order])]
    return order, closest[order]


def _of_other_patients(
    rows: np.ndarray, columns: np.ndarray, probes: Owners, gallery: Owners
) -> Iterator[tuple[int, int]]:
    """The pairs in their order without those that show a patient again."""
    shown: set[int] = set()
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        patients = {int(probes.patient[i]), int(gallery.patient[j])}
        if not patients & shown:
            shown |= patients
            yield i, j
