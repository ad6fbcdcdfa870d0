"""The patient bootstrap against brute force: the images of the drawn patients, really repeated."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from test_metrics import FIGURES, slow_pairs, world

from attacks.measuring import metrics, retrieval, statistics
from attacks.measuring.statistics import Measured, MeasuredLabels, draw_patients, summary


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
        for figure in FIGURES[1:4]:
            assert measured[figure.__name__].draws[b] == pytest.approx(figure(*again))
        code, vulnerable = retrieval.retrieve(scores, probes, gallery).vulnerable()
        drawn = weight[np.searchsorted(np.unique(probes.patient), code)]
        assert measured["r_s"].draws[b] == pytest.approx(np.average(vulnerable, weights=drawn))


def test_identification_values_are_those_of_the_metrics():
    data = world(1)
    measured = statistics.measure_identification(*data, resamplings=2)
    assert measured["auc"].value == metrics.pair_auc(*data)
    counts = metrics.count_matrix(*data)
    assert measured["equal_error_rate"].value == counts.equal_error_rate
    for figure in FIGURES[1:]:
        assert measured[figure.__name__].value == figure(*data)
    assert measured["top_5"].value == retrieval.retrieve(*data).within(5).mean()


def test_drawing_every_patient_once_gives_the_value_itself(monkeypatch):
    monkeypatch.setattr(statistics, "draw_patients", lambda n, **_: np.ones((2, n)))
    for figure in statistics.measure_identification(*world(2)).values():
        assert len(figure.draws) == 0 or figure.draws == pytest.approx([figure.value] * 2)


def test_estimated_classification_has_null_for_undefined_labels():
    draws = np.linspace(0.5, 0.9, 41)
    runs = [MeasuredLabels(Measured(0.7, draws), {"a": 0.7, "c": float("nan")}) for _ in "ab"]
    found = statistics.estimate_classification(runs)
    assert found.per_class == {"a": 0.7, "c": None}
    assert found.sd == 0
    assert found.ci95 == pytest.approx((0.51, 0.89))
    empty = MeasuredLabels(Measured(float("nan"), np.zeros(0)), {"c": float("nan")})
    undefined = statistics.estimate_classification([empty])
    assert undefined.mean is None
    assert undefined.ci95 is None
    assert undefined.per_class == {"c": None}


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
