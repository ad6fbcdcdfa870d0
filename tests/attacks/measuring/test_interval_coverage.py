"""Nominal 95 % intervals hold the truth in 93 to 97 of 100 made-up worlds, up to the spread of as
many worlds as are tried here."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REPETITIONS = {11: 300, 54: 400, 600: 80}


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("interval_coverage")


@pytest.mark.slow
@pytest.mark.parametrize("patients", REPETITIONS)
def test_intervals_cover_what_they_say(bench, patients):
    found = bench.coverage(patients, REPETITIONS[patients], seed=1)
    spread = 3 * np.sqrt(0.95 * 0.05 / REPETITIONS[patients])
    for name, share in found["coverage"].items():
        assert 0.93 - spread < share < min(0.97 + spread, 1.01), name


def test_the_truth_of_a_world_is_that_of_very_many_patients(bench):
    """Mean of the measured AUC over worlds of 54 patients: no further off than chance explains."""
    rng = np.random.default_rng(0)
    away = []
    for _ in range(12):
        world = bench.World(54, rng)
        figures, true = world.run(bench.ABOVE, np.ones((1, len(world.codes))))
        away.append(figures["auc_patient"].value - true)
    assert abs(np.mean(away)) < 4 * np.std(away) / np.sqrt(len(away))
