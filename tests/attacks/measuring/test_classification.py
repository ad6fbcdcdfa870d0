"""Calibration error and labels told apart, derived a second time on small arrays."""

import numpy as np
import pytest

from anonymize.statistics import measure_classification
from attacks.measuring.classification import (
    ALL,
    ECE,
    HELD_BACK,
    TOLD,
    Known,
    expected_calibration_error,
    measure_reading,
)

LABELS = ("a", "b", "c", "d")


@pytest.fixture
def known():
    """60 images of 20 patients; a label half unknown, and one that nobody has."""
    rng = np.random.default_rng(0)
    targets = rng.integers(0, 2, (60, 4)).astype(np.float32)
    targets[::2, 1] = np.nan
    targets[:, 3] = 0
    return Known(targets, np.repeat(np.arange(20), 3), LABELS, ("b", "d"))


@pytest.fixture
def logits(known):
    rng = np.random.default_rng(1)
    return np.nan_to_num(known.targets) + rng.normal(size=(60, 4))


def by_bins(said, present, bins=15):
    """Guo et al. 2017, Eq. 3, bin by bin; a bin holds its lower edge."""
    error = 0.0
    for m in range(bins):
        last = m == bins - 1
        inside = (said >= m / bins) & ((said < (m + 1) / bins) | last)
        if inside.any():
            error += inside.mean() * abs(present[inside].mean() - said[inside].mean())
    return error


@pytest.mark.parametrize("seed", range(5))
def test_calibration_error_is_that_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    said, present = rng.uniform(size=200), rng.uniform(size=200) < 0.3
    assert expected_calibration_error(said, present) == pytest.approx(by_bins(said, present))


def test_who_says_how_often_it_is_so_makes_no_error():
    said = np.repeat([0.25, 0.75], 400)
    present = np.tile([1, 0, 0, 0], 100).tolist() + np.tile([1, 1, 1, 0], 100).tolist()
    assert expected_calibration_error(said, np.array(present)) == pytest.approx(0)
    assert expected_calibration_error(np.ones(4), np.zeros(4)) == 1
    assert expected_calibration_error(np.array([1.0, 0.0]), np.array([1, 0])) == 0


@pytest.mark.parametrize(
    ("said", "present"), [([], []), ([0.5], [1, 0]), ([1.2], [1]), ([np.nan], [1])]
)
def test_calibration_of_nothing_is_refused(said, present):
    with pytest.raises(ValueError, match="probabilities"):
        expected_calibration_error(np.array(said), np.array(present))


def test_told_and_held_back_are_the_means_of_their_labels(logits, known):
    found = measure_reading(logits, known, resamplings=30, seed=3)
    for name, columns in ((ALL, [0, 1, 2, 3]), (TOLD, [0, 2]), (HELD_BACK, [1, 3])):
        one = measure_classification(
            logits[:, columns],
            known.targets[:, columns],
            known.patient,
            [LABELS[i] for i in columns],
            resamplings=30,
            seed=3,
        )
        assert found[name].mean.value == one.mean.value
        np.testing.assert_array_equal(found[name].mean.draws, one.mean.draws)
    each = found[ALL].per_class
    assert found[TOLD].mean.value == pytest.approx((each["a"] + each["c"]) / 2)
    assert found[HELD_BACK].mean.value == pytest.approx(each["b"])


def test_calibration_is_of_the_labels_that_have_an_auc(logits, known):
    found = measure_reading(logits, known, resamplings=10, seed=0)[ECE]
    said = 1 / (1 + np.exp(-logits))
    expected = []
    for column in range(3):
        there = ~np.isnan(known.targets[:, column])
        expected.append(by_bins(said[there, column], known.targets[there, column]))
    assert list(found.per_class.values())[:3] == pytest.approx(expected, abs=1e-6)
    assert np.isnan(found.per_class["d"])
    assert found.mean.value == pytest.approx(np.mean(expected), abs=1e-6)


def test_nothing_is_told_apart_where_nothing_is_held_back(logits, known):
    whole = Known(known.targets, known.patient, LABELS)
    assert set(measure_reading(logits, whole, resamplings=10, seed=0)) == {ALL, ECE}
