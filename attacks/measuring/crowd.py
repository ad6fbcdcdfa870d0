"""Everybody else in the gallery, as each probe sees them: who is more alike than its own patient.

A person is as alike as her most alike image. On a tie the image of the smaller gallery index comes
first, as in `retrieval`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from attacks.measuring.metrics import Owners, blocks, impostor_pairs
from attacks.measuring.tails import MOST, Strangers

KEPT = 3 * MOST  # highest scores of a probe, at most
PART, FEW = 0.5, 60  # of all people; and no fewer than so many


@dataclass(frozen=True)
class Best:
    """Of each probe the most alike image that shows its patient.

    Attributes:
        score: float (P,), −inf where there is none.
        place: int (P,), its gallery index.
    """

    score: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, row: np.ndarray, column: np.ndarray) -> Self:
        """Among the pairs (n,) of rows and columns of a score matrix (P, G)."""
        found = scores[row, column]
        order = np.lexsort((column, -found, row))
        first = order[np.r_[True, np.diff(row[order]) > 0]] if len(order) else order
        best, place = np.full(len(scores), -np.inf), np.full(len(scores), -1)
        best[row[first]], place[row[first]] = found[first], column[first]
        return cls(best, place)


@dataclass(frozen=True)
class Crowd:
    """What stands between probes and their patients.

    Attributes:
        patient: (Q,) code of the probe's patient.
        best: (Q,) score of the image that shows the patient.
        people: (Q,) how many other people there are.
        who: bool (Q, K) which of all K people are more alike.
        strangers: the most alike of them.
    """

    patient: np.ndarray
    best: np.ndarray
    people: np.ndarray
    who: np.ndarray
    strangers: Strangers

    @cached_property
    def ahead(self) -> np.ndarray:
        """(Q,) how many people are more alike."""
        return self.who.sum(axis=1)


def crowds(
    scores: np.ndarray, probes: Owners, gallery: Owners, bests: Mapping[str, Best]
) -> dict[str, Crowd]:
    """By the name of each `Best`, the probes that have one and meet a stranger. ``scores``: (P, G)
    without NaN."""
    order = np.argsort(gallery.patient, kind="stable")
    codes, starts = np.unique(gallery.patient[order], return_index=True)
    size = len(probes), min(len(codes), KEPT, max(FEW, round(PART * len(codes))))
    people, tops, whose = np.zeros(len(probes), int), np.zeros(size), np.zeros(size, int)
    who = {name: np.zeros((len(probes), len(codes)), bool) for name in bests}
    for rows in blocks(probes, gallery):
        strange = impostor_pairs(probes[rows], gallery)
        alike = np.where(strange, scores[rows], -np.inf)
        highest = np.maximum.reduceat(alike[:, order], starts, axis=1)
        people[rows] = np.count_nonzero(
            np.logical_or.reduceat(strange[:, order], starts, axis=1), axis=1
        )
        tops[rows], whose[rows] = largest(highest, np.arange(len(codes)), size[1])
        for name, best in bests.items():
            score, place = best.score[rows, None], best.place[rows, None]
            before = strange & (
                (alike > score) | ((alike == score) & (np.arange(len(gallery)) < place))
            )
            who[name][rows] = np.logical_or.reduceat(before[:, order], starts, axis=1)
    found = {}
    for name, best in bests.items():
        met = np.isfinite(best.score) & (people > 0)
        found[name] = Crowd(
            probes.patient[met],
            best.score[met],
            people[met],
            who[name][met],
            Strangers(people[met], tops[met], whose[met], np.ones(len(codes), bool)),
        )
    return found


def largest(alike: np.ndarray, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` highest of each row, falling, and their numbers."""
    last = alike.shape[1] - count
    some = np.argpartition(alike, last, axis=1)[:, last:]
    found = np.take_along_axis(alike, some, 1)
    order = np.argsort(-found, axis=1, kind="stable")
    numbers = np.broadcast_to(numbers, alike.shape)
    return tuple(  # type: ignore[return-value]
        np.take_along_axis(a, order, 1) for a in (found, np.take_along_axis(numbers, some, 1))
    )
