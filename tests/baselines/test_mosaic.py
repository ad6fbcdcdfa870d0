"""Mosaics: who stands where, what is shown of anybody, and pixels derived a second way."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from sets_made_up import people

import anonymize
from anonymize import spline
from anonymize.data.batches import HeldImages
from anonymize.errors import UsageError
from anonymize.flow import warp
from baselines.patchwork import Warps, patchwork, standardised, weights
from baselines.placing import placed

GIVEN = people(40, labels=1, seed=6, size=(30, 41))


# Who stands where


@pytest.mark.parametrize(
    ("patients", "cells", "m", "uses"),
    [
        (4, 4, 1, 1),
        (4, 4, 4, 1),  # a Latin square: everybody in every mosaic
        (9, 9, 9, 1),
        (16, 16, 16, 2),
        (17, 16, 15, 1),
        (37, 9, 5, 3),
        (100, 4, 2, 1),
    ],
)
def test_every_patch_once_and_nobody_twice(patients, cells, m, uses):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, patients)
    images = np.split(rng.permutation(sizes.sum()), np.cumsum(sizes)[:-1])
    whose = {row: patient for patient, rows in enumerate(images) for row in rows.tolist()}
    found = placed(images, cells, m, uses, rng)
    # As many as there are patches for, however tight.
    assert found.shape == (patients * m // cells * uses, cells)
    owner = np.vectorize(whose.__getitem__)(found)
    assert all(len(set(mosaic)) == cells for mosaic in owner.tolist())
    shown = Counter(zip(owner.ravel().tolist(), np.tile(np.arange(cells), len(found)), strict=True))
    assert set(shown.values()) == {uses}
    assert max(Counter(patient for patient, _ in shown).values()) <= m
    # A patch is of one image in all its mosaics.
    pictures = {(owner[place], place[1]): set() for place in np.ndindex(found.shape)}
    for place in np.ndindex(found.shape):
        pictures[owner[place], place[1]].add(found[place])
    assert {len(rows) for rows in pictures.values()} == {1}
    # As many images of a patient as he has, before one is drawn twice.
    for patient, rows in enumerate(images):
        drawn = Counter(row for (who, _), own in pictures.items() if who == patient for row in own)
        assert max(drawn.values(), default=0) <= -(-m // len(rows))


def test_patches_are_drawn_by_lot():
    images = [np.array([i]) for i in range(48)]
    found = [placed(images, 4, 2, 1, np.random.default_rng(seed)) for seed in range(60)]
    at = np.zeros((48, 4))
    for mosaics, cell in itertools.product(found, range(4)):
        np.add.at(at[:, cell], mosaics[:, cell], 1)
    assert abs(at.mean() - 30) < 1e-9
    assert at.std() < 2 * np.sqrt(60 / 4)
    assert at.min() > 0
    beside = Counter(frozenset(row[:2].tolist()) for mosaics in found for row in mosaics)
    assert beside.most_common(1)[0][1] < 12


def test_many_patients_are_placed_soon():
    images = [np.array([i]) for i in range(3000)]
    assert placed(images, 16, 4, 2, np.random.default_rng(0)).shape == (1500, 16)


# Weights


@pytest.mark.parametrize("feather", [0, 1e-9, 0.5, 1])
def test_weights_are_shares_of_every_pixel(feather):
    for size, side in itertools.product([(4, 4), (7, 5), (9, 12), (30, 41)], (2, 3, 4)):
        found = weights(size, side, feather)
        assert found.shape == (side**2, *size)
        assert found.min() >= 0
        torch.testing.assert_close(found.sum(dim=0), torch.ones(size))
        assert (found.flatten(1).sum(dim=1) > 0).all()
        if not feather:
            assert set(found.unique().tolist()) == {0, 1}
            # Which one: the cell that the centre of the pixel lies in.
            y, x = ((np.arange(n) + 0.5) * side // n for n in size)
            assert np.array_equal(found.argmax(dim=0).numpy(), y[:, None] * side + x)


@pytest.mark.parametrize(
    ("spec", "size", "fits"),
    [
        ("g=5,m=5,feather=0", 16, False),  # a patch of 4 × 4 pixels is 1/16 of it
        ("g=3,m=1,feather=0", 64, False),
        ("g=3,m=9,feather=0", 64, True),  # all of it
        ("g=3,m=3", 64, True),
        ("g=4,m=4,feather=0", 96, True),
    ],
)
def test_more_of_an_image_than_is_promised_is_not_shown(spec, size, fits):
    method = anonymize.load(f"mosaic:{spec}")
    o = method.settings
    parts = weights((size, size), o.g, o.feather).mean(dim=(1, 2)).sort().values[-o.m :]
    assert (parts.sum() <= 1.001 * method.shown) == fits
    assert (method.unfit(size, size) == "") == fits


def test_a_patch_reaches_half_a_feather_into_its_neighbours_and_fades():
    row = weights((40, 40), 2, 0.5)[0, 0]
    at = (torch.arange(40) + 0.5) / 20
    assert (row[at < 0.75] == 1).all()
    assert (row[at > 1.25] == 0).all()
    assert (row.diff() <= 0).all()
    torch.testing.assert_close(row + row.flip(0), torch.ones(40))
    assert row.mean() == pytest.approx(0.5)


def test_the_first_patch_is_upper_left_and_the_second_beside_it():
    first, second, third, _ = weights((8, 8), 2, 0)
    assert first[0, 0] == second[0, 7] == third[7, 0] == 1


# Pixels


def equalised(images, band=None, cut=1 / 64):
    """Images (n, H, W) of the same mean, spread and energy, by scipy in double precision."""
    sigma = max(images.shape[1:]) * cut
    radius = round(4 * sigma)
    coarse = np.stack([gaussian_filter(i, sigma, mode="nearest", radius=radius) for i in images])
    fine = images - coarse
    level, spread, energy = (
        f(part).mean() for f, part in ((each_mean, images), (each_sd, coarse), (each_sd, fine))
    )
    return level + sum(
        size * (part - each_mean(part)) / each_sd(part)
        for name, size, part in (("coarse", spread, coarse), ("fine", energy, fine))
        if band in (name, None)
    )


def each_mean(images):
    return images.mean(axis=(1, 2), keepdims=True)


def each_sd(images):
    return images.std(axis=(1, 2), keepdims=True)


@pytest.mark.parametrize(
    ("feather", "of_a_band"),
    [
        (0, {}),
        (0.5, {}),
        (0.5, {"band": "coarse"}),
        (0.5, {"band": "coarse", "cut": 1 / 32}),
        (0.5, {"band": "fine"}),
        (0.5, {"cut": 1 / 16}),
    ],
)
def test_a_mosaic_is_the_weighted_sum_of_equalised_images(feather, of_a_band):
    images = GIVEN.images.batch(np.arange(20))
    rows = np.random.default_rng(0).integers(0, 20, (7, 9))
    weight = weights((30, 41), 3, feather)
    found = patchwork(HeldImages(images), rows, weight, **of_a_band)
    assert found.shape == (7, 1, 30, 41)
    for mosaic, own in zip(found, rows, strict=True):
        alike = equalised(images[own, 0].double().numpy(), **of_a_band)
        expected = (weight.numpy() * alike).sum(axis=0).clip(0, 1)
        np.testing.assert_allclose(mosaic[0].numpy(), expected, atol=2e-5)


def test_images_that_are_one_another_give_it_back():
    """Every patch of one image: nothing is to be seen of the borders."""
    image = GIVEN.images.batch(np.arange(1))
    found = patchwork(HeldImages(image), np.zeros((1, 16), int), weights((30, 41), 4, 0.5))
    torch.testing.assert_close(found, image, atol=1e-5, rtol=0)


def test_every_patch_is_deformed_by_a_warp_of_its_own():
    """A ramp shows by how much each pixel comes from further along it."""
    side, rms = 96, 0.1
    along = torch.linspace(-1, 1, side)
    ramps = torch.stack([along.expand(side, side), along[:, None].expand(side, side)])
    images = HeldImages((0.5 + 0.4 * ramps)[:, None])
    weight = weights((side, side), 3, 0)
    warps = Warps.drawn(rms, (2, 9), np.random.default_rng(0))
    inner = slice(12, -12)  # beyond the border it is continued
    found = []
    for component in (0, 1):
        made = patchwork(images, np.full((2, 9), component), weight, warps)[:, 0]
        found.append(((made - 0.5) / 0.4 - ramps[component])[:, inner, inner])
    moved = torch.stack(found).square().sum(dim=0)
    assert moved.mean().sqrt() == pytest.approx(rms, rel=0.15)
    one, other = torch.stack(found, dim=1)
    assert (one - other).square().sum(dim=0).mean().sqrt() > rms
    # As a whole image warped by that patch's field, cut out.
    field = spline.through(warps.points[1, 4][None], side, side)
    field *= rms / field.square().sum(dim=1).mean().sqrt()
    whole = warp(images.batch(np.array([0])), field)[0, 0]
    patch = (1, 0, *[slice(34, 62)] * 2)
    shown = patchwork(images, np.zeros((2, 9), int), weight, warps)[patch]
    torch.testing.assert_close(shown, whole[patch[2:]], atol=2e-3, rtol=0)


@pytest.mark.parametrize(("warp", "uses"), [(None, 3), (0.1, 1), (0.1, 2), (0.1, 4)])
def test_no_more_of_anybody_is_shown_than_is_told(warp, uses):
    """Pixels of one image that stand in its patches, where they weigh half or more, all mosaics
    together: bent anew in each, a patch shows others as well."""
    side, g, m = 96, 4, 4
    model = anonymize.load(f"mosaic:g={g},m={m},uses={uses},seed=0" + f",warp={warp}" * bool(warp))
    pixel = torch.stack(torch.meshgrid(*[torch.arange(side).float()] * 2, indexing="ij"))
    drawn = Warps.drawn(warp, (uses, m), np.random.default_rng(0)) if warp else None
    core = weights((side, side), g, 0.5)[torch.tensor([0, 3, 9, 14])] >= 0.5
    shown = torch.zeros(side, side, dtype=torch.bool)
    for mosaic, cell in np.ndindex(uses, m):
        place = slice(0, side), slice(0, side)
        moved = drawn.moved(pixel, mosaic, cell, place) if drawn else pixel
        row, column = moved.round().long().clamp(0, side - 1)
        shown[row[core[cell]], column[core[cell]]] = True
    once = m / g**2
    assert shown.float().mean() <= model.shown
    assert model.shown == (min(1, once * uses) if warp else once)
    assert (shown.float().mean() > once) == (warp is not None and uses > 1)


def test_brightness_contrast_sharpness_and_noise_are_taken_off():
    images = GIVEN.images.batch(np.arange(6))
    parts, level = standardised(images, 1 / 64)
    dull, _ = standardised(0.3 * images + 0.2, 1 / 64)
    torch.testing.assert_close(dull, parts, atol=1e-4, rtol=0)
    torch.testing.assert_close(parts.mean(dim=(2, 3)), torch.zeros(6, 2), atol=1e-5, rtol=0)
    torch.testing.assert_close(parts.square().mean(dim=(2, 3)), torch.ones(6, 2))
    back = level[:, 0, None, None] + (parts * level[:, 1:, None, None]).sum(dim=1)
    torch.testing.assert_close(back, images[:, 0], atol=1e-5, rtol=0)


def test_without_feather_every_patch_is_of_the_image_that_is_named():
    """Found again by correlation with all images of the set."""
    found = anonymize.load("mosaic:g=3,m=2,feather=0,codes=1,seed=1").released(GIVEN)
    images = GIVEN.images.batch(np.arange(len(GIVEN)))[:, 0].double()
    cell = weights((30, 41), 3, 0).bool()
    whose = np.full((len(found), 9), -1)
    for number, mosaic in enumerate(found.images.pixels[:, 0].double()):
        for place, inside in enumerate(cell):
            alike = torch.corrcoef(torch.cat([mosaic[inside][None], images[:, inside]]))[0, 1:]
            whose[number, place] = alike.argmax()
        assert np.array_equal(np.unique(whose[number]), found.contributors[number])
    # At most m patches of anybody, of different cells.
    shown = Counter(GIVEN.patients[whose].ravel().tolist())
    assert max(shown.values()) == 2
    cells = Counter(
        zip(GIVEN.patients[whose].ravel(), np.tile(np.arange(9), len(found)), strict=True)
    )
    assert set(cells.values()) == {1}


@pytest.mark.parametrize(
    ("options", "mosaics"), [("m=4", 40), ("m=1", 10), ("m=1,uses=3", 30), ("m=3,uses=2", 60)]
)
def test_as_many_mosaics_as_patches_allow(options, mosaics):
    found = anonymize.load(f"mosaic:g=2,codes=1,{options}").released(GIVEN)
    assert len(found) == mosaics
    assert {len(rows) for rows in found.contributors} == {4}
    assert len(np.unique(found.groups)) == 1


def test_fewer_pixels_than_patches_are_refused():
    small = people(20, size=(12, 3))
    with pytest.raises(
        UsageError, match=r"needs images of 4 pixels.*got \(12, 3\); take a smaller g"
    ):
        anonymize.load("mosaic:g=4").released(small)
