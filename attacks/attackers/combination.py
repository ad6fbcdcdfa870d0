"""Attackers made of attackers: an ensemble of their scores, and all images of a patient at once.

An ensemble is the mean of the standardised scores of its members. They are selected on the
validation part, one after the other, each time the one that raises the pair AUC most, as often as
one does (Caruana et al. 2004); a member may be taken again, and weighs more then. That AUC is the
mean of both readings: against all impostors, and against matched ones.

Few patients mislead the choice, so halves of them, drawn several times, choose, too. And its AUC on
the pairs that it is chosen on flatters it beside attackers that are judged there alone, so on the
validation part a pair is scored by members whom the other half chose.

Sets: a release that keeps patients together (a pseudonym, a folder) tells the adversary which
images are of one person. The score of a probe is then the mean over all images of its patient,
against all images of the gallery patient. An image is never compared with its own original. More
pairs count for no more: times the root of their number, say, an attacker that reads one of four
codes would exceed what four codes can tell, for who has many images has more genuine pairs.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from torch import Tensor

from anonymize.errors import UsageError
from attacks.attacker import Attacker, Knowledge
from attacks.knowledge.levels import Ladder, combined
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs, pair_auc, same_image

MAX_MEMBERS = 12  # members, with repetitions
GAIN = 1e-4  # AUC that another member must bring
HALVINGS = 4  # of the validation patients
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
    (P, G), what each pair scores by the members that other patients choose. Where patients are too
    few to be halved, all choose.

    Args:
        scores: (P, G) of each attacker.
        probes, gallery: owners of the images on both sides, of the same patients.
    """
    both_sides = probes.patient, gallery.patient
    patients, code = np.unique(np.concatenate(both_sides), return_inverse=True)
    rng, whole = np.random.default_rng(0), members(scores, probes, gallery)
    by_halves = Counter[str]()
    total, times = np.zeros((2, len(probes), len(gallery)), np.float32)
    for _ in range(HALVINGS):
        first = (rng.permutation(len(patients)) < len(patients) // 2)[code]
        for half in (first, ~first):
            asked, known = np.split(half, [len(probes)])
            some, others = (probes[asked], gallery[known]), np.ix_(~asked, ~known)
            if not (genuine_pairs(*some).any() and impostor_pairs(*some).any()):
                continue
            block = np.ix_(asked, known)
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
    combine: Callable[[np.ndarray, Owners, Owners], np.ndarray],
) -> dict[str, np.ndarray]:
    """Scores by part of those chosen on the validation part.

    Args:
        own: scores (P, G) by attacker and part.
        owners: of the probes and the gallery of each part, "validation" among them.
        combine: what becomes of the ensemble's scores.
    """
    by_part = {part: {name: scores[part] for name, scores in own.items()} for part in owners}
    chosen, judged = chosen_and_judged(by_part["validation"], *owners["validation"])
    made = {part: ensemble(by_part[part], chosen) for part in owners} | {"validation": judged}
    return {part: combine(made[part], *who) for part, who in owners.items()}


def over_sets(scores: np.ndarray, probes: Owners, gallery: Owners) -> np.ndarray:
    """Scores (P, G) with the mean over all pairs of the probe's and the gallery image's patient.

    Pairs of one image never count, nor do, for a probe, those with its own original: the probe
    would meet it by way of its patient's other images. An image of unknown identity stands alone.
    """
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
    return np.where(number > 0, total / np.maximum(number, 1), scores).astype(np.float32)


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
            "the attackers of this table together, chosen on the validation part",
            lambda scores, probes, gallery: scores,
        )

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """There is nothing to look at."""
        raise UsageError(f"attacker {self.name} combines others; name it beside them")


class Sets(Ensemble):
    """The ensemble, for who is told which released images are of one patient."""

    name = "sets"

    @classmethod
    def ladder(cls) -> Ladder:
        return combined("the ensemble, over all images that a patient released", over_sets)
