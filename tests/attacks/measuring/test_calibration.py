"""Probabilities from scores: against known densities, their properties, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anonymize.errors import DataError, UsageError
from attacks.measuring.calibration import Calibration, cost, posterior

APART = 2.0  # of two normal distributions of deviation 1: ln LR = APART · s − APART² / 2


def drawn(genuine=4000, impostors=40000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(APART, 1, genuine), rng.normal(0, 1, impostors)


def test_the_ratio_is_that_of_the_densities():
    found = Calibration.fit(*drawn())
    scores = np.linspace(-2, 4, 25)
    assert np.abs(found.log_ratios(scores) - (APART * scores - APART**2 / 2)).max() < 0.25


@pytest.mark.parametrize("prior", [0.5, 0.05, 0.002])
def test_of_pairs_called_probable_so_many_are_genuine(prior):
    """Reliability on other pairs, at a share of genuine pairs that the calibration never saw."""
    found = Calibration.fit(*drawn())
    pairs = 2_000_000
    genuine, impostors = drawn(round(prior * pairs), pairs - round(prior * pairs), seed=1)
    said = found.probabilities(np.concatenate([genuine, impostors]), prior)
    same = np.arange(pairs) < len(genuine)
    for low, high in zip((0.02, 0.1, 0.3, 0.5), (0.1, 0.3, 0.5, 1.0), strict=True):
        inside = (said >= low) & (said < high)
        spread = np.sqrt(said[inside].mean() / max(inside.sum(), 1))
        assert inside.sum() > 20
        assert abs(said[inside].mean() - same[inside].mean()) < 0.03 + 3 * spread


def test_the_posterior_is_that_of_bayes():
    for ratio, prior in ((1.0, 0.3), (9.0, 0.5), (1e6, 1e-8)):
        odds = ratio * prior / (1 - prior)
        assert posterior(np.log(ratio), prior) == pytest.approx(odds / (1 + odds), rel=1e-12)


@given(
    st.floats(0.01, 1e3),
    st.floats(-50, 50),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.floats(1e-9, 0.5),
)
def test_probabilities_rise_with_score_and_prior_and_stay_in_range(slope, offset, scores, prior):
    found = Calibration(slope, offset, genuine=100, impostors=10_000)
    rising = np.sort(np.array(scores))
    low, high = found.probabilities(rising, prior), found.probabilities(rising, 1.5 * prior)
    assert (np.diff(low) >= 0).all()
    assert ((low > 0) & (low < 1)).all()
    assert (high > low).all()
    assert low.max() <= found.highest(prior) + 1e-12


def test_no_ratio_goes_beyond_the_pairs_that_were_seen():
    """Scores without any overlap: certainty is what n pairs can say, not infinite."""
    found = Calibration.fit(np.array([0.9, 0.8, 0.95]), np.linspace(0, 0.1, 50))
    assert np.isfinite(found.slope)
    assert np.exp(found.log_ratios([1e9, -1e9])) == pytest.approx([50, 1 / 3])
    assert found.highest(1e-8) < 1e-6


def test_it_does_not_depend_on_the_unit_of_the_scores():
    genuine, impostors = drawn(300, 3000)
    plain = Calibration.fit(genuine, impostors)
    scaled = Calibration.fit(1000 * genuine - 7, 1000 * impostors - 7)
    assert scaled.log_ratios(1000 * genuine - 7) == pytest.approx(
        plain.log_ratios(genuine), abs=1e-3
    )


def test_the_cost_is_one_bit_where_nothing_is_known_and_falls_with_knowledge():
    assert cost(np.zeros(5), np.zeros(9)) == pytest.approx(1.0)
    assert cost(np.full(5, 30.0), np.full(9, -30.0)) == pytest.approx(0.0, abs=1e-9)
    assert cost(np.full(5, -3.0), np.full(9, 3.0)) > 1
    genuine, impostors = drawn(seed=2)
    found = Calibration.fit(*drawn())
    own = cost(found.log_ratios(genuine), found.log_ratios(impostors))
    for wrong in (0.3, 3.0):  # too shy, too sure
        assert own < cost(*(wrong * found.log_ratios(s) for s in (genuine, impostors)))


@pytest.mark.parametrize(
    ("genuine", "impostors", "message"),
    [
        ([], [0.1], "needs genuine and impostor pairs, got 0 and 1"),
        ([0.1], [], "got 1 and 0"),
        ([np.nan, 1.0], [0.1], "1 of 3 scores are not finite"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(genuine, impostors, message):
    with pytest.raises(DataError, match=message):
        Calibration.fit(np.array(genuine), np.array(impostors))


@pytest.mark.parametrize("scores", [([0.1, 0.2], [0.8, 0.9]), ([0.5, 0.5], [0.5, 0.5])])
def test_scores_no_higher_for_genuine_pairs_say_nothing(scores):
    found = Calibration.fit(*map(np.array, scores))
    assert_allclose(found.log_ratios([-5.0, 0.5, 5.0]), 0)
    assert_allclose(found.probabilities([0.1, 0.9], prior=0.01), 0.01)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, float("nan")])
def test_a_prior_is_a_probability_that_leaves_something_to_find_out(prior):
    with pytest.raises(UsageError, match="a prior must lie between 0 and 1"):
        posterior(0.0, prior)
