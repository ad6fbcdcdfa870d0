"""Attackers made of attackers: an ensemble of their scores, and all images of a patient at once.

An ensemble is the mean of the standardised scores of its members. They are selected on the
validation part, one after the other, each time the one that raises the pair AUC most, as often as
one does (Caruana et al. 2004); a member may be taken again, and weighs more then. That AUC is the
mean of both readings: against all impostors, and against matched ones.

Few patients mislead the choice, so halves of them, drawn several times, choose, too. And its AUC on
the pairs that it is chosen on flatters it beside attackers that are judged there alone, so on the
validation part a pair is scored by members whom the other half chose.

Sets: a release that keeps patients together (a pseudonym, a folder) tells the adversary which
images are of one person. A probe then has what all images of its patient say, against all images of
the gallery patient: each pair's score as log odds, of which the more say more. An image is never
compared with its own original.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from anonymize.errors import UsageError
from attacks.attacker import Attacker, Knowledge
from attacks.knowledge.levels import Becoming, Ladder, combined
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs, pair_auc, same_image

MAX_MEMBERS = 12  # members, with repetitions
GAIN = 1e-4  # AUC that another member must bring
HALVINGS = 4  # of the validation patients
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of more pairs' evidence: none, … as if each were new
SCORES = 10**6  # of impostor pairs that log odds are learnt from, at most
# Whom `attacks check` combines: one that adapts, where the knowledge allows it, and another
TESTED_WITH: Mapping[Knowledge, tuple[str, ...]] = {
    "ignorant": ("training-free", "pixels"),
    "lazy": ("training-free:lazy", "pixels:lazy"),
    "informed": ("histogram-metric", "pixels"),
    "white-box": ("histogram-metric", "training-free:white-box"),
}


def standardised(scores: np.ndarray) -> np.ndarray:
    """float32 (P, G): mean 0, deviation 1 over all pairs; equal scores become 0."""
    deviation = scores.std(dtype=np.float64)
    return ((scores - scores.mean(dtype=np.float64)) / (deviation or 1)).astype(np.float32)


def members(scores: Mapping[str, np.ndarray], probes: Owners, gallery: Owners) -> Counter[str]:
    """Who takes part in the ensemble, and how often, by the scores on the validation part.

    Args:
        scores: (P, G) of each attacker.

    Raises:
        ValueError: no scores, or no genuine or impostor pairs.
    """
    if not scores:
        raise ValueError("an ensemble needs an attacker or more")
    level = {name: standardised(matrix) for name, matrix in scores.items()}
    chosen: Counter[str] = Counter()
    total: np.ndarray | float = 0.0
    best, readings = -np.inf, _readings(probes, gallery)
    while chosen.total() < MAX_MEMBERS:
        figures = {
            name: float(np.mean([pair_auc(total + matrix, *owners) for owners in readings]))
            for name, matrix in level.items()
        }
        name = max(figures, key=figures.__getitem__)
        if figures[name] < best + GAIN:
            break
        best, total = figures[name], total + level[name]
        chosen[name] += 1
    return chosen


def _readings(probes: Owners, gallery: Owners) -> list[tuple[Owners, Owners]]:
    """Over all pairs; and over matched ones, where there are any."""
    found = [(probes, gallery)]
    if probes.covariates is not None:
        alike = probes.matching, gallery.matching
        if genuine_pairs(*alike).any() and impostor_pairs(*alike).any():
            found.append(alike)
    return found


def chosen_and_judged(
    scores: Mapping[str, np.ndarray], probes: Owners, gallery: Owners
) -> tuple[Counter[str], np.ndarray]:
    """`members` by all patients and by halves of them, each with half of the weight; and float32
    (N, N), what each pair scores by the members that other patients choose. Where patients are too
    few to be halved, all choose.

    Args:
        scores: (N, N) of each attacker, of the same images on both sides.
        probes, gallery: their owners.
    """
    patients, code = np.unique(gallery.patient, return_inverse=True)
    rng, whole = np.random.default_rng(0), members(scores, probes, gallery)
    by_halves = Counter[str]()
    total, times = np.zeros((2, len(gallery), len(gallery)), np.float32)
    for _ in range(HALVINGS):
        first = (rng.permutation(len(patients)) < len(patients) // 2)[code]
        for half in (first, ~first):
            some, others = (probes[half], gallery[half]), np.ix_(~half, ~half)
            if not (genuine_pairs(*some).any() and impostor_pairs(*some).any()):
                continue
            block = np.ix_(half, half)
            chosen = members({name: s[block] for name, s in scores.items()}, *some)
            by_halves += chosen
            total[others] += ensemble(scores, chosen)[others]
            times[others] += 1
    both = Counter({k: n * (by_halves.total() or 1) for k, n in whole.items()})
    both += Counter({k: n * whole.total() for k, n in by_halves.items()})
    return both, np.where(times > 0, total / np.maximum(times, 1), ensemble(scores, both))


def ensemble(scores: Mapping[str, np.ndarray], chosen: Mapping[str, int]) -> np.ndarray:
    """float32 (P, G): the weighted mean of the members' standardised scores."""
    weight = sum(chosen.values())
    return reduce(np.add, (standardised(scores[k]) * (n / weight) for k, n in chosen.items()))


def together(
    own: Mapping[str, Mapping[str, np.ndarray]],
    owners: Mapping[str, tuple[Owners, Owners]],
    combine: Callable[[np.ndarray, Owners, Owners], Becoming],
) -> dict[str, np.ndarray]:
    """Scores by part of those chosen on the validation part.

    Args:
        own: scores (P, G) by attacker and part.
        owners: of the probes and the gallery of each part, "validation" among them.
        combine: learns from the ensemble's scores of the validation part what becomes of scores.
    """
    made = chosen_together(own, owners)
    become = combine(made["validation"], *owners["validation"])
    return {part: become(made[part], *who) for part, who in owners.items()}


