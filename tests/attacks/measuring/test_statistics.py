"""The patient bootstrap against brute force: the images of the drawn patients, really repeated."""

import numpy as np
import pytest
from test_metrics import FIGURES, world

from attacks.measuring import metrics, retrieval, statistics
from attacks.measuring.statistics import (
    Measured,
    MeasuredLabels,
    draw_patients,
    mean_over_runs,
    summary,
)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_of_repeated_probes_in_the_whole_gallery(seed):
    scores, probes, gallery = world(seed, images=60, patients=15)
    measured = statistics.measure_identification(scores, probes, gallery, resamplings=20, seed=seed)
    codes = np.union1d(probes.patient, gallery.patient)
    everybody = np.unique(gallery.patient[gallery.identified])
    code, vulnerable = retrieval.retrieve(scores, probes, gallery).vulnerable()
    for b, weight in enumerate(draw_patients(len(codes), resamplings=20, seed=seed)):
        rows = np.repeat(np.arange(len(probes)), weight[probes.patient].astype(int))
        again = scores[rows], probes[rows], gallery
        for figure in FIGURES[1:4]:
            assert measured[figure.__name__].draws[b] == pytest.approx(figure(*again))
        drawn = weight[np.searchsorted(codes, code)]
        assert measured["r_s"].draws[b] == pytest.approx(np.average(vulnerable, weights=drawn))
        all_drawn = weight[np.searchsorted(codes, everybody)].sum()
        assert measured["r_s_all"].draws[b] == pytest.approx(vulnerable @ drawn / all_drawn)


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
    assert found.ci95 == runs[0].mean.interval
    empty = MeasuredLabels(Measured(float("nan"), np.zeros(0)), {"c": float("nan")})
    undefined = statistics.estimate_classification([empty])
    assert undefined.mean is None
    assert undefined.ci95 is None
    assert undefined.per_class == {"c": None}


def test_summary_of_runs():
    draws = np.linspace(0.5, 0.9, 1001)
    runs = [Measured(0.6, draws - 0.1), Measured(0.8, draws + 0.1)]
    found = summary(runs)
    assert found.mean == pytest.approx(0.7)
    assert found.sd == pytest.approx(0.1)
    assert found.ddof == 0
    assert found.runs == (0.6, 0.8)
    assert summary(runs[:1]).sd == 0
    assert summary(runs[:1]).ci95 == runs[0].interval


def test_a_mean_over_runs_has_the_error_of_patients_and_of_runs():
    """Of independent runs: the variances add up, and few runs leave few degrees of freedom."""
    rng = np.random.default_rng(0)
    patients = 0.03 * rng.standard_normal(4000)
    seeds = np.array([-0.06, -0.01, 0.02, 0.05])
    runs = [Measured(0.7 + s, 0.7 + s + patients, 30) for s in seeds]
    whole = mean_over_runs(runs)
    of_patients, of_runs = 0.03**2 * 30 / 29, seeds.var(ddof=1) / 4
    assert whole.value == pytest.approx(0.7)
    assert whole.error**2 == pytest.approx(of_patients + of_runs, rel=0.05)
    spread = of_patients**2 / 29 + of_runs**2 / 3
    satterthwaite, share = (of_patients + of_runs) ** 2 / spread, of_runs / (of_patients + of_runs)
    freedom = satterthwaite ** (1 - share) * 3**share
    assert whole.patients - 1 == pytest.approx(freedom, rel=0.05)
    alike = mean_over_runs([runs[0]] * 4)
    assert np.array_equal(alike.draws, runs[0].draws)
    assert alike.patients == 30


@pytest.mark.parametrize("seeds", [1, 5])
def test_means_over_three_runs_hold_what_they_say(seeds):
    """Runs of which seeds make as much as patients, and far more: of 2,000 worlds."""
    rng, held = np.random.default_rng(0), 0
    away = 0.01 * rng.standard_normal((2000, 100))
    away -= away.mean(axis=1, keepdims=True)  # each world's draws lie around its own figures
    for drawn in away:
        values = 0.5 + 0.01 * (rng.standard_normal() + seeds * rng.standard_normal(3))
        runs = [Measured(v, v + drawn, 600, bounded=False) for v in values]
        low, high = mean_over_runs(runs).interval
        held += low <= 0.5 <= high
    assert 0.935 < held / len(away) < 0.965


def test_what_patients_do_to_runs_is_no_spread_of_seeds():
    """Runs alike but for what each makes of the patients: no surer, and no less sure, than the
    draws of their mean; where seeds differ, only what is beyond that comes on top."""
    rng = np.random.default_rng(0)
    patients, own = 0.03 * rng.standard_normal(4000), 0.04 * rng.standard_normal((3, 4000))
    apart = np.array([-0.03, 0.0, 0.03])

    def whole(factor):
        values = 0.7 + factor * apart
        return mean_over_runs(
            [Measured(v, v + patients + o, 30) for v, o in zip(values, own, strict=True)]
        )

    of_patients = (0.03**2 + 0.04**2 / 3) * 30 / 29
    assert whole(1).error ** 2 == pytest.approx(of_patients, rel=0.05)
    assert whole(1).patients == 30
    of_seeds = ((4 * 0.03) ** 2 - 0.04**2 * 30 / 29) / 3
    assert whole(4).error ** 2 == pytest.approx(of_patients + of_seeds, rel=0.05)
    assert whole(4).patients < 5  # three seeds are few
    patients, own = patients / 30, own - own.mean(axis=0)  # a mean that patients hardly move
    assert whole(1.4).patients == 3  # no fewer degrees of freedom than seeds have


def test_no_mean_is_surer_than_its_own_runs():
    """Two runs that few patients move against each other: their mean hardly varies with patients,
    and yet the runs differ."""
    rng = np.random.default_rng(0)
    against, common = 0.06 * rng.standard_normal(4000), 0.005 * rng.standard_normal(4000)
    runs = [Measured(0.6 + s, 0.6 + s * (1 + against / 0.05) + common, 30) for s in (-0.05, 0.05)]
    assert mean_over_runs(runs).error == pytest.approx(np.std([-0.05, 0.05], ddof=1) / np.sqrt(2))
    assert mean_over_runs(runs).value == 0.6


def test_runs_without_an_exception_are_no_surer_than_one():
    """Five patients whose every pair is told in each of three runs are five patients still."""
    run = Measured(1.0, np.ones(50), 5)
    assert summary([run] * 3).ci95 == run.interval == (pytest.approx(0.025 ** (1 / 5)), 1)


def test_runs_of_one_patient_stay_without_an_interval():
    assert summary([Measured(0.5, np.full(9, v), 1) for v in (0.4, 0.6)]).ci95 is None


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
