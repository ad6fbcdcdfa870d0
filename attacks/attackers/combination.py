"""Attackers made of attackers: an ensemble of their scores, and all images of a patient at once.

An ensemble is the mean of the standardised scores of its members. They are selected on the
validation part, one after the other, each time the one that raises the pair AUC most, as often as
one does (Caruana et al. 2004); a member may be taken again, and weighs more then. That AUC is the
mean of both readings: against all impostors, and against matched ones.

Few patients mislead the choice, so halves of them, drawn several times, choose, too. And its AUC on
the pairs that it is chosen on flatters it beside attackers that are judged there alone, so on the
validation part a pair is scored by members whom the other half chose.

Sets: a release that keeps patients together (a pseudonym, a folder) tells the adversary which
images are of one person, or to which outputs of several people that person contributed. The score
of a probe is then the mean over all that shows its patient, against all images of the gallery
patient. An image is never compared with its own original, nor with an output that it went into.
More pairs count for no more: times the root of their number, say, an attacker that reads one of
four codes would exceed what four codes can tell, for who has many images has more genuine pairs.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from scipy.sparse import csr_array
from torch import Tensor

from anonymize.errors import UsageError
from attacks.attacker import Attacker, Knowledge
from attacks.knowledge.levels import Ladder, combined
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs, pair_auc, same_image

MAX_MEMBERS = 12  # members, with repetitions
GAIN = 1e-4  # AUC that another member must bring
HALVINGS = 4  # of the validation patients
NONE_LEFT = 1e-9  # pairs that a sum of weights may leave by rounding
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
    """Scores (P, G) with the mean over all pairs of what shows the probe's patient and what shows
    the gallery image's, every output once; an image of unknown identity stands alone.

    Pairs of one image never count, nor do, for a probe, those with its own original: the probe
    would meet it by way of whatever else shows its patient.
    """
    (own, shows, _), (known, knows, weight) = (_shown(owners) for owners in (probes, gallery))
    usable = ~same_image(probes, gallery)
    # Over what shows the probe's patient, then over what shows the gallery image's.
    met = [shows @ values for values in (np.where(usable, scores, 0.0), usable.astype(float))]
    total, number = ((knows @ values.T).T[own][:, known] for values in met)
    for row, column in zip(*np.nonzero(probes.image[:, None] == gallery.image), strict=True):
        mates = known == known[column]
        total[row, mates] -= met[0][own[row], column] * weight[column]
        number[row, mates] -= met[1][own[row], column] * weight[column]
    there = number > NONE_LEFT
    return np.where(there, total / np.where(there, number, 1), scores).astype(np.float32)


def _shown(owners: Owners) -> tuple[np.ndarray, csr_array, np.ndarray]:
    """The person (N,), 0 …, whom each image stands for, its own where he is unknown; the images
    that show each person, (people, N); and how much each of these counts there, (N,): 1 over the
    rows of its output."""
    whose = np.where(owners.identified, owners.patient, -2 - np.arange(len(owners)))[:, None]
    if owners.contributors is not None:
        whose = np.hstack([whose, owners.contributors.patient])
    weight = 1 / np.bincount(owners.output)[owners.output]
    people, person = np.unique(whose, return_inverse=True)
    place = np.unique(np.stack([person.ravel(), np.arange(whose.size) // whose.shape[1]]), axis=1)
    shape = (len(people), len(owners))
    return person.reshape(whose.shape)[:, 0], csr_array((weight[place[1]], place), shape), weight


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
    """The ensemble, for who is told which released images show a patient."""

    name = "sets"

    @classmethod
    def ladder(cls) -> Ladder:
        what = "the ensemble, over all released images that show a patient"
        return combined(what, over_sets, of_patients=True)
