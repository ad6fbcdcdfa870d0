"""How alike features are."""

import numpy as np
import pytest

from anonymize.errors import DataError
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


def test_features_that_are_equal_but_for_rounding_score_nothing():
    rng = np.random.default_rng(0)
    alike = np.full((40, 300), 1 / 3, np.float32) * rng.random(300, np.float32)
    known = rng.random((50, 300), np.float32)
    assert not similarity(alike, known, "cosine").any()
    assert similarity(alike + 1e-3 * rng.random((40, 300), np.float32), known, "cosine").any()
