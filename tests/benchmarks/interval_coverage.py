"""How often 95 % intervals hold the truth: python tests/benchmarks/interval_coverage.py

Worlds of 11, 54 and 600 patients are made up again and again, with what makes real ones hard:
patients and images that are easier or harder than others, on the genuine and on the impostor side;
patients with many images and with one; images of which nobody knows whose they are. What very many
patients would give is known in closed form. Writes docs/results/coverage.json.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import norm

from anonymize.statistics import Measured, draw_patients
from attacks.measuring.comparisons import paired_runs
from attacks.measuring.drawn_pairs import MANY, DrawnPairs
from attacks.measuring.metrics import Owners
from attacks.measuring.statistics import mean_over_runs

OUT = Path(__file__).resolve().parents[2] / "docs" / "results" / "coverage.json"
# Patients: further images of one on average, and at most; as in the sets that are evaluated.
WORLDS = {11: (6.0, 40), 54: (0.45, 12), 600: (0.55, 12)}
REPETITIONS = {11: 1000, 54: 1000, 600: 500}
UNKNOWN = 0.15  # of the images
PATIENT, STRANGER, IMAGE, SEED = 0.7, 0.4, 0.4, 0.15  # standard deviations; of a pair: 1
SHARED = 0.6  # of the variance, by two methods
VARIANCE = PATIENT**2 + 2 * STRANGER**2 + 4 * IMAGE**2 + 2  # of a genuine less an impostor score
ABOVE, LESS, RUNS = 2.0, 0.5, 3  # mean genuine score; by how much another method's is lower
HIGH = 0.98  # AUC of a strong attacker on real images
FIGURES = {
    "auc": "pair AUC",
    "high": f"pair AUC near {HIGH}",
    "auc_patient": "AUC, one pair a patient",
    "runs": "pair AUC, mean over 3 runs",
    "difference": "difference of two methods",
}


class World:
    """Patients and their images, of which several methods and runs can be scored."""

    def __init__(self, patients: int, rng: np.random.Generator) -> None:
        further, most = WORLDS[patients]
        while True:
            images = np.minimum(1 + rng.poisson(rng.gamma(1, further, patients)), most)
            if np.count_nonzero(images > 1) >= 3:
                break
        known = np.repeat(np.arange(patients), images)
        unknown = patients + np.arange(int(UNKNOWN * len(known)))
        patient = np.r_[known, unknown]
        self.owners = Owners(np.arange(len(patient)), patient, patient < patients)
        self.codes, self._rng = np.unique(patient), rng
        self._common = self._effects()

    def run(self, above: float, weights: np.ndarray) -> tuple[dict[str, Measured], float]:
        """Figures of one run of a method whose genuine scores lie ``above`` the others on average,
        and the AUC that very many patients would give in this run."""
        mixed = [
            np.sqrt(SHARED) * a + np.sqrt(1 - SHARED) * b
            for a, b in zip(self._common, self._effects(), strict=True)
        ]
        quality, stranger, asked, known, pair = mixed
        patient, above = self.owners.patient, above + SEED * self._rng.standard_normal()
        same = patient[:, None] == patient
        genuine = above + PATIENT * quality[patient][:, None]
        impostor = STRANGER * (stranger[patient][:, None] + stranger[patient])
        scores = np.where(same, genuine, impostor) + IMAGE * (asked[:, None] + known) + pair
        pairs = DrawnPairs(scores, self.owners, self.owners, self.codes)
        return pairs.figures(weights), auc_of(above, VARIANCE)

    def _effects(self) -> list[np.ndarray]:
        n, patients = len(self.owners), len(self.codes)
        shapes = (patients, patients, n, n, (n, n))
        return [self._rng.standard_normal(shape) for shape in shapes]


def auc_of(above: float, variance: float) -> float:
    """P(genuine > impostor) of normal scores whose difference has this variance."""
    return float(norm.cdf(above / np.sqrt(variance)))


def measured(world: World, weights: np.ndarray) -> Iterator[tuple[str, Measured, float]]:
    """Name, figure and truth of everything that has an interval."""
    several = len(world.codes) <= MANY
    runs = [world.run(ABOVE, weights) for _ in range(RUNS if several else 1)]
    (first, true), aucs = runs[0], [figures["auc"] for figures, _ in runs]
    yield "auc", first["auc"], true
    yield "auc_patient", first["auc_patient"], true
    strong, true_of_strong = world.run(float(norm.ppf(HIGH)) * np.sqrt(VARIANCE), weights)
    yield "high", strong["auc"], true_of_strong
    if several:
        yield "runs", mean_over_runs(aucs), auc_of(ABOVE, VARIANCE + SEED**2)
    other, less = world.run(ABOVE - LESS, weights)
    yield "difference", paired_runs(aucs[:1], [other["auc"]])[0], true - less


def coverage(patients: int, repetitions: int, *, resamplings: int = 120, seed: int = 0) -> dict:
    """By figure, the share of the intervals that hold the truth, and their median width."""
    rng = np.random.default_rng([seed, patients])
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for repetition in range(repetitions):
        world = World(patients, rng)
        weights = draw_patients(len(world.codes), resamplings=resamplings, seed=repetition)
        for name, figure, true in measured(world, weights):
            interval = figure.interval
            assert interval is not None
            held.setdefault(name, []).append(interval[0] <= true <= interval[1])
            widths.setdefault(name, []).append(interval[1] - interval[0])
    return {
        "patients": patients,
        "repetitions": repetitions,
        "coverage": {name: float(np.mean(of_one)) for name, of_one in held.items()},
        "width": {name: float(np.median(of_one)) for name, of_one in widths.items()},
    }


def main() -> None:
    worlds = [coverage(patients, many) for patients, many in REPETITIONS.items()]
    OUT.write_text(json.dumps({"figures": FIGURES, "worlds": worlds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
