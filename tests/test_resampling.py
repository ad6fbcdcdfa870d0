"""The patient bootstrap against brute force: the images of the drawn patients, really repeated."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest, t
from sklearn.metrics import roc_auc_score

from anonymize import statistics
from anonymize.statistics import (
    Measured,
    draw_patients,
    effective,
    measure_auc,
    measure_classification,
)
from attacks.measuring.statistics import mean_of, mean_of_runs, mean_over_runs


def test_pair_list_draws_against_repeated_pairs():
    rng = np.random.default_rng(0)
    patient, same = rng.integers(0, 12, 200), rng.random(200) < 0.5
    scores = np.round(rng.standard_normal(200) + same, 1)
    measured = measure_auc(scores, same, patient, resamplings=30, seed=5)
    assert measured.value == pytest.approx(roc_auc_score(same, scores))
    for weight, found in zip(
        draw_patients(12, resamplings=30, seed=5), measured.draws, strict=True
    ):
        rows = np.repeat(np.arange(200), weight[patient].astype(int))
        assert found == pytest.approx(roc_auc_score(same[rows], scores[rows]))


def test_weighted_auc_in_parts_is_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    scores, same, owner = rng.random(50), rng.random(50) < 0.3, rng.integers(0, 9, 50)
    weights = draw_patients(9, resamplings=17)
    whole = statistics.weighted_auc(scores, same, owner, weights)
    monkeypatch.setattr(statistics, "CHUNK", 150)
    assert np.array_equal(whole, statistics.weighted_auc(scores, same, owner, weights))


def classification(seed=0, n=300):
    rng = np.random.default_rng(seed)
    targets = (rng.random((n, 3)) < 0.3).astype(np.float32)
    scores = rng.standard_normal((n, 3)) + targets
    targets[rng.random((n, 3)) < 0.1] = np.nan
    targets[:, 2] = np.where(np.isnan(targets[:, 2]), np.nan, 0)
    return scores, targets, rng.integers(0, 80, n), ["a", "b", "c"]


def test_patients_who_bear_different_findings_bear_the_mean_together():
    """Kish's number of patients of the mean: that of one finding where the same patients have both,
    of both together where others have each."""
    patient = np.repeat(np.arange(40), 3)
    scores = np.random.default_rng(0).standard_normal((120, 2))

    def bearing(first, second):
        targets = np.stack([np.isin(patient, list(ill)) for ill in (first, second)], axis=1)
        found = measure_classification(scores, targets * 1.0, patient, ["a", "b"], resamplings=8)
        return found.mean.patients

    assert bearing(range(4), range(4)) == pytest.approx(4)
    assert bearing(range(4), range(4, 8)) == pytest.approx(8)
    assert bearing(range(4), range(36)) == pytest.approx(8)  # of whom few are healthy


def test_classification_leaves_out_unknown_and_one_sided_labels():
    scores, targets, patient, labels = classification()
    found = measure_classification(scores, targets, patient, labels, resamplings=20)
    known = ~np.isnan(targets)
    expected = [roc_auc_score(targets[known[:, c], c], scores[known[:, c], c]) for c in (0, 1)]
    assert [found.per_class["a"], found.per_class["b"]] == pytest.approx(expected)
    assert np.isnan(found.per_class["c"])
    assert found.intervals["c"] is None
    low, high = found.intervals["a"]
    assert low < found.per_class["a"] < high
    assert found.mean.value == pytest.approx(np.mean(expected))


def test_draws_of_a_classification_are_those_of_its_slope():
    """Each patient moves the mean as far as by counting a little more, in a brute-force AUC."""
    scores, targets, patient, labels = classification()
    scores = np.round(scores, 1)  # ties
    codes, owner = np.unique(patient, return_inverse=True)
    drawn, step = draw_patients(len(codes), resamplings=20), 1e-6
    moved, bearing = [], []
    for c in (0, 1):
        known = ~np.isnan(targets[:, c])
        target, score = targets[known, c], scores[known, c]

        def auc(weights, target=target, score=score, own=owner[known]):
            return roc_auc_score(target, score, sample_weight=weights[own])

        slopes = [
            (auc(1 + step * one) - auc(1 - step * one)) / (2 * step) for one in np.eye(len(codes))
        ]
        moved.append(drawn @ slopes)
        alone = measure_classification(
            scores[:, [c]], targets[:, [c]], patient, [labels[c]], resamplings=20
        )
        expected = auc(np.ones(len(codes))) + moved[-1]
        assert alone.mean.draws == pytest.approx(expected, abs=1e-6)
        bearing.append(alone.mean.patients)
    both = measure_classification(scores, targets, patient, labels, resamplings=20).mean
    # Each label's error is that of as many as bear it; together they are no surer of themselves.
    together = both.patients / (both.patients - 1)
    grown = [
        np.sqrt(n / (n - 1) / together) * of_one for n, of_one in zip(bearing, moved, strict=True)
    ]
    assert both.draws - both.value == pytest.approx(np.mean(grown, axis=0), abs=1e-6)


@pytest.mark.parametrize(("bearers", "counts"), [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize("present", [True, False])
def test_a_finding_of_two_patients_is_left_out_of_the_mean(bearers, counts, present):
    """One patient's hardly moves its AUC when he is drawn twice, and would pass for certain."""
    patient, rng = np.repeat(np.arange(40), 3), np.random.default_rng(0)
    rare, common = patient < bearers, rng.random(120) < 0.5
    targets = np.stack([rare == present, common], axis=1) * 1.0
    found = measure_classification(
        rng.standard_normal((120, 2)), targets, patient, ["rare", "common"], resamplings=20
    )
    assert np.isfinite(found.per_class["rare"]) == counts
    assert (found.intervals["rare"] is not None) == counts
    kept = [value for value in found.per_class.values() if np.isfinite(value)]
    assert len(kept) == 1 + counts
    assert found.mean.value == pytest.approx(np.mean(kept))


