"""The attackers that learn nothing; on real sets they are measured in evaluation/test_evaluate."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from anonymize.errors import DataError, UsageError
from attacks.attacker import Auxiliary
from attacks.attackers.features import FeaturesOptions, NetworkFeatures
from attacks.attackers.pixels import Pixels, PixelsOptions
from attacks.attackers.training_free import TrainingFree


@pytest.fixture(scope="module")
def images():
    return torch.rand(12, 1, 48, 64, generator=torch.Generator().manual_seed(0))


# What holds for all of them


UNLEARNT = FeaturesOptions(network="shufflenet_v2_x0_5", weights="random", size=32)


@pytest.fixture(
    scope="module",
    params=[
        TrainingFree,
        Pixels,
        partial(Pixels, PixelsOptions(distance="euclidean")),
        partial(NetworkFeatures, UNLEARNT),
    ],
)
def attacker(request):
    return request.param()


def test_an_image_is_most_like_itself_as_bytes_too_and_in_any_order(attacker, images):
    scores = attacker.score(images.clone(), images)
    assert scores.shape == (12, 12)
    assert scores.dtype == np.float32
    assert (scores.argmax(1) == np.arange(12)).all()
    np.testing.assert_allclose(attacker.score(images.flip(0), images)[::-1], scores, atol=1e-4)
    whole = (images * 255).round().to(torch.uint8)
    np.testing.assert_allclose(
        attacker.score(whole.float() / 255, whole), attacker.score(whole, whole), atol=1e-4
    )


def test_empty_and_damaged_images_are_errors(attacker, images):
    with pytest.raises(DataError, match="no probe image"):
        attacker.score(images[:0], images)
    with pytest.raises(DataError, match="no gallery image"):
        attacker.score(images, images[:0])
    damaged = images.clone()
    damaged[4, 0, 20, 20] = float("nan")
    with pytest.raises(DataError, match="of 1 of 12 probe images are not finite"):
        attacker.score(damaged, images)


@pytest.mark.parametrize("attacker", [TrainingFree(), Pixels()], ids=lambda a: a.name)
def test_flat_images_score_zero_and_two_sizes_are_an_error(attacker, images):
    flat = torch.full_like(images, 0.5)
    assert np.abs(attacker.score(flat, images)).max() < 1e-5
    with pytest.raises(UsageError, match=r"one size, got \(1, 48, 64\) and \(1, 24, 32\)"):
        attacker.score(images, images[..., ::2, ::2])


# Pixels


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_pixels_find_the_image_again_whatever_its_brightness_and_contrast(images, distance):
    scores = Pixels(PixelsOptions(distance=distance)).score(0.4 * images + 0.3, images)
    assert (scores.argmax(1) == np.arange(12)).all()


def test_pixels_are_averages_of_cells(images):
    small = Pixels(PixelsOptions(side=4)).features(images)
    cells = images[5, 0].reshape(4, 12, 4, 16).mean((1, 3)).flatten()
    assert small.shape == (12, 16)
    assert pearsonr(small[5], cells).statistic == pytest.approx(1, abs=1e-6)
    assert np.abs(small.mean(1)).max() < 1e-5
    np.testing.assert_allclose(small.std(1), 1, atol=0.1)
    assert Pixels(PixelsOptions(side=200)).features(images).shape == (12, 48 * 64)


# Gradient histograms


def test_released_images_are_centred_on_their_own_mean(images):
    """A common offset of all released images (here: a bright edge) does not draw the probes."""
    released = images * 0.3
    released[..., 24:] += 0.7
    scores = TrainingFree().score(released, images)
    assert (scores.argmax(1) == np.arange(12)).mean() > 0.9


def test_few_probes_take_the_mean_of_the_gallery(images):
    """A single probe would otherwise be centred on itself and score nothing."""
    attacker = TrainingFree()
    one = np.concatenate([attacker.score(images[i : i + 1], images) for i in range(12)])
    np.testing.assert_allclose(one, attacker.score(images, images), atol=1e-5)


def test_fit_learns_nothing_and_gives_itself_back():
    attacker = TrainingFree()
    assert attacker.fit(Auxiliary(None, None, None, None), seed=0) is attacker
    assert attacker.knowledge == "ignorant"


def test_an_image_smaller_than_a_block_is_an_error(images):
    assert TrainingFree().features(images[..., :6, :6]).shape == (12, 81)
    with pytest.raises(UsageError, match="3 cells of 2 pixels, the image only 5; take larger"):
        TrainingFree().features(images[..., :5, :5])
