"""Pairs of images that were made of several people's, one at a time by the definition."""

from dataclasses import replace

import numpy as np
import pytest
from identities import CONTRIBUTORS as K
from identities import mixed, owners_of

from attacks.attackers.combination import over_sets
from attacks.measuring import metrics
from attacks.measuring.metrics import Contributors, Owners
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import measure_identification


def kind_of(made_of, real, i, j):
    """The definition: "genuine", "impostor" or "excluded"."""
    people = {(int(real.patient[n]), bool(real.identified[n])) for n in made_of.image[i]}
    code = int(real.patient[j])
    if j in made_of.image[i]:
        return "excluded"
    if real.identified[j] and (code, True) in people:
        return "genuine"
    return "excluded" if code in {c for c, _ in people} else "impostor"


def test_pairs_are_those_of_the_definition():
    released, real = mixed()
    genuine, impostor = (f(released, real) for f in (metrics.genuine_pairs, metrics.impostor_pairs))
    for i in range(len(real)):
        for j in range(len(real)):
            kind = kind_of(released.contributors, real, i, j)
            assert genuine[i, j] == (kind == "genuine")
            assert impostor[i, j] == (kind == "impostor")
    assert genuine.any()
    assert impostor.any()


def test_two_outputs_are_of_one_if_they_share_a_person_and_no_image():
    released, real = mixed(1)
    found = metrics.genuine_pairs(released, released)
    for i in range(len(real)):
        for j in range(len(real)):
            first, second = released.contributors.image[i], released.contributors.image[j]
            people = [set(real.patient[n][real.identified[n]].tolist()) for n in (first, second)]
            assert found[i, j] == bool(people[0] & people[1] and not set(first) & set(second))
    assert found.any()


def test_who_contributes_alone_is_as_without_contributors():
    _, real = mixed(2)
    known = np.where(real.identified, real.patient, -1)
    unknown = np.where(real.identified, -1, real.patient)
    alone = Contributors(*(values[:, None] for values in (real.image, known, unknown)))
    released = replace(real, contributors=alone)
    scores = np.random.default_rng(0).random((len(real), len(real)))
    given, plain = (measure_identification(scores, own, real, seed=1) for own in (released, real))
    assert retrieve(scores, released, real).first_is_own.mean() == plain["precision_at_1"].value
    # The floors of an evaluation say it.
    assert not {"precision_at_1_coin", "r_s_coin"} & plain.keys()
    for name, measured in plain.items():
        assert given[name].value == pytest.approx(measured.value, abs=1e-12, nan_ok=True)
        assert given[name].draws == pytest.approx(measured.draws, abs=1e-12, nan_ok=True)
    assert over_sets(scores, released, real) == pytest.approx(over_sets(scores, real, real))


def one_each(people=30):
    """Two real images of everybody; and outputs of three people's first images."""
    real = owners_of(np.tile(np.arange(people), 2))
    image = np.repeat(np.arange(people).reshape(-1, K), K, axis=0)
    nobody = np.full_like(image, -1)
    own = Owners(np.arange(people), np.arange(people), np.ones(people, bool))
    return replace(own, contributors=Contributors(image, image, nobody)), real


def test_who_finds_every_contributor_is_right_each_time():
    released, real = one_each()
    scores = metrics.genuine_pairs(released, real).astype(float)
    found = measure_identification(scores, released, real)
    assert found["auc"].value == found["precision_at_1"].value == found["r_precision"].value == 1


def test_one_guess_names_one_of_k():
    """An attacker that knows exactly who contributed, and no more, names a given one of them in one
    of K cases."""
    released, real = one_each()
    scores = metrics.genuine_pairs(released, real).astype(float)
    found = measure_identification(scores, released, real)
    assert retrieve(scores, released, real).first_is_own.mean() == pytest.approx(1 / K)
    assert found["r_s"].value == pytest.approx(1 / K)  # the same one each time


def test_what_a_coin_finds_is_what_random_scores_do():
    released, real = one_each(60)
    rng, number = np.random.default_rng(0), 100
    tries = [
        measure_identification(rng.random((60, 120)), released, real, resamplings=2)
        for _ in range(number)
    ]
    # Each output has 3 people's images but for its own 3: 3 of 117.
    assert tries[0]["precision_at_1_coin"].value == pytest.approx(3 / 117)
    found = np.mean([t["precision_at_1"].value for t in tries])
    assert found == pytest.approx(3 / 117, abs=4 * np.sqrt(3 / 117 / (60 * number)))
    # Everybody is in three outputs, of which each names her once in 117.
    named = 1 - (116 / 117) ** 3
    assert tries[0]["r_s_coin"].value == pytest.approx(named)
    found = np.mean([t["r_s"].value for t in tries])
    assert found == pytest.approx(named, abs=4 * np.sqrt(named / (60 * number)))


def test_a_patient_is_vulnerable_where_she_herself_is_found():
    released, real = one_each(6)
    scores = np.zeros((6, 12))
    scores[0, 7] = 1  # the second image of patient 1, who contributed to patient 0's output
    code, found = retrieve(scores, released, real).vulnerable()
    assert code.tolist() == [*range(6)]
    assert found[code == 1]  # whomever that output stands for
    assert not found[code == 0]


def test_whom_an_output_names_is_given_away_though_it_stands_for_another():
    """Of two outputs, which stand for patients 0 and 3 alone, every one names somebody else."""
    released, real = one_each(6)
    shown = released[np.array([0, 3])]
    scores = np.zeros((2, 12))
    scores[0, 7] = scores[1, 10] = 1  # of patients 1 and 4
    found = measure_identification(scores, shown, real)
    assert found["precision_at_1"].value == 1
    assert not retrieve(scores, shown, real).first_is_own.any()
    assert found["r_s"].value == pytest.approx(2 / 6)


def outputs(*people, first=0):
    """An output of one image of each of so many ``people``, for the first of whom it stands."""
    made_of = np.arange(first, first + np.size(people)).reshape(np.shape(people))
    nobody = np.full_like(made_of, -1)
    own = np.array([whose[0] for whose in people])
    shown = Contributors(made_of, np.array(people), nobody)
    return replace(owners_of(own), image=made_of[:, 0], contributors=shown)


def test_of_two_releases_only_whom_both_outputs_show_is_named():
    asked, known = outputs([0, 1, 2]), outputs([3, 4, 2], [7, 8, 9], first=3)
    found = retrieve(np.array([[1.0, 0.0]]), asked, known)
    assert found.within(1).all()
    code, given_away = found.vulnerable()
    assert (code.tolist(), given_away.tolist()) == ([2], [True])
    assert not found.first_is_own.any()
    assert found.coin_shows == pytest.approx([1 / 2])
    assert retrieve(np.array([[1.0, 0.0]]), outputs([2, 0, 1]), known).first_is_own.all()


def test_the_very_images_of_a_set_are_never_compared():
    """Who recognises the images that went into an output, and nothing else, learns nothing."""
    released, real = one_each()
    same = metrics.same_image(released, real)
    assert same.sum() == len(released) * K
    scores = np.where(same, 9.0, 0.0)
    assert measure_identification(scores, released, real)["auc"].value == 0.5
    assert not over_sets(scores, released, real).any()
