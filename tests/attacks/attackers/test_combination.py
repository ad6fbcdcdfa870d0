"""Ensembles and sets against slow second derivations."""

import numpy as np
import pytest
from identities import mixed, owners_of

from attacks.attackers.combination import (
    chosen_and_judged,
    ensemble,
    members,
    over_sets,
    standardised,
    together,
)
from attacks.measuring.metrics import genuine_pairs, impostor_pairs, pair_auc
from attacks.measuring.outputs import of_patients


def owners(seed=0):
    """Patients of 1 to 4 images, and two images of unknown patients."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(8), [1, 2, 3, 4, 2, 2, 1, 1])
    patient = rng.permutation(patient)
    return owners_of(patient, identified=patient < 6)


def noisy(own, noise, seed):
    rng = np.random.default_rng(seed)
    return genuine_pairs(own, own) + noise * rng.standard_normal((len(own), len(own)))


def test_an_ensemble_surpasses_its_members_and_leaves_noise_out():
    own = owners_of(np.repeat(np.arange(20), 3))
    scores = {name: 1000 * noisy(own, 0.7, seed) for seed, name in enumerate("abc")}
    scores["noise"] = noisy(own, 100, 9)
    chosen = members(scores, own, own)
    assert set(chosen) == set("abc")
    found = pair_auc(ensemble(scores, chosen), own, own)
    assert found > max(pair_auc(matrix, own, own) for matrix in scores.values()) + 0.01


def test_a_sure_attacker_stands_alone():
    own = owners()
    chosen = members({"good": noisy(own, 0.01, 0), "bad": noisy(own, 50, 1)}, own, own)
    assert dict(chosen) == {"good": 1}
    with pytest.raises(ValueError, match="needs an attacker"):
        members({}, own, own)


def test_an_ensemble_is_chosen_against_matched_impostors_too():
    """An attacker that only reads findings is the better one against all impostors, and tells
    nothing among those who share them."""
    finding = np.repeat(np.arange(30) // 10, 2)
    own = owners_of(np.repeat(np.arange(30), 2), finding)
    reads = (finding[:, None] == finding) + np.random.default_rng(0).random((60, 60)) / 4
    links = noisy(own, 0.8, 1)
    assert pair_auc(reads, own, own) > pair_auc(links, own, own) > 0.75
    chosen = members({"reads": reads, "links": links}, own, own)
    assert max(chosen, key=chosen.__getitem__) == "links"


def test_a_choice_among_noise_is_judged_by_patients_who_took_no_part():
    """Twelve coins on few patients: some ensemble of them looks like an attacker to whoever chose
    it there."""
    own = owners_of(np.repeat(np.arange(12), 2))
    flattered, judged = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = {str(k): rng.standard_normal((24, 24)) for k in range(12)}
        flattered.append(pair_auc(ensemble(scores, members(scores, own, own)), own, own))
        judged.append(pair_auc(chosen_and_judged(scores, own, own)[1], own, own))
    assert np.mean(flattered) > 0.6
    assert np.mean(judged) == pytest.approx(0.5, abs=0.05)


def test_too_few_patients_to_be_halved_choose_together():
    own = owners_of(np.array([0, 0, 1]))
    scores = {"good": noisy(own, 0.01, 0), "bad": -noisy(own, 0.01, 1)}
    chosen, judged = chosen_and_judged(scores, own, own)
    assert set(chosen) == {"good"}
    assert judged == pytest.approx(standardised(scores["good"]))


def test_all_and_halves_of_the_patients_choose_with_the_same_weight():
    own = owners_of(np.repeat(np.arange(20), 3))
    parts = {"validation": (own, own), "test": (own, own)}
    alone = {name: noisy(own, 0.7, ord(name)) for name in "abc"} | {"noise": noisy(own, 9, 0)}
    scores = {name: dict.fromkeys(parts, matrix) for name, matrix in alone.items()}
    made = together(scores, parts, lambda scores, probes, gallery: scores)
    chosen, judged = chosen_and_judged(alone, own, own)
    assert np.array_equal(made["test"], ensemble(alone, chosen))
    assert np.array_equal(made["validation"], judged)
    whole = members(alone, own, own)
    of_halves = {k: n / chosen.total() - whole[k] / whole.total() / 2 for k, n in chosen.items()}
    assert sum(of_halves.values()) == pytest.approx(0.5)
    assert min(of_halves.values()) > -1e-12


def test_weights_are_how_often_a_member_was_chosen():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 4, 5))
    expected = (2 * (a - a.mean()) / a.std() + (b - b.mean()) / b.std()) / 3
    assert ensemble({"a": a, "b": b}, {"a": 2, "b": 1}) == pytest.approx(expected, abs=1e-5)
    assert not standardised(np.ones((3, 3))).any()


def test_sets_pair_by_pair():
    own = owners()
    scores = np.random.default_rng(1).random((len(own), len(own)))
    found = over_sets(scores, own, own)

    def mates(i):
        if not own.identified[i]:
            return [i]
        return [
            j for j in range(len(own)) if own.identified[j] and own.patient[j] == own.patient[i]
        ]

    for i in range(len(own)):
        for g in range(len(own)):
            pairs = [(j, k) for j in mates(i) for k in mates(g) if j != k and k != i]
            expected = np.mean([scores[p] for p in pairs]) if pairs else scores[i, g]
            assert found[i, g] == pytest.approx(expected, abs=1e-6), (i, g)


def test_sets_of_outputs_take_all_that_show_a_patient():
    """Each output once, in however many rows; none against an image that went into it."""
    shown, real = mixed(patients=12)
    rng, made_of = np.random.default_rng(1), shown.contributors
    scores = rng.random((len(shown), len(real)))[made_of.image[:, 0]]
    found = over_sets(scores, shown, real)

    def outputs_of(i):
        if not shown.identified[i]:
            return [i]
        rows = np.flatnonzero((made_of.patient == real.patient[i]).any(axis=1))
        return {made_of.image[r, 0]: r for r in rows}.values()

    def images_of(g):
        same = real.identified & (real.patient == real.patient[g])
        return np.flatnonzero(same) if real.identified[g] else [g]

    met = 0
    for i in range(len(shown)):
        for g in range(len(real)):
            pairs = [
                (r, k)
                for r in outputs_of(i)
                for k in images_of(g)
                if k != i and k not in made_of.image[r]
            ]
            met += len(pairs) > 1
            expected = np.mean([scores[p] for p in pairs]) if pairs else scores[i, g]
            assert found[i, g] == pytest.approx(expected, abs=1e-6), (i, g)
    assert met > 1000


def test_whom_all_outputs_show_is_found_where_none_tells_alone():
    """An attacker that sees every contributor alike, and not much else."""
    shown, real = mixed(images=240, patients=60)
    noise = np.random.default_rng(1).standard_normal((240, 240))
    scores = genuine_pairs(shown, real) + 1.5 * noise[shown.contributors.image[:, 0]]
    together = of_patients(over_sets(scores, shown, real), shown, real)
    assert pair_auc(*together) > pair_auc(scores, shown, real) + 0.1


def test_sets_never_meet_their_own_originals():
    """A probe's own original, however alike, changes none of its counted scores."""
    own = owners()
    scores = np.random.default_rng(1).random((len(own), len(own)))
    given_away = scores.copy()
    np.fill_diagonal(given_away, 1e6)
    counted = genuine_pairs(own, own) | impostor_pairs(own, own)
    before, after = (over_sets(s, own, own)[counted] for s in (scores, given_away))
    assert np.array_equal(before, after)


def test_sets_help_where_each_image_is_noisy():
    own = owners_of(np.repeat(np.arange(20), 4))
    scores = noisy(own, 1.5, 0)
    assert pair_auc(over_sets(scores, own, own), own, own) > pair_auc(scores, own, own) + 0.1
