"""What random scores come to, which know nobody: a floor of an evaluation; and beside an attacker
that takes together all that shows a patient, whose guesses luck helps."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from anonymize.statistics import Measured
from attacks.attackers.combination import over_sets
from attacks.measuring.breakdown import COIN, linked_by_images
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.measuring.metrics import Owners, genuine_places, pair_auc
from attacks.measuring.outputs import each_once, of_patients
from attacks.measuring.retrieval import retrieve

GUESSES = ("precision_at_1", "r_s")
DRAWS = 100  # of a floor
BESIDE = 20  # beside an attacker
SCORES = 10**8  # drawn at most, but for ten draws


def random_figures(
    asked: tuple[Owners, Owners], seed: int, *, sets: bool = False
) -> dict[str, list[float]]:
    """What random scores (P, G) of probes and gallery come to, each drawn anew: the pair AUC
    ("auc"), how often they find another image of the patient first, and of how many patients they
    do for some image (:data:`GUESSES`); ``sets``: the pair AUC averaged over patients, and no more.

    Raises ValueError: no genuine or no impostor pairs."""
    found: dict[str, list[float]] = defaultdict(list)
    for drawn in _random(asked, seed, DRAWS, sets):
        found["auc"].append(pair_auc(*drawn))
        if not sets:
            for figure, rate in _guessed(*drawn):
                found[figure].append(rate)
    return found


def luck_of_sets(
    asked: tuple[Owners, Owners], seed: int, *, false_match_rate: float
) -> dict[str, Measured]:
    """What random scores of outputs, averaged over patients, come to in both readings: guesses, and
    pairs of patients of as many images (`breakdown`), by the names of the figures beside them."""
    found: dict[str, list[float]] = defaultdict(list)
    for scores, probes, gallery in _random(asked, seed, BESIDE, sets=True):
        alike = probes.matching, gallery.matching
        for reading, sides in (("", (probes, gallery)), (MATCHED, alike)):
            own, once = each_once(scores, sides[0])
            with suppress(ValueError):  # nobody is alike
                for figure, rate in _guessed(own, once, sides[1]):
                    found[f"{reading}{figure}_coin"].append(rate)
            pairs = genuine_places(*sides)
            for group, _, linked in linked_by_images(scores, *sides, pairs, false_match_rate):
                found[f"{reading}{COIN}|images|{group}"].append(float(np.mean(linked)))
    return {name: Measured(float(np.mean(rates)), np.zeros(0)) for name, rates in found.items()}


def _guessed(scores: np.ndarray, probes: Owners, gallery: Owners) -> Iterator[tuple[str, float]]:
    guessed = retrieve(scores, probes, gallery)
    _, given_away = guessed.vulnerable()
    for figure, hits in zip(GUESSES, (guessed.within(1), given_away), strict=True):
        yield figure, float(np.mean(hits))


def _random(
    asked: tuple[Owners, Owners], seed: int, draws: int, sets: bool
) -> Iterator[tuple[np.ndarray, Owners, Owners]]:
    """Scores of an output and an image, and whose they are."""
    probes, gallery = asked
    output, rng = probes.output, np.random.default_rng(seed)
    for _ in range(max(10, min(draws, SCORES // (len(probes) * len(gallery))))):
        scores = rng.random((output.max() + 1, len(gallery)), np.float32)[output]
        yield of_patients(over_sets(scores, *asked), *asked) if sets else (scores, *asked)