def chosen_together(
    own: Mapping[str, Mapping[str, np.ndarray]], owners: Mapping[str, tuple[Owners, Owners]]
) -> dict[str, np.ndarray]:
    """The ensemble's scores by part, before anything becomes of them."""
    by_part = {part: {name: scores[part] for name, scores in own.items()} for part in owners}
    chosen, judged = chosen_and_judged(by_part["validation"], *owners["validation"])
    return {part: ensemble(by_part[part], chosen) for part in owners} | {"validation": judged}


def as_they_are(scores: np.ndarray, probes: Owners, gallery: Owners) -> Becoming:
    """Nothing becomes of scores."""
    return lambda scores, probes, gallery: scores


@dataclass(frozen=True)
class Evidence:
    """What all pairs of images of two patients say together.

    A score is worth ``slope`` · score + ``offset`` log odds. Were each pair new evidence, n pairs
    would be worth their sum; but they share images, so it is their mean times n to the power of
    ``share``. A mean alone (0) has chance against it: among many patients some pair of two single
    images is more alike by luck than all images of one patient on average.
    """

    slope: float = 1.0
    offset: float = 0.0
    share: float = 0.0

    @classmethod
    def learn(cls, scores: np.ndarray, probes: Owners, gallery: Owners) -> Self:
        """Log odds by logistic regression, genuine and impostor pairs weighed alike; and the share
        by which the AUC is highest, in the mean of both readings. ``scores``: (P, G) with genuine
        and impostor pairs."""
        same, other = genuine_pairs(probes, gallery), impostor_pairs(probes, gallery)
        strange = scores[other]
        if len(strange) > SCORES:
            strange = np.random.default_rng(0).choice(strange, SCORES, replace=False)
        values = np.concatenate([scores[same], strange]).astype(np.float64)
        present = np.arange(len(values)) < np.count_nonzero(same)
        odds = LogisticRegression(class_weight="balanced").fit(values[:, None], present)
        slope, offset = float(odds.coef_[0, 0]), float(odds.intercept_[0])
        if slope <= 0:  # it finds nobody: more of it is no more
            return cls()
        sums = _sums(scores, probes, gallery)
        readings = _readings(probes, gallery)

        def reached(share: float) -> float:
            made = cls(slope, offset, share)._of(scores, *sums)
            return float(np.mean([pair_auc(made, *owners) for owners in readings]))

        return cls(slope, offset, max(SHARES, key=reached))

    def __call__(self, scores: np.ndarray, probes: Owners, gallery: Owners) -> np.ndarray:
        """float32 (P, G): of the probe's and the gallery image's patient.

        Pairs of one image never count, nor do, for a probe, those with its own original: the probe
        would meet it by way of its patient's other images. An image of unknown identity stands
        alone.
        """
        return self._of(scores, *_sums(scores, probes, gallery))

    def _of(self, scores: np.ndarray, total: np.ndarray, number: np.ndarray) -> np.ndarray:
        count = np.maximum(number, 1)
        mean = np.where(number > 0, total / count, scores)
        return ((self.slope * mean + self.offset) * count**self.share).astype(np.float32)


def _sums(scores: np.ndarray, probes: Owners, gallery: Owners) -> tuple[np.ndarray, np.ndarray]:
    """(P, G) each: the sum of the scores that count for a pair, and how many they are."""
    own = _groups(probes)
    known = _groups(gallery)
    same = same_image(probes, gallery)
    usable = np.where(same, 0, scores).astype(np.float64)
    counts = (~same).astype(np.float64)
    # Over the gallery patients' images, then over the probe patients'.
    sums, numbers = (_summed(_summed(m, known, 1), own, 0) for m in (usable, counts))
    total, number = sums[own][:, known], numbers[own][:, known]
    # A probe's own original, met by the other images of its set, is taken out again.
    for row, column in zip(*np.nonzero(same), strict=True):
        siblings = np.flatnonzero(own == own[row])
        met, times = usable[siblings, column].sum(), counts[siblings, column].sum()
        mates = known == known[column]
        total[row, mates] -= met
        number[row, mates] -= times
    return total, number


def _groups(owners: Owners) -> np.ndarray:
    """int64 (n,) 0 …: the patient of each image, or the image itself where he is unknown."""
    code = np.where(owners.identified, owners.patient, -1 - np.arange(len(owners)))
    return np.unique(code, return_inverse=True)[1]


def _summed(values: np.ndarray, group: np.ndarray, axis: int) -> np.ndarray:
    shape = list(values.shape)
    shape[axis] = group.max() + 1
    total = np.zeros(shape)
    np.add.at(np.moveaxis(total, axis, 0), group, np.moveaxis(values, axis, 0))
    return total


class Ensemble(Attacker):
    """The attackers beside it together; it looks at their scores, and at no image."""

    name = "ensemble"

    @classmethod
    def ladder(cls) -> Ladder:
        return combined(
            "the attackers of this table together, chosen on the validation part", as_they_are
        )

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """There is nothing to look at."""
        raise UsageError(f"attacker {self.name} combines others; name it beside them")


class Sets(Ensemble):
    """The ensemble, for who is told which released images are of one patient."""

    name = "sets"

    @classmethod
    def ladder(cls) -> Ladder:
        return combined("the ensemble, over all images that a patient released", Evidence.learn)
