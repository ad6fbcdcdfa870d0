"""Patches of several people: the window that is of a person is not lost among the others."""

from copy import copy

import numpy as np
import pytest
import torch
from identities import SIDE, auc, image_set, parts_of

from attacks.attacker import ImageSet
from attacks.attackers.patchwise import Patchwise, PatchwiseOptions
from attacks.training.outputs import Outputs
from attacks.training.pooling import POOLINGS
from attacks.training.window_weights import Mixed, Weights
from attacks.training.windows import Window, cell_maps, described, grid

OPTIONS = PatchwiseOptions(cells=16, parts=(2,), components=20, undo=0)


def mosaics(images, side=2, *, each=4):
    """Every row with an image whose quarters are of four patients, whom it is one of: the n-th of
    four patients gives the n-th quarter."""
    pixels = images.images.clone()
    step, cells = SIDE // side, side**2
    for first in range(0, len(images), each * cells):
        for turn in range(each):
            rows = first + turn + each * np.arange(cells)
            made = torch.zeros_like(pixels[0])
            for cell, row in enumerate(rows):
                top, left = step * (cell // side), step * (cell % side)
                at = (..., slice(top, top + step), slice(left, left + step))
                made[at] = images.images[row][at]
            pixels[torch.as_tensor(rows)] = made
    return ImageSet(pixels, images.owners)


# Windows


def test_windows_cover_the_image_and_overlap_by_half():
    places = grid(24, 4)
    assert len(places) == 49
    assert {p.side for p in places} == {6}
    assert sorted({p.row for p in places}) == [0, 3, 6, 9, 12, 15, 18]
    assert [(p.row, p.column, p.side) for p in grid(9, 1)] == [(0, 0, 9)]


def test_a_description_is_of_its_window_alone_and_of_no_gain():
    images = torch.rand(3, 1, 32, 32)
    place = grid(16, 4)[0]
    assert (place.row, place.column, place.side) == (0, 0, 4)
    own = described(cell_maps(images, 16), place)
    changed = images.clone()
    changed[..., 16:, :] = torch.rand(3, 1, 16, 32)
    np.testing.assert_allclose(described(cell_maps(changed, 16), place), own, atol=1e-6)
    duller = described(cell_maps(0.2 + 0.5 * images, 16), place)
    np.testing.assert_allclose(duller, own, atol=1e-3)


def test_a_shift_is_down_and_to_the_right_and_ends_at_the_border():
    maps = cell_maps(torch.rand(2, 1, 32, 32), 16)
    first, across, last = grid(16, 4)[0], grid(16, 4)[1], grid(16, 4)[-1]
    assert (across.row, across.column) == (0, 2)
    assert np.array_equal(described(maps, first, (0, 2)), described(maps, across))
    assert np.array_equal(described(maps, last, (3, 3)), described(maps, last))


def test_a_window_may_lie_beside_its_place():
    images = image_set(30, each=2, noise=0.02)
    maps = cell_maps(images.images, 16)
    window = Window.taught(grid(16, 2)[4], [maps], images.owners, components=20, shrinkage=0.1)
    moved = cell_maps(images.images.roll(2, dims=3), 16)  # by one cell
    rows = np.arange(len(maps))
    at, beside = (window.cosine(maps, moved, reach) for reach in (0, 1))
    assert (beside >= at - 1e-6).all()
    assert np.diag(beside).mean() > np.diag(at).mean() + 0.1
    orders = np.stack([rows, rows[::-1]])
    expected = np.stack([np.diag(beside), beside[rows, rows[::-1]]])
    np.testing.assert_allclose(window.of_rows(maps, moved, orders, 1), expected, atol=1e-5)


# Pooling


def test_poolings_are_what_their_formulas_say():
    rng = np.random.default_rng(0)
    ratios, share = rng.normal(size=(5, 2, 3)), np.array([0.1, 0.3, 0.2, 1.0, 0.5])
    with_share = ratios + np.log(share)[:, None, None]
    expected = {
        "mean": ratios.sum(axis=0),
        "likelihood": np.log((share[:, None, None] * np.exp(ratios)).sum(axis=0)),
        "sharp": np.log((share[:, None, None] * np.exp(2 * ratios)).sum(axis=0)) / 2,
        "max": with_share.max(axis=0),
        "top": np.sort(with_share, axis=0)[-3:].mean(axis=0),
    }
    for name, value in expected.items():
        pooling = POOLINGS[name]
        total = pooling.start((2, 3))
        for window, of_one in zip(ratios, share, strict=True):
            total = pooling.add(total, window, of_one)
        np.testing.assert_allclose(pooling.end(total), value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("share", "away"), [(0.06, 4.0), (0.25, 3.0), (0.9, 5.0)])
def test_how_many_windows_show_what_they_showed_is_found(share, away):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000) + away * (rng.random(4000) < share)
    found = Mixed.fit(scores)
    assert found.share == pytest.approx(share, abs=0.03)
    assert found.away == pytest.approx(away, abs=0.3)


def test_likelihood_ratios_are_those_of_normal_distributions():
    weights = Weights(*(np.array([value]) for value in (0.2, 0.5, 1.5, 1.0)))
    z = (np.array([0.1, 0.9]) - 0.2) / 0.5
    expected = -((z - 1.5) ** 2) / 2 + z**2 / 2
    np.testing.assert_allclose(weights.likelihood(np.array([0.1, 0.9]), 0), expected)


# The attacker


@pytest.fixture(scope="module")
def attacker():
    return Patchwise(OPTIONS).fit(parts_of(mosaics), seed=0)


def test_a_mosaic_gives_away_whose_patches_it_has(attacker):
    unseen = image_set(32, seed=3, first=500)
    released = Outputs.of(mosaics(unseen))
    assert len(released.images) == len(unseen) // 4
    scores = attacker.score(released.images, unseen.images)
    assert released.origin_auc(scores, unseen.owners) > 0.95
    assert released.link_auc(scores, unseen.owners) > 0.85
    # A window in four is of the person: their sum tells less than the likelihood of a mixture.
    only_mean = copy(attacker)
    only_mean._pooling = POOLINGS["mean"]
    plain = only_mean.score(released.images, unseen.images)
    assert released.origin_auc(scores, unseen.owners) > released.origin_auc(plain, unseen.owners)


def test_who_is_in_no_mosaic_is_not_found(attacker):
    unseen, others = image_set(32, seed=3, first=500), image_set(32, seed=4, first=500)
    assert abs(auc(attacker, mosaics(unseen), others) - 0.5) < 0.1


def test_it_can_be_repeated_and_takes_its_probes_in_any_order(attacker):
    unseen = image_set(8, seed=5)
    again = Patchwise(OPTIONS).fit(parts_of(mosaics), seed=0)
    probes = mosaics(unseen).images
    scores = attacker.score(probes, unseen.images)
    assert np.array_equal(scores, again.score(probes, unseen.images))
    order = np.random.default_rng(0).permutation(len(probes))
    np.testing.assert_allclose(
        attacker.score(probes[order], unseen.images), scores[order], atol=1e-3
    )