def test_a_draw_without_a_genuine_pair_is_undefined():
    scores, same, owner = np.arange(4.0), np.array([False, False, False, True]), np.arange(4)
    weights = np.array([[2.0, 1, 1, 0], [1, 1, 1, 1]])
    found = statistics.weighted_auc(scores, same, owner, weights)
    assert np.isnan(found[0])
    assert found[1] == 1
    assert Measured(0.5, np.array([np.nan, np.nan, 0.5])).interval is None
    assert Measured(0.5, np.zeros(0)).interval is None
    assert Measured(0.5, np.array([0.4, 0.6]), patients=1).interval is None


def test_interval_covers_the_truth():
    """150 worlds of 60 patients with unequal scores: about 95 % of the intervals hold the AUC that
    very many patients would give; resampling pairs instead would miss it far more often."""
    rng = np.random.default_rng(0)

    def pairs(patients):
        quality = np.repeat(rng.standard_normal(patients), 8)
        same = np.tile(np.repeat([True, False], 4), patients)
        scores = rng.standard_normal(8 * patients) + same * (1 + 1.5 * quality)
        return scores, same, np.repeat(np.arange(patients), 8)

    truth = roc_auc_score(*pairs(40_000)[1::-1])
    inside = by_pair = 0
    for _ in range(150):
        scores, same, patient = pairs(60)
        for unit, hit in ((patient, 1), (np.arange(len(same)), 0)):
            measured = measure_auc(scores, same, unit, resamplings=200)
            low, high = measured.interval
            inside += hit * (low <= truth <= high)
            by_pair += (1 - hit) * (low <= truth <= high)
    # Where 99.9 % of such tests lie, if 95 % of the intervals hold it (binomial).
    assert 0.88 <= inside / 150 <= 0.994
    assert by_pair < inside - 12


def test_patients_drawn_in_parts_are_the_same(monkeypatch):
    whole = draw_patients(9, resamplings=17, seed=3)
    assert whole.shape == (17, 9)
    assert (whole.sum(axis=1) == 9).all()
    monkeypatch.setattr(statistics, "CHUNK", 20)
    assert np.array_equal(whole, draw_patients(9, resamplings=17, seed=3))


def test_patients_count_by_what_they_bear():
    assert effective(np.full(7, 3)) == pytest.approx(7)
    assert effective(np.array([1000, 1, 1])) == pytest.approx(1, abs=0.01)
    assert effective(np.array([4, 4, 0])) == pytest.approx(2)
    assert effective(np.zeros(3)) == 0


def test_intervals_of_few_patients_are_wider_and_stay_inside():
    draws = np.random.default_rng(0).normal(0.97, 0.01, 500)
    few, many = (Measured(0.97, draws, patients).interval for patients in (4, 400))
    assert 0 < few[0] < many[0] < 0.97 < many[1] < few[1] < 1
    low, high = Measured(0.97, draws - 0.97 + 0.01, 4, bounded=False).interval
    assert (low + high) / 2 == pytest.approx(0.97)


def test_the_error_of_an_interval_is_that_of_the_log_odds():
    draws, centre = np.random.default_rng(0).normal(3.5, 0.4, 4000), expit(3.5)
    error = 0.4 * np.sqrt(30 / 29)
    reach, middle = t.isf(0.025, 29) * error, 3.5 - (centre - 0.5) * error**2
    found = Measured(centre, expit(draws), 30).interval
    assert found == pytest.approx(expit([middle - reach, middle + reach]), rel=2e-3)


