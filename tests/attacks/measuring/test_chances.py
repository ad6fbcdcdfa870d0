"""Nobody of N − 1 strangers comes first: against every gallery that could be drawn."""

from itertools import combinations

import numpy as np
import pytest

from attacks.measuring.chances import (
    TOGETHER,
    beyond,
    linked_at_least,
    linked_at_most,
    linked_by_some,
    linked_exactly,
    unbeaten,
)
from attacks.measuring.crowd import Crowd
from attacks.measuring.tails import Strangers


def crowd_of(who, patient):
    """Of which strangers (Q, K) are ahead."""
    who, patient = np.array(who, bool), np.array(patient)
    many = np.full(len(who), who.shape[1])
    nobody = Strangers(many, np.zeros((len(who), 0)), np.zeros((len(who), 0), int), who.any(0))
    return Crowd(patient, np.zeros(len(who)), many, who, nobody)


def galleries(people, drawn):
    return [list(chosen) for chosen in combinations(range(people), drawn)]


@pytest.mark.parametrize("drawn", range(8))
def test_one_probe_against_every_gallery(drawn):
    for ahead in range(8):
        who = np.arange(7) < ahead
        counted = np.mean([not who[g].any() for g in galleries(7, drawn)])
        assert unbeaten(np.array([7]), np.array([ahead]), drawn)[0] == pytest.approx(counted)


def test_a_gallery_of_all_is_what_was_measured():
    found = unbeaten(np.array([5, 5, 3]), np.array([0, 1, 0]), 5)
    assert found.tolist() == [1, 0, 1]


def test_it_is_exact_for_a_million_people():
    # C(M − 1, n) / C(M, n) = 1 − n / M
    found = unbeaten(np.array([10**6]), np.array([1]), 250_000)[0]
    assert found == pytest.approx(0.75, rel=1e-6)


@pytest.mark.parametrize("drawn", [1, 3, 5, 8])
def test_several_probes_meet_the_same_strangers(drawn):
    rng = np.random.default_rng(drawn)
    who, patient = rng.random((5, 8)) < 0.3, [3, 3, 3, 9, 9]
    expected = []
    for rows in ([0, 1, 2], [3, 4]):
        free = [any(not who[r][g].any() for r in rows) for g in galleries(8, drawn)]
        expected.append(np.mean(free))
    crowd = crowd_of(who, patient)
    assert linked_exactly(crowd, drawn) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_independent_strangers_lie_between_the_bounds(seed):
    """All subsets of eight kinds of strangers, each there with a probability of its own."""
    rng = np.random.default_rng(seed)
    who, there = rng.random((3, 8)) < 0.4, rng.random(8)
    truth = 0.0
    for n in range(256):
        drawn = np.array([n >> k & 1 for k in range(8)], bool)
        weight = np.prod(np.where(drawn, there, 1 - there))
        truth += weight * any(not row[drawn].any() for row in who)
    alone = np.array([np.prod(1 - there[row]) for row in who])
    patient = np.zeros(3, int)
    assert linked_at_least(alone, patient)[0] <= truth <= linked_at_most(alone, patient)[0]


def test_more_probes_than_are_counted_together_are_no_less_than_the_truth():
    rng = np.random.default_rng(0)
    who = rng.random((TOGETHER + 3, 9)) < 0.4
    drawn = 4
    truth = np.mean([any(not row[g].any() for row in who) for g in galleries(9, drawn)])
    found = linked_exactly(crowd_of(who, np.zeros(len(who), int)), drawn)[0]
    best = linked_exactly(crowd_of(who[np.argsort(who.sum(1))[:TOGETHER]], [0] * TOGETHER), drawn)
    assert best[0] <= truth + 1e-12 <= found + 2e-12


def test_independent_strangers():
    assert beyond(np.array([0.1, 0, 1]), 3) == pytest.approx([0.9**3, 1, 0])


def test_some_of_a_patients_probes():
    linked, patient = np.array([1, 0, 0, 0, 1], bool), np.array([4, 4, 4, 7, 7])
    assert linked_by_some(linked, patient, 1) == pytest.approx([1 / 3, 1 / 2])
    assert linked_by_some(linked, patient, 2) == pytest.approx([2 / 3, 1])
    assert linked_by_some(linked, patient, 3) == pytest.approx([1])  # who has as many
