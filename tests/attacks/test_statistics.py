"""The patient bootstrap against brute force: the images of the drawn patients, really repeated."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from test_metrics import slow_pairs, world

from attacks import metrics, statistics
from attacks.statistics import Measured, draw_patients, summary


def repeated(probes, weights):
    """Rows of the probes of the drawn patients, each as often as its patient was drawn."""
    owner = np.unique(probes.patient, return_inverse=True)[1]
    return np.repeat(np.arange(len(probes)), weights[owner].astype(int))


@pytest.mark.parametrize("seed", range(3))
def test_identification_draws_against_repeated_probes(seed):
    scores, probes, gallery = world(seed, images=60, patients=15)
    measured = statistics.measure_identification(scores, probes, gallery, resamplings=20, seed=seed)
    weights = draw_patients(len(np.unique(probes.patient)), resamplings=20, seed=seed)
    for b, weight in enumerate(weights):
        rows = repeated(probes, weight)
        again = scores[rows], probes[rows], gallery
        sampled, same = slow_pairs(*again)
        assert measured["auc"].draws[b] == pytest.approx(roc_auc_score(same, sampled))
        for name in ("precision_at_1", "map_at_r", "r_precision"):
            assert measured[name].draws[b] == pytest.approx(getattr(metrics, name)(*again))
        code, vulnerable = metrics.retrieve(scores, probes, gallery).vulnerable()
        drawn = weight[np.searchsorted(np.unique(probes.patient), code)]
        assert measured["r_s"].draws[b] == pytest.approx(np.average(vulnerable, weights=drawn))


def test_identification_values_are_those_of_the_metrics():
    data = world(1)
    measured = statistics.measure_identification(*data, resamplings=2)
    assert measured["auc"].value == metrics.pair_auc(*data)
    counts = metrics.count_matrix(*data)
    assert measured["equal_error_rate"].value == counts.equal_error_rate
    for name in ("precision_at_1", "map_at_r", "r_precision", "r_s"):
        assert measured[name].value == getattr(metrics, name)(*data)
    assert measured["top_5"].value == metrics.top_k(*data, 5)


def test_drawing_every_patient_once_gives_the_value_itself(monkeypatch):
    monkeypatch.setattr(statistics, "draw_patients", lambda n, **_: np.ones((2, n)))
    for figure in statistics.measure_identification(*world(2)).values():
        assert len(figure.draws) == 0 or figure.draws == pytest.approx([figure.value] * 2)


def test_pair_list_draws_against_repeated_pairs():
    rng = np.random.default_rng(0)
    patient, same = rng.integers(0, 12, 200), rng.random(200) < 0.5
    scores = np.round(rng.standard_normal(200) + same, 1)
    measured = statistics.measure_pairs(scores, same, patient, resamplings=30, seed=5)
    assert measured["auc"].value == pytest.approx(roc_auc_score(same, scores))
    for weight, found in zip(
        draw_patients(12, resamplings=30, seed=5), measured["auc"].draws, strict=True
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


def test_classification_leaves_out_unknown_and_one_sided_labels():
    scores, targets, patient, labels = classification()
    found = statistics.measure_classification(scores, targets, patient, labels, resamplings=20)
    known = ~np.isnan(targets)
    expected = [roc_auc_score(targets[known[:, c], c], scores[known[:, c], c]) for c in (0, 1)]
    assert [found.per_class["a"], found.per_class["b"]] == pytest.approx(expected)
    assert np.isnan(found.per_class["c"])
    assert found.mean.value == pytest.approx(np.mean(expected))
    codes, owner = np.unique(patient, return_inverse=True)
    for weight, value in zip(
        draw_patients(len(codes), resamplings=20), found.mean.draws, strict=True
    ):
        rows = np.repeat(np.arange(300), weight[owner].astype(int))
        again = [rows[known[rows, c]] for c in (0, 1)]
        both = [roc_auc_score(targets[r, c], scores[r, c]) for c, r in enumerate(again)]
        assert value == pytest.approx(np.mean(both))


def test_estimated_classification_has_null_for_undefined_labels():
    runs = [statistics.measure_classification(*classification(), resamplings=50) for _ in "ab"]
    found = statistics.estimate_classification(runs)
    assert found.per_class["c"] is None
    assert found.sd == 0
    assert found.ci95[0] < found.mean < found.ci95[1]
    scores, targets, patient, labels = classification()
    empty = statistics.measure_classification(scores, np.zeros_like(targets), patient, labels)
    undefined = statistics.estimate_classification([empty])
    assert undefined.mean is None
    assert undefined.ci95 is None
    assert set(undefined.per_class.values()) == {None}


def test_a_draw_without_a_genuine_pair_is_undefined():
    scores, same, owner = np.arange(4.0), np.array([False, False, False, True]), np.arange(4)
    weights = np.array([[2.0, 1, 1, 0], [1, 1, 1, 1]])
    found = statistics.weighted_auc(scores, same, owner, weights)
    assert np.isnan(found[0])
    assert found[1] == 1
    assert statistics.percentile_interval(np.array([np.nan, np.nan, 0.5])) is None
    assert statistics.percentile_interval(np.zeros(0)) is None


def test_interval_covers_the_truth():
    """60 worlds of 60 patients with unequal scores: about 95 % of the intervals hold the AUC that
    very many patients would give; resampling pairs instead would miss it far more often."""
    rng = np.random.default_rng(0)

    def pairs(patients):
        quality = np.repeat(rng.standard_normal(patients), 8)
        same = np.tile(np.repeat([True, False], 4), patients)
        scores = rng.standard_normal(8 * patients) + same * (1 + 1.5 * quality)
        return scores, same, np.repeat(np.arange(patients), 8)

    truth = metrics.auc(*pairs(40_000)[:2])
    inside = by_pair = 0
    for _ in range(60):
        scores, same, patient = pairs(60)
        for unit, hit in ((patient, 1), (np.arange(len(same)), 0)):
            measured = statistics.measure_pairs(scores, same, unit, resamplings=400)
            low, high = summary([measured["auc"]]).ci95
            inside += hit * (low <= truth <= high)
            by_pair += (1 - hit) * (low <= truth <= high)
    assert inside >= 53
    assert by_pair < inside - 5


def test_summary_of_runs():
    draws = np.linspace(0, 1, 1001)
    runs = [Measured(0.6, draws), Measured(0.8, draws)]
    found = summary(runs)
    assert found.mean == pytest.approx(0.7)
    assert found.sd == pytest.approx(0.1)
    assert found.ddof == 0
    assert found.runs == (0.6, 0.8)
    assert found.ci95 == pytest.approx((0.025, 0.975))
    assert summary(runs, ddof=1).sd == pytest.approx(0.1 * np.sqrt(2))
    assert summary(runs, ddof=1).ddof == 1
    assert summary(runs[:1], ddof=1).sd == 0


def test_the_seed_decides():
    data = world(0)

    def interval(seed):
        runs = [statistics.measure_identification(*data, resamplings=50, seed=seed)]
        return statistics.estimate_identification(runs)["auc"].ci95

    assert interval(1) == interval(1) != interval(2)


def test_errors_say_what_was_wrong():
    with pytest.raises(ValueError, match="at least one run"):
        summary([])
    with pytest.raises(ValueError, match="same draws"):
        summary([Measured(1, np.zeros(3)), Measured(1, np.zeros(4))])
    scores, targets, patient, labels = classification()
    with pytest.raises(ValueError, match=r"\(300, 2\) \(images, labels\), got \(300, 3\)"):
        statistics.measure_classification(scores, targets, patient, labels[:2])
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        statistics.measure_classification(scores, targets - 1, patient, labels)
    broken = scores.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        statistics.measure_classification(broken, np.nan_to_num(targets), patient, labels)