def test_log_odds_of_an_unbiased_share_lose_their_bias():
    """Shares of 200 trials: their plain log odds lie too far out on average."""
    rng, true = np.random.default_rng(0), 0.95
    values = rng.binomial(200, true, 4000) / 200
    found = [Measured(v, rng.binomial(200, v, 100) / 200) for v in values if v < 1]
    plain = np.mean([logit(one.value) for one in found]) - logit(true)
    assert plain > 0.03
    assert abs(np.mean([one.log_odds for one in found]) - logit(true)) < plain / 2


def test_a_draw_without_an_exception_is_not_certain():
    """It counts as 16 times the odds, so that some of them make an interval wide, but not empty."""
    centre, odds = 0.95, 0.95 / 0.05
    beyond = np.r_[np.full(90, centre), np.ones(10)]
    at = np.r_[np.full(90, centre), np.full(10, 16 * odds / (1 + 16 * odds))]
    assert Measured(centre, beyond, 20).interval == pytest.approx(Measured(centre, at, 20).interval)


def test_a_figure_without_an_exception_has_the_limit_of_its_patients():
    """Of n patients without one: 97.5 % of such samples show one where a share of the limit has."""
    low, high = Measured(1.0, np.ones(9), 40).interval
    assert high == 1
    assert low**40 == pytest.approx(0.025)
    assert Measured(0.0, np.zeros(9), 40).interval == (0, pytest.approx(1 - low))
    assert Measured(np.nextafter(1.0, 2), np.ones(9), 40).interval == (low, high)  # by rounding


@pytest.mark.parametrize(("right", "cases"), [(3, 400), (190, 400), (399, 400)])
def test_a_rate_of_as_many_independent_cases_has_the_interval_of_wilson(right, cases):
    """A second derivation, by scipy; of so many patients Student's t is the normal one."""
    rate = right / cases
    draws = rate + np.sqrt(rate * (1 - rate) / cases) * np.array([-1.0, 1.0])
    expected = binomtest(right, cases).proportion_ci(method="wilson")
    found = Measured(rate, draws, patients=1e9, rate=True).interval
    assert found == pytest.approx((expected.low, expected.high), abs=1e-6)
    fewer = Measured(rate, draws, patients=5, rate=True).interval
    assert 0 < fewer[0] < found[0] < found[1] < fewer[1] < 1


def test_a_mean_of_rates_is_one():
    runs = [Measured(value, value + np.array([-0.1, 0.1]), 40, rate=True) for value in (0.2, 0.3)]
    for mean in (mean_of_runs(runs), mean_over_runs(runs)):
        assert mean.rate
    assert not mean_of_runs([*runs, Measured(0.4, runs[0].draws, 40)]).rate


def test_errors_say_what_was_wrong():
    scores, targets, patient, labels = classification()
    with pytest.raises(ValueError, match=r"\(300, 2\) \(images, labels\), got \(300, 3\)"):
        measure_classification(scores, targets, patient, labels[:2])
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        measure_classification(scores, targets - 1, patient, labels)
    broken = scores.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        measure_classification(broken, np.nan_to_num(targets), patient, labels)
    with pytest.raises(ValueError, match="one shape"):
        measure_auc(np.ones(3), np.array([True, False]), np.arange(3))
    with pytest.raises(ValueError, match="both values"):
        measure_auc(np.ones(2), np.array([True, True]), np.arange(2))
    with pytest.raises(ValueError, match="NaN"):
        measure_auc(np.array([0, np.nan]), np.array([True, False]), np.arange(2))


def test_other_intervals_are_of_another_day():
    """Committed results say by which formula they are; whoever changes it says since when."""
    rates = [0.18832, 0.32383]
    of_day = {"2026-11-29T16": [0.58323, 0.91849, 0.71750, 0.89063, 0.51427, 0.87800, *rates]}
    images = np.arange(60)
    patient, present = images // 3, images % 4 == 0
    targets = np.stack([present, patient < 5], axis=1) * 1.0
    waves = np.stack([np.sin(1.7 * images), np.cos(2.3 * images)], axis=1)
    scores = waves + np.array([0.8, 1.0]) * targets
    one = measure_auc(scores[:, 0], present, patient).interval
    both = measure_classification(scores, targets, patient, ["a", "b"]).mean.interval
    others = [scores[:, 0] + share * waves[:, 1] for share in (0, 1, 2)]
    runs = [measure_auc(other, present, patient) for other in others]
    mean = mean_over_runs(runs).interval
    weights = draw_patients(20, resamplings=1000)
    rate = mean_of(present.astype(float), patient, weights).interval
    found = [*one, *both, *mean, *rate]
    assert found == pytest.approx(of_day[statistics.FORMULA], abs=1e-5)
