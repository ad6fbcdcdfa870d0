"""k-Same of patients against its definition, by numpy and by least squares."""

import numpy as np
import pytest
import torch
from sets_made_up import people

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import codes_by_labels

GIVEN = people(60, labels=1, seed=5)
IMAGES = GIVEN.images.pixels.double().numpy().reshape(len(GIVEN), -1) / 255


def released(spec="k=4,seed=1", given=GIVEN):
    return anonymize.load(f"k-same:{spec}").released(given)


def test_an_output_is_the_mean():
    found = released()
    for pixels, rows in zip(
        found.images.pixels.flatten(1).numpy(), found.contributors, strict=True
    ):
        np.testing.assert_allclose(pixels, IMAGES[rows].mean(axis=0), atol=1e-6)


def test_pixels_tell_the_contributors_that_are_named():
    """Unmixed by least squares over the whole set: equal parts of those, and nothing of others."""
    found = released()
    parts = np.linalg.lstsq(IMAGES.T, found.images.pixels.flatten(1).double().numpy().T, rcond=None)
    for part, rows in zip(parts[0].T, found.contributors, strict=True):
        expected = np.zeros(len(GIVEN))
        expected[rows] = 1 / len(rows)
        np.testing.assert_allclose(part, expected, atol=1e-3)


@pytest.mark.parametrize("k", [2, 5, 7, 60])
def test_a_group_is_k_people_for_good(k):
    found = released(f"k={k},codes=1,seed=1")
    for group in np.unique(found.groups):
        outputs = [found.contributors[i] for i in np.flatnonzero(found.groups == group)]
        members = np.unique(GIVEN.patients[np.concatenate(outputs)])
        assert k <= len(members) <= 2 * k - 1
        counts = sorted((GIVEN.patients == member).sum() for member in members)
        assert len(outputs) == counts[-k]  # as many as k of them have
    assert len(np.unique(found.groups)) == 60 // k


def test_every_image_is_used_once_at_most():
    found = released()
    used = np.concatenate(found.contributors)
    assert len(np.unique(used)) == len(used)
    assert len(used) + len(found.withheld(len(GIVEN))) == len(GIVEN)


def test_of_k_patients_with_equally_many_images_nothing_is_withheld():
    whose = np.repeat(np.arange(20), 3)
    given = Radiographs(HeldImages(torch.rand(60, 1, 8, 8)), whose, np.zeros((60, 1)))
    found = released("k=5,seed=1", given)
    assert [len(rows) for rows in found.contributors] == [5] * 12
    assert len(found.withheld(60)) == 0


def test_patients_of_one_code_are_put_together():
    codes = codes_by_labels(GIVEN)[:, 0]
    code_of = dict(zip(np.unique(GIVEN.patients).tolist(), codes, strict=True))
    names, counts = np.unique(codes, return_counts=True)
    plenty = set(names[counts >= 4]) - {min(names, key=lambda n: counts[names == n])}
    groups = {}
    found = released()
    for rows, group in zip(found.contributors, found.groups.tolist(), strict=True):
        groups.setdefault(group, set()).update(code_of[p] for p in GIVEN.patients[rows].tolist())
    pure = [g for g in groups.values() if len(g) == 1]
    assert {code for g in pure for code in g} & plenty
    # What is not pure holds codes that have too few patients of their own.
    few = set(names[counts < 4])
    assert all(g & few for g in groups.values() if len(g) > 1)


def test_images_of_like_labels_are_mixed():
    """Each patient has two images with the finding and two without."""
    whose = np.repeat(np.arange(12), 4)
    targets = np.tile([1.0, 0, 0, 1], 12)[:, None]
    given = Radiographs(HeldImages(torch.rand(48, 1, 8, 8)), whose, targets)
    told = released("k=3,seed=1", given).targets(targets)[:, 0]
    assert sorted(told.tolist()) == [0] * 8 + [1] * 8


def test_who_is_put_together_is_a_lot():
    given = people(60, labels=0, most=1)
    found = [released("k=3", given).contributors for _ in range(40)]
    beside = np.zeros((60, 60))
    for rows in (rows for contributors in found for rows in contributors):
        beside[np.ix_(rows, rows)] += 1
    assert (np.diag(beside) == 40).all()
    # Everybody stands beside each of 59 others 40 · 2 / 59 times on average.
    assert beside[~np.eye(60, dtype=bool)].max() < 12
