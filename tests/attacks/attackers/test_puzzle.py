"""Patches of mosaics: the grid and copies are found, mates are told, and evidence is joined."""

import numpy as np
import pytest
import torch
from mosaics_made_up import SIDE, known, mosaics, people
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from attacks.measuring.metrics import Contributors, Owners
from attacks.training.affinity import Affinity, Worth, kind_of
from attacks.training.assembly import Puzzle
from attacks.training.outputs import Outputs
from attacks.training.patches import (
    UNLIKE,
    copies,
    grid_of,
    insides,
    likeness_of_copies,
    patch_levels,
    standing,
)

# Patches


def test_patches_stand_row_by_row_and_gain_changes_nothing():
    image = torch.zeros(1, 1, 24, 24)
    image[..., :12, 12:] = 1.0
    patches = patch_levels(image, 2)[0]
    assert patches.shape == (4, 12, 12)
    assert (patches[1] > 1).all()
    assert (patches[[0, 2, 3]] < 0).all()
    np.testing.assert_allclose(patch_levels(0.2 + 0.5 * image, 2)[0], patches, atol=0.01)


@pytest.mark.parametrize("g", [2, 3, 4])
def test_the_grid_is_found(g):
    images = people(80, each=1, seed=4)
    rows, released = mosaics(images, m=2, g=g)
    assert grid_of(released.images, images[rows].images, (2, 3, 4)) == g


def test_who_stands_where_is_found():
    images = people(27, each=1, seed=5)
    pixels = torch.zeros(3, 1, SIDE, SIDE, dtype=torch.uint8)
    truth = np.random.default_rng(0).permutation(27).reshape(3, 9)
    for output, place in np.ndindex(3, 9):
        down, across = (slice(16 * n, 16 * n + 16) for n in divmod(place, 3))
        pixels[output, 0, down, across] = images.images[truth[output, place], 0, down, across]
    owners = images.owners[truth[:, 0]]
    made_of = Contributors(truth, truth, np.full_like(truth, -1))
    owners = Owners(owners.image, owners.patient, owners.identified, contributors=made_of)
    outputs = Outputs(pixels, np.arange(3), owners)
    assert np.array_equal(standing(outputs, images, 3), truth)
    absent = images[np.flatnonzero(~np.isin(np.arange(27), truth[1]))]
    assert (standing(outputs, absent, 3)[1] == -1).all()


@pytest.mark.parametrize("uses", [1, 2, 3])
def test_copies_are_found_where_patches_are_used_again(uses):
    learnt, judged = known(2, uses), people(45, seed=2, first=200)
    outputs = Outputs.of(learnt.released)
    stands = standing(outputs, learnt.real, 3)
    likeness = likeness_of_copies(insides(patch_levels(outputs.images, 3)), stands)
    assert (likeness == UNLIKE) == (uses == 1)
    unseen = Outputs.of(learnt.validation_released)
    truth = standing(unseen, judged, 3)
    label = copies(insides(patch_levels(unseen.images, 3)), likeness)
    for place in range(9):
        same, told = (x[:, place][:, None] == x[:, place] for x in (truth, label))
        assert (same == told).mean() > 0.999


def test_the_likeness_tells_fewest_pairs_wrong():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(6, 1, 8)).repeat(2, axis=0)
    shown = base + 0.5 * rng.normal(size=base.shape)
    shown = (shown / np.linalg.norm(shown, axis=2, keepdims=True)).astype(np.float32)
    stands = np.repeat(np.arange(6), 2)[:, None]
    upper = np.triu_indices(12, 1)
    alike = (shown[:, 0] @ shown[:, 0].T)[upper]
    same = (stands == stands.T)[upper]
    wrong = [((alike >= limit) != same).sum() for limit in [*alike, 2.0]]
    chosen = likeness_of_copies(shown, stands)
    assert ((alike >= chosen) != same).sum() == min(wrong)
    assert likeness_of_copies(shown, np.arange(12)[:, None]) == UNLIKE


# What goes together


def test_neighbours_have_a_border_in_common():
    assert {q for q in range(9) if kind_of(4, q, 3) == "neighbours"} == {1, 3, 5, 7}
    assert kind_of(2, 3, 3) == "distant"  # the end of a row and the start of the next


