"""Nominal 95 % intervals hold the truth in 93 to 97 of 100 made-up worlds, up to twice the spread
of as many worlds as are tried here; where one pair or two decide, in more."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from test_drawn_pairs import delong

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REPETITIONS = {11: 1000, 54: 1000, 600: 80}
ALONE = {600: 600}  # worlds of figures of one run, which take less


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("interval_coverage")


@pytest.fixture
def worlds(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("interval_worlds")


@pytest.mark.slow
@pytest.mark.parametrize("patients", REPETITIONS)
def test_intervals_cover_what_they_say(bench, patients):
    hold_what_they_say(bench, bench.coverage(patients, REPETITIONS[patients], seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("patients", ALONE)
def test_intervals_of_one_run_cover_what_they_say(bench, patients):
    found = bench.coverage(patients, ALONE[patients], seed=1, of=bench.alone)
    hold_what_they_say(bench, found)


def hold_what_they_say(bench, found):
    spread = 2 * np.sqrt(0.95 * 0.05 / found["repetitions"])
    for name, share in found["coverage"].items():
        most = 1.0 if name in bench.CAUTIOUS else 0.97 + spread
        assert 0.93 - spread < share <= most, name


def test_figures_of_one_run_are_among_all(bench, worlds):
    """The same names and truths, whoever asks."""
    world = worlds.World(54, np.random.default_rng(3))
    weights = np.ones((3, len(world.codes)))
    every = {name for name, _, _ in bench.measured(world, weights, 0)}
    some = {name: true for name, _, true in bench.alone(world, weights, 0)}
    assert some.keys() < every
    assert some["high"] == pytest.approx(bench.HIGH, abs=0.01)
    assert some["auc"] == some["auc_patient"]


@pytest.mark.whole
def test_parts_come_together_by_their_worlds(bench):
    """A second derivation: how many worlds each figure held in, summed."""
    parts = [bench.coverage(11, many, resamplings=30, seed=many) for many in (2, 5)]
    found = bench.together(parts)
    for name in parts[0]["coverage"]:
        worlds = [part["worlds"].get(name, 0) for part in parts]
        held = sum(
            round(p["coverage"].get(name, 0) * n) for p, n in zip(parts, worlds, strict=True)
        )
        assert found["coverage"][name] == pytest.approx(held / sum(worlds))
        assert found["worlds"][name] == sum(worlds)
    assert found["repetitions"] == 7


def test_the_truth_of_a_world_is_that_of_very_many_patients(worlds):
    """Mean of the measured AUC over worlds of 54 patients: no further off than chance explains."""
    rng = np.random.default_rng(0)
    away = []
    for _ in range(12):
        world = worlds.World(54, rng)
        figures, above = world.run(worlds.ABOVE, np.ones((1, len(world.codes))))
        true = worlds.auc_of(above, worlds.VARIANCE), worlds.error_rate_of(above)
        away.append(
            [figures[n].value for n in ("auc_patient", "equal_error_rate")] - np.array(true)
        )
    assert (abs(np.mean(away, axis=0)) < 4 * np.std(away, axis=0) / np.sqrt(len(away))).all()


def test_error_rates_of_normal_scores_are_those_of_very_many(worlds):
    """A second derivation: of half a million drawn scores of each kind."""
    rng = np.random.default_rng(0)
    genuine = 2 + np.sqrt(worlds.GENUINE) * rng.standard_normal(500_000)
    impostor = np.sqrt(worlds.IMPOSTOR) * rng.standard_normal(500_000)
    threshold = np.quantile(impostor, 0.99)
    assert worlds.missed_of(2, 0.01) == pytest.approx((genuine < threshold).mean(), abs=3e-3)
    equal = 2 * np.sqrt(worlds.IMPOSTOR) / (np.sqrt(worlds.GENUINE) + np.sqrt(worlds.IMPOSTOR))
    assert worlds.error_rate_of(2) == pytest.approx((genuine < equal).mean(), abs=3e-3)
    assert worlds.error_rate_of(2) == pytest.approx((impostor > equal).mean(), abs=3e-3)


@pytest.mark.parametrize("matched", [False, True])
def test_first_guesses_of_worlds_are_those_of_many_others(worlds, matched):
    """A second derivation of the truth: what is measured in some worlds, on average."""
    rng, away = np.random.default_rng(1), []
    for _ in range(40):
        world = worlds.World(54, rng)
        found = world.run(worlds.ABOVE, np.ones((1, len(world.codes))), matched=matched)
        figures, above = found
        away.append(figures["first"].value - worlds.first_of(above, 54, matched=matched))
    assert abs(np.mean(away)) < 4 * np.std(away) / np.sqrt(len(away))


def test_the_error_of_delong_is_that_of_all_comparisons(monkeypatch):
    """A second derivation, win by win; and no pair of one a patient shares an image."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    interval_delong = importlib.import_module("interval_delong")
    rng = np.random.default_rng(4)
    for make in interval_delong.KINDS.values():
        scores, present, ours = make(11, rng, 0)
        scores = np.round(scores, 1)
        auc, error = interval_delong.delong(scores, present)
        assert (auc, error) == pytest.approx(delong(scores, present))
        assert ours.value == pytest.approx(auc, abs=0.05)
