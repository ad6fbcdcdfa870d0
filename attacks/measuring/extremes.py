"""The pairs that say most about an attacker: its surest hits, its misses and its worst errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from attacks.measuring.metrics import Owners, genuine_places, impostor_pairs, shares_ahead

KINDS = ("found", "missed", "mistaken")
MAX_PAIRS = 4  # pairs of a kind that are kept


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
class PairPictures:
    """Pairs of one attacker and their images.

    Attributes:
        attacker: its key.
        pairs: as :func:`extreme_pairs` gives them.
        probes, gallery: (n, 1, H, W) in [0, 1], the images of each pair.
    """

    attacker: str
    pairs: Sequence[Extreme]
    probes: Tensor
    gallery: Tensor


def extreme_pairs(
    scores: np.ndarray, probes: Owners, gallery: Owners, *, most: int = MAX_PAIRS
) -> list[Extreme]:
    """Up to ``most`` pairs of each kind, the most extreme first; no patient twice within a kind.

    Args:
        scores: (P, G), without NaN.
    """
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
