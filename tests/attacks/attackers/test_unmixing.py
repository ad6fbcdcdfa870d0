"""A probe made of several images is taken apart, whoever else is in it."""

import numpy as np
import pytest
import torch
from identities import auc, image_set, parts_of
from scipy.optimize import nnls

from attacks.attacker import ImageSet
from attacks.attackers.unmixing import Unmixing, UnmixingOptions
from attacks.measuring.metrics import PairCounts, pair_auc
from attacks.training.mixtures import Spread, gray, shares
from attacks.training.outputs import Outputs, distinct

OPTIONS = UnmixingOptions(sides=(8, 16), components=60, committee=3, undo=16)


def unit_rows(rng, *shape):
    vectors = rng.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def mixed(images, k=3, *, per_patient=4):
    """Every row with the mean of one image of each of k patients, whom it is one of."""
    patients = len(images) // per_patient
    rows = np.arange(len(images)).reshape(patients, per_patient)
    pixels = torch.empty(images.images.shape)
    groups = np.split(np.arange(patients), range(k, patients - k + 1, k))
    for group in groups:
        for turn in range(per_patient):
            own = rows[group, turn]
            pixels[own] = images.images[own].float().mean(0) / 255
    return ImageSet(pixels, images.owners)


# What it is made of


def test_gray_levels_of_a_mean_are_the_mean_of_those():
    images = torch.rand(5, 1, 32, 32)
    for sides in ((8,), (8, 16), (4, 8, 32)):
        found = gray(images, sides)
        assert found.shape == (5, sum(side**2 for side in sides))
        of_mean = gray(images.mean(0, keepdim=True), sides)
        np.testing.assert_allclose(of_mean[0], found.mean(0), atol=1e-6)


def test_shares_are_those_of_lawson_and_hanson():
    rng = np.random.default_rng(0)
    known, asked = unit_rows(rng, 12, 30), unit_rows(rng, 5, 30)
    found = shares(asked, known, sparsity=1e-6)
    for probe, share in zip(asked, found, strict=True):
        np.testing.assert_allclose(share, nnls(known.T, probe)[0], atol=2e-3)


def test_shares_name_what_went_in_and_in_which_parts():
    rng = np.random.default_rng(1)
    known = unit_rows(rng, 40, 100)
    probe = 0.7 * known[3] + 0.3 * known[20]
    found = shares(probe[None] / np.linalg.norm(probe), known, sparsity=0.02)[0]
    assert set(np.argsort(-found)[:2]) == {3, 20}
    assert found[3] / found[20] == pytest.approx(7 / 3, rel=0.2)
    assert np.delete(found, [3, 20]).max() < 0.05


def test_what_is_too_far_has_no_share():
    known = np.eye(4, dtype=np.float32)
    probe = np.array([[0.8, 0.5, 0.3, 0.1]], np.float32)
    found = shares(probe, known, sparsity=0.01, nearest=2)
    assert (found > 0).tolist() == [[True, True, False, False]]


def test_a_direction_in_which_others_are_in_the_way_counts_less():
    """One direction of great differences between patients, one of small; scatter within is 1."""
    spread = Spread(np.eye(2), np.eye(2), np.diag([100.0, 1.0]))

    def ratio(people):
        gram = spread.metric(shrinkage=1e-9, people=people)
        weights = np.diag(gram @ gram.T)
        return weights[0] / weights[1]

    assert ratio(0) == pytest.approx(1, rel=1e-3)
    assert ratio(1) > 1 > ratio(5)
    expected = (100 / (101**2 - 100**2 / 5)) / (1 / (4 - 1 / 5))
    assert ratio(5) == pytest.approx(expected, rel=1e-3)


def test_an_outputs_contributors_are_no_impostors_of_each_other():
    images = image_set(6, each=2)
    released = mixed(images, 3, per_patient=2)
    outputs = Outputs.of(released)
    assert len(outputs.images) == 4
    scores = np.random.default_rng(0).random((4, 12)).astype(np.float32)
    groups, turns = np.repeat([0, 1], 6), np.tile([0, 1], 6)
    genuine, strange, own = [], [], []
    for output in range(4):
        first = int(np.flatnonzero(outputs.number == output)[0])
        for image in range(12):
            into = genuine if turns[image] != turns[first] else own
            into = strange if groups[image] != groups[first] else into
            into.append(scores[output, image])

    def expected(of):
        wins = [(a > b) + 0.5 * (a == b) for a in of for b in strange]
        return np.mean(wins)

    assert outputs.link_auc(scores, images.owners) == pytest.approx(expected(genuine))
    assert outputs.origin_auc(scores, images.owners) == pytest.approx(expected(own))


def test_outputs_of_one_image_each_are_judged_as_ever():
    images = image_set(5, each=3)
    scores = np.random.default_rng(0).random((15, 15)).astype(np.float32)
    found = Outputs.of(images).link_auc(scores, images.owners)
    assert found == pytest.approx(pair_auc(scores, images.owners, images.owners))
    assert PairCounts(np.ones(1), np.zeros(1), np.ones(1), 1).auc == 0.5  # a tie


def test_where_all_are_in_everything_nothing_is_told():
    images = image_set(5, each=3)
    same = ImageSet(images.images[:1].expand(15, -1, -1, -1), images.owners)
    assert distinct(same.images)[1].tolist() == [0] * 15
    assert Outputs.of(same).link_auc(np.ones((1, 15)), images.owners) == 0.5


# The attacker


@pytest.fixture(scope="module")
def attacker():
    return Unmixing(OPTIONS).fit(parts_of(mixed), seed=0)


def test_a_mean_gives_away_who_is_in_it(attacker):
    unseen = image_set(30, seed=3, first=500)
    released = Outputs.of(mixed(unseen))
    scores = attacker.score(released.images, unseen.images)
    assert released.origin_auc(scores, unseen.owners) > 0.99
    assert released.link_auc(scores, unseen.owners) > 0.8


def test_who_is_in_no_mean_is_not_found(attacker):
    unseen, others = image_set(30, seed=3, first=500), image_set(30, seed=4, first=500)
    assert abs(auc(attacker, mixed(unseen), others) - 0.5) < 0.1


def test_a_probe_alone_scores_as_among_others_of_its_kind(attacker):
    """Rows that show one released image have one score, and the order of the probes is theirs."""
    unseen = image_set(30, seed=3, first=500)
    probes = mixed(unseen).images
    scores = attacker.score(probes, unseen.images)
    _, number = distinct(probes)
    for output in np.unique(number)[:3]:
        own = scores[number == output]
        assert np.array_equal(own, np.broadcast_to(own[:1], own.shape))
    order = np.random.default_rng(0).permutation(len(probes))
    np.testing.assert_allclose(
        attacker.score(probes[order], unseen.images), scores[order], atol=1e-4
    )


def test_it_can_be_repeated(attacker):
    probes = image_set(6, seed=5).images
    again = Unmixing(OPTIONS).fit(parts_of(mixed), seed=0)
    assert np.array_equal(attacker.score(probes, probes), again.score(probes, probes))