def test_the_ratio_is_that_of_normal_distributions():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(4000, 1, 2))
    mix = rng.normal(size=(4, 2, 144))
    patches = np.einsum("nok,pkd->npd", common, mix) + 0.5 * rng.normal(size=(4000, 4, 144))
    made = Affinity.taught(patches.reshape(4000, 4, 12, 12), components=3)
    own = made.reduced(patches[:50].reshape(50, 4, 12, 12))
    left, right, s = made.across[0, 3]
    x, y = own[0] @ left, own[3] @ right
    both = np.block([[np.eye(3), np.diag(s)], [np.diag(s), np.eye(3)]])
    expected = np.empty((50, 50))
    for i, j in np.ndindex(50, 50):
        pair = np.concatenate([x[i], y[j]])
        alone = multivariate_normal(np.zeros(6)).logpdf(pair)
        expected[i, j] = multivariate_normal(np.zeros(6), both).logpdf(pair) - alone
    np.testing.assert_allclose(made.gaussian(own, 0, 3), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(made.gaussian(own, 3, 0), expected.T, rtol=1e-5, atol=1e-5)
    assert s[0] > 0.5 > 0.2 > s[2]  # the third component is noise


def test_worth_makes_ratios_of_scores_and_nothing_of_noise():
    rng = np.random.default_rng(0)
    same = np.arange(4000) % 4 == 0
    worth = Worth.of(30 * (rng.normal(size=4000) + 2 * same), same)  # ratio 2 z − 2, at any scale
    assert worth.slope * 30 == pytest.approx(2, abs=0.2)
    assert worth.offset == pytest.approx(-2, abs=0.2)
    assert worth.auc == pytest.approx(0.92, abs=0.02)
    assert Worth.of(np.zeros(3), np.zeros(3, bool)).slope == 0
    against = Worth.of(-same.astype(float), same)
    assert (against.slope, against.auc) == (0, 0)


# Putting together


class Told:
    """An affinity that is right, or knows nothing."""

    tells = True

    def __init__(self, whose, sure=6.0):
        self.whose, self.sure = whose, sure

    def ratios(self, reduced, p, q):
        same = self.whose[:, p][:, None] == self.whose[:, q]
        return np.where(same, self.sure, -self.sure)


def puzzle_of(people, m, *, outputs=36, places=9, seed=0):
    """Whose patches stand where (U, g²), each person's ``m`` in other outputs."""
    rng = np.random.default_rng(seed)
    whose = -1 - np.arange(outputs * places).reshape(outputs, places)
    for person in range(people):
        for place in rng.permutation(places)[:m]:
            free = (whose[:, place] < 0) & ~(whose == person).any(axis=1)
            whose[rng.choice(np.flatnonzero(free)), place] = person
    return whose


def test_what_is_put_together_finds_more_the_more_patches_there_are():
    people, reached = 30, []
    for m in (1, 2, 4):
        whose = puzzle_of(people, m)
        rng = np.random.default_rng(1)
        ratios = rng.normal(size=(9, 36, people)) - 0.5  # of a stranger, a deviation apart
        ratios += whose.T[:, :, None] == np.arange(people)
        puzzle = Puzzle(np.tile(np.arange(36)[:, None], 9), Told(whose), None)
        there = (whose[:, :, None] == np.arange(people)).any(axis=1)
        share = (m - 1) / 8
        joined = np.logaddexp.reduce(puzzle.assembled(ratios.astype(np.float32), share), axis=0)
        alone = np.logaddexp.reduce(ratios, axis=0)
        aucs = [roc_auc_score(there.ravel(), found.ravel()) for found in (alone, joined)]
        reached.append(aucs[1] - aucs[0])
    assert reached[0] == 0
    assert reached[2] > reached[1] + 0.03 > 0.06


def test_messages_are_what_the_mixture_says():
    rng = np.random.default_rng(0)
    label = np.tile(np.arange(5)[:, None], 4)
    label[3, 1] = label[0, 1]  # a copy
    whose = rng.integers(0, 4, size=(5, 4))
    told, ratios = Told(whose, 1.5), rng.normal(size=(4, 5, 3)).astype(np.float32)
    found = Puzzle(label, told, None).assembled(ratios, 0.3)
    for p, u, x in np.ndindex(4, 5, 3):
        expected = ratios[p, u, x]
        others = [v for v in range(5) if label[v, p] != label[u, p]]
        for q in {0, 1, 2, 3} - {p}:
            odds = [np.exp(told.ratios(None, p, q)[u, v]) for v in others]
            likely = [np.exp(ratios[q, v, x]) for v in others]
            both = np.mean([a * b for a, b in zip(odds, likely, strict=True)])
            expected += np.log(0.7 + 0.3 * both)
            expected -= np.log(0.7 + 0.3 * np.mean(odds)) + np.log(0.7 + 0.3 * np.mean(likely))
        assert found[p, u, x] == pytest.approx(expected, abs=1e-4)


def test_a_gallery_image_is_scored_whoever_stands_beside_it():
    whose = puzzle_of(20, 4)
    puzzle = Puzzle(np.tile(np.arange(36)[:, None], 9), Told(whose), None)
    ratios = np.random.default_rng(0).normal(size=(9, 36, 20)).astype(np.float32)
    some = np.arange(0, 20, 3)
    np.testing.assert_allclose(
        puzzle.assembled(ratios[:, :, some], 0.5),
        puzzle.assembled(ratios, 0.5)[:, :, some],
        atol=1e-5,
    )


def test_who_knows_no_mates_adds_nothing():
    ratios = np.random.default_rng(0).normal(size=(9, 36, 5)).astype(np.float32)
    label = np.tile(np.arange(36)[:, None], 9)
    alike = Told(puzzle_of(5, 2), sure=0.0)  # every mate is as likely as any
    found = Puzzle(label, alike, None).assembled(ratios, 0.9)
    np.testing.assert_allclose(found, ratios, atol=1e-5)
    one = Puzzle(label * 0, alike, None)  # all are copies of one patch, and nobody has a mate
    assert np.array_equal(one.assembled(ratios, 0.9), ratios)


def test_copies_have_the_mean_of_what_they_show():
    puzzle = Puzzle(np.array([[0, 0], [1, 0], [0, 2]]), None, None)
    values = torch.tensor([[1.0], [5.0], [2.0]])
    assert puzzle.averaged(values, 0).ravel().tolist() == [1.5, 5.0, 1.5]
    assert puzzle.averaged(values, 1).ravel().tolist() == [3.0, 3.0, 2.0]
