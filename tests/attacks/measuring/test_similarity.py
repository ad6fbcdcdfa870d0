"""What the attackers that learn nothing share, and pixels as features."""

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from anonymize.errors import DataError, UsageError
from attacks.attackers.pixels import Pixels, PixelsOptions
from attacks.attackers.training_free import TrainingFree
from attacks.measuring.similarity import similarity

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(30, 7)) + 5


def test_cosine_of_each_set_around_its_own_mean():
    """Derived pair by pair: Pearson's correlation does not centre over the images, so it is not
    it; the cosine of what differs from the mean image is."""
    asked, known = FEATURES[:12], FEATURES[12:]
    found = similarity(asked, known, "cosine")
    for i, j in ((0, 0), (3, 9), (11, 17)):
        a, b = asked[i] - asked.mean(0), known[j] - known.mean(0)
        assert found[i, j] == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-6)
    assert found.dtype == np.float32


def test_euclidean_is_the_negative_distance():
    asked, known = FEATURES[:12], FEATURES[12:]
    found = similarity(asked, known, "euclidean")
    away = (asked[3] - asked.mean(0)) - (known[4] - known.mean(0))
    assert found[3, 4] == pytest.approx(-np.sqrt((away**2).sum()), abs=1e-5)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_an_offset_of_all_released_images_changes_nothing(distance):
    moved = similarity(FEATURES + 100, FEATURES, distance)
    np.testing.assert_allclose(moved, similarity(FEATURES, FEATURES, distance), atol=1e-4)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_features_that_are_not_finite_are_an_error_and_no_score(distance):
    broken = FEATURES.copy()
    broken[[2, 5], 1] = np.nan, np.inf
    with pytest.raises(DataError, match=r"features of 2 of 30 gallery images are not finite"):
        similarity(FEATURES, broken, distance)
    with pytest.raises(DataError, match="features of 2 of 30 probe images"):
        similarity(broken, FEATURES, distance)


def test_an_empty_set_is_an_error():
    with pytest.raises(DataError, match="no probe image"):
        similarity(FEATURES[:0], FEATURES, "cosine")
    with pytest.raises(DataError, match="no gallery image"):
        similarity(FEATURES, FEATURES[:0], "cosine")


@pytest.mark.parametrize("attacker", [TrainingFree(), Pixels()], ids=lambda a: a.name)
def test_empty_and_damaged_images_are_errors_of_the_attackers_too(attacker):
    images = torch.rand(12, 1, 48, 48, generator=torch.Generator().manual_seed(0))
    with pytest.raises(DataError, match="no probe image"):
        attacker.score(images[:0], images)
    with pytest.raises(DataError, match="no gallery image"):
        attacker.score(images, images[:0])
    damaged = images.clone()
    damaged[4, 0, 20, 20] = float("nan")
    with pytest.raises(DataError, match="of 1 of 12 probe images are not finite"):
        attacker.score(damaged, images)


@pytest.fixture(scope="module")
def images():
    return torch.rand(14, 1, 48, 64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_pixels_find_the_image_again_whatever_its_brightness_and_contrast(images, distance):
    attacker = Pixels(PixelsOptions(distance=distance))
    scores = attacker.score(0.4 * images + 0.3, images)
    assert (scores.argmax(1) == np.arange(14)).all()


def test_pixels_are_averages_of_cells(images):
    small = Pixels(PixelsOptions(side=4)).features(images)
    cells = images[5, 0].reshape(4, 12, 4, 16).mean((1, 3)).flatten()
    assert small.shape == (14, 16)
    assert pearsonr(small[5], cells).statistic == pytest.approx(1, abs=1e-6)
    assert np.abs(small.mean(1)).max() < 1e-5
    np.testing.assert_allclose(small.std(1), 1, atol=0.1)


def test_pixels_of_a_small_image_are_not_enlarged(images):
    assert Pixels(PixelsOptions(side=200)).features(images).shape == (14, 48 * 64)


def test_flat_images_score_zero(images):
    flat = torch.full_like(images, 0.5)
    assert np.abs(Pixels().score(flat, images)).max() < 1e-5


def test_probes_and_gallery_of_two_sizes(images):
    with pytest.raises(UsageError, match=r"one size, got \(1, 48, 64\) and \(1, 24, 32\)"):
        Pixels().score(images, images[..., ::2, ::2])
