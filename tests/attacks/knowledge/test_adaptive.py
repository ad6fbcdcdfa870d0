"""Registration, the learned inverse and the metric's algebra, on patients of smooth textures."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from identities import SIDE, auc, image_set, parts

from anonymize.whitening import scatter, whitening
from attacks.attacker import Attacker, ImageSet, unit_float
from attacks.attackers.learned_inverse import LearnedInverse, LearnedInverseOptions
from attacks.attackers.registration import Registration, RegistrationOptions
from attacks.attackers.training_free import TrainingFree

SMALL = RegistrationOptions(side=32, block=8, reach=2, candidates=80)


def rolled(images, x=2, y=-1):
    return ImageSet(torch.roll(images.images, (y, x), dims=(-2, -1)), images.owners)


def test_registration_follows_a_shift_and_the_pixels_do_not():
    gallery = image_set(15, noise=0.05, seed=1)
    probes = rolled(gallery)
    follows = auc(Registration(SMALL), probes, gallery)
    stays = auc(Registration(SMALL.model_copy(update={"reach": 0})), probes, gallery)
    assert follows > 0.95
    assert follows > stays


def test_the_residual_of_the_same_image_is_none():
    images = image_set(5, seed=2).images
    scores = Registration(SMALL).score(images, images)
    assert np.diag(scores) == pytest.approx(3, abs=0.02)
    assert (scores <= 3.001).all()


def test_only_candidates_are_registered_and_stand_before_the_others():
    images = image_set(5, seed=2).images
    few = RegistrationOptions(side=32, candidates=4)
    scores = Registration(few).score(images, images)
    plain = TrainingFree().score(images, images)
    assert ((scores > 1).sum(axis=1) == 4).all()
    others = scores <= 1
    assert np.array_equal(scores[others], plain[others])
    for row, first in zip(plain, scores > 1, strict=True):
        assert row[first].min() >= row[~first].max()


class Exact(Attacker):
    """Looks for equal pixels, and so needs what is restored to be right."""

    name, knowledge = "exact", "ignorant"

    def score(self, probes, gallery):
        a, b = (unit_float(images).flatten(1) for images in (probes, gallery))
        return -torch.cdist(a, b).numpy()


@pytest.mark.whole
def test_an_inverse_is_learnt():
    def darker(images):
        levels = (unit_float(images.images) * 0.5 + 0.2) * 255
        return ImageSet(levels.round().to(torch.uint8), images.owners)

    known = parts()
    known = replace(
        known, released=darker(known.real), validation_released=darker(known.validation_real)
    )
    options = LearnedInverseOptions(features=4, levels=2, epochs=12, batch=8, rate=5e-3)
    attacker = LearnedInverse(options, then=Exact()).fit(known, seed=0)
    unseen = image_set(6, seed=5, first=900)
    restored = attacker.restored(darker(unseen).images)
    target, given = unit_float(unseen.images), unit_float(darker(unseen).images)
    assert restored.shape == (24, 1, SIDE, SIDE)
    assert (restored - target).abs().mean() < 0.4 * (given - target).abs().mean()


def test_scatter_one_by_one():
    rng = np.random.default_rng(0)
    vectors, group = rng.standard_normal((11, 3)), np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4])
    total = np.zeros((3, 3))
    for g in range(5):
        own = vectors[group == g]
        for row in own - own.mean(0):
            total += np.outer(row, row)
    assert scatter(vectors, group) == pytest.approx(total / (11 - 5))
    with pytest.raises(ValueError, match="two or more"):
        scatter(vectors, np.arange(11))


@pytest.mark.parametrize("shrinkage", [0.1, 1.0])
def test_whitening_makes_the_shrunk_covariance_one(shrinkage):
    rng = np.random.default_rng(0)
    c = np.cov(rng.standard_normal((5, 40)) * np.arange(1, 6)[:, None])
    shrunk = (1 - shrinkage) * c + shrinkage * np.trace(c) / 5 * np.eye(5)
    a = whitening(c, shrinkage).astype(float)
    assert a.T @ shrunk @ a == pytest.approx(np.eye(5), abs=1e-4)
