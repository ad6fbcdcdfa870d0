"""Differences, equivalence and many comparisons, against their definitions."""

import numpy as np
import pytest
from scipy.stats import binom, t, ttest_1samp

from anonymize.statistics import Measured, confidence_interval
from attacks.measuring.comparisons import (
    equivalence,
    holm,
    p_above,
    p_below,
    p_different,
    paired_runs,
)


def of_patients(values, *, resamplings=4000, bounded=False):
    """The mean of one value a patient, drawn."""
    values = np.asarray(values, float)
    rng = np.random.default_rng(0)
    draws = values[rng.integers(len(values), size=(resamplings, len(values)))].mean(axis=1)
    return Measured(float(values.mean()), draws, len(values), bounded)


def test_the_p_of_a_mean_is_that_of_the_t_test():
    values = np.random.default_rng(3).normal(0.4, 1, 24)
    found, expected = of_patients(values), ttest_1samp(values, 0)
    assert p_different(found) == pytest.approx(expected.pvalue, rel=0.1)
    low, high = expected.confidence_interval(0.95)
    assert found.interval == pytest.approx((low, high), abs=0.03)
    one_sided = ttest_1samp(values, 0, alternative="greater").pvalue
    assert p_above(found, 0) == pytest.approx(one_sided, rel=0.1)
    assert p_above(found, 0) + p_below(found, 0) == pytest.approx(1)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_value_on_the_border_of_the_interval_has_p_of_its_level(bounded):
    found = of_patients(np.random.default_rng(0).beta(3, 2, 12), bounded=bounded)
    for level in (0.9, 0.95):
        for border in confidence_interval(found, level):
            assert p_different(found, border) == pytest.approx(1 - level)


def test_what_is_not_defined_is_not_shown():
    for undefined in (Measured(0.9, np.zeros(0)), Measured(0.9, np.ones(5), patients=1)):
        assert p_above(undefined, 0.5) == p_below(undefined, 0.5) == p_different(undefined) == 1
    assert not equivalence(Measured(0.0, np.zeros(0), bounded=False), 0.1).not_worse


def test_what_does_not_vary_is_certain():
    same = Measured(0.0, np.zeros(9), 5, bounded=False)
    assert p_different(same) == 1
    assert p_different(same, 0.1) == 0
    assert equivalence(same, 0.01).equivalent


@pytest.mark.parametrize("patients", [2, 3, 12])
def test_figures_without_an_exception_are_no_surer_than_their_interval(patients):
    """Two patients who are always told apart may be luck."""
    best, worst = (Measured(v, np.full(50, v), patients) for v in (1.0, 0.0))
    (low, _), (_, high) = best.interval, worst.interval
    assert p_above(best, low) == pytest.approx(0.025)
    assert p_below(worst, high) == pytest.approx(0.025)
    assert p_above(best, 0.5) == pytest.approx(binom.pmf(patients, patients, 0.5))
    assert p_below(best, 0.5) == p_above(worst, 0.5) == 1


def test_a_difference_is_known_better_than_both_of_its_figures():
    rng = np.random.default_rng(0)
    of_each = rng.normal(0, 0.1, 40)
    first, second = (of_patients(0.7 + shift + of_each) for shift in (0.02, 0))
    noise = of_patients(rng.normal(0, 0.01, 40))
    first = Measured(first.value + noise.value, first.draws + noise.draws, 40)
    (difference,) = paired_runs([first], [second])
    assert difference.value == pytest.approx(first.value - second.value)
    assert difference.error < first.error / 5
    assert p_different(difference) < 0.001
    assert not difference.bounded


def test_runs_are_paired_where_both_have_as_many():
    runs = [Measured(v, np.full(4, v)) for v in (0.5, 0.7, 0.9)]
    assert [d.value for d in paired_runs(runs, runs)] == [0, 0, 0]
    assert [d.value for d in paired_runs(runs, runs[:1])] == pytest.approx([0, 0.2, 0.4])
    with pytest.raises(ValueError, match="same draws"):
        paired_runs(runs, [Measured(0.5, np.zeros(5))])


def test_runs_that_cannot_be_paired_keep_the_spread_of_both():
    """One run less five of other seeds: the difference is not known better than their mean."""
    patients = 0.001 * np.random.default_rng(0).standard_normal(2000)
    (one, *five) = (Measured(v, v + patients, 30) for v in (0.9, 0.5, 0.6, 0.7, 0.8, 0.9))
    (difference,) = paired_runs([one], five)
    assert difference.value == pytest.approx(0.2)
    of_seeds = np.var([0.5, 0.6, 0.7, 0.8, 0.9], ddof=1) / 5
    assert difference.error**2 == pytest.approx(of_seeds, rel=0.1)
    assert difference.patients == pytest.approx(5, rel=0.1)


def test_a_difference_that_no_draw_varies_has_no_interval():
    """Two figures without an exception differ by 0 in every draw, which says nothing of others."""
    runs = [Measured(1.0, np.ones(50), 5)]
    (difference,) = paired_runs(runs, runs)
    assert difference.interval is None


def test_two_one_sided_tests():
    found = of_patients(np.random.default_rng(1).normal(-0.01, 0.05, 30))
    for margin in (0.005, 0.02, 0.03, 0.2):
        test = equivalence(found, margin)
        low, high = test.ci90
        assert test.equivalent == (-margin < low and high < margin)
        assert test.not_worse == (low > -margin)
        upper = t.sf((found.value + margin) / found.error, 29)
        assert test.p == pytest.approx(upper)
    with pytest.raises(ValueError, match="margin must be positive"):
        equivalence(found, 0)


def test_holm_step_by_step():
    """The definition: reject the smallest while p · (how many are left) stays below the level."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        ps = rng.random(n) ** 3
        adjusted = holm(ps)
        for level in (0.01, 0.05, 0.2):
            rejected, left = set(), sorted(range(n), key=lambda i: ps[i])
            while left and ps[left[0]] * len(left) <= level:
                rejected.add(left.pop(0))
            assert rejected == {i for i in range(n) if adjusted[i] <= level}
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1, 1]
