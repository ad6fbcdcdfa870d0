"""How often 95 % intervals hold the truth: python tests/benchmarks/interval_coverage.py

Worlds of 11, 54 and 600 patients (:mod:`interval_worlds`) are made up again and again. Takes some
hours on two cores, and writes docs/results/coverage.json. ``interval_coverage.py alone`` measures
the figures of one run again, which takes half an hour, and leaves the others.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from interval_worlds import (
    ABOVE,
    ATTACKERS,
    PATIENT,
    RUNS,
    SEED,
    VARIANCE,
    World,
    auc_of,
    error_rate_of,
    first_of,
    missed_of,
)
from scipy.stats import norm

from anonymize.statistics import Measured, draw_patients
from attacks.measuring.comparisons import paired_runs
from attacks.measuring.estimates import MISSED
from attacks.measuring.statistics import mean_over_runs

OUT = Path(__file__).resolve().parents[2] / "docs" / "results" / "coverage.json"
REPETITIONS = {11: 1200, 54: 1200, 600: 600}
ALONE = {11: 1200, 54: 1200, 600: 1200}  # of figures of one run: those of several take long
PARTS = {11: 12, 54: 12, 600: 24}  # in which worlds are made, each with a seed of its own
LESS = 0.5  # by how much the mean genuine score of another method is lower
TRAININGS = 5  # of a classifier
RATE = 0.01  # of false matches
HIGH = 0.98  # AUC of a strong attacker on real images
FIGURES = {
    "auc": "pair AUC",
    "high": f"pair AUC near {HIGH}",
    "auc_patient": "AUC, one pair a patient",
    "error_rate": "equal error rate",
    "missed": "false non-matches at 1 % false matches",
    "first": "first guesses right",
    "runs": f"pair AUC, mean over {RUNS} runs",
    "generators": f"pair AUC, {ATTACKERS} attacks on each of {RUNS} generators",
    "difference": "difference of two methods",
    "runs_difference": f"the same, {RUNS} runs each",
    "matched": "pair AUC, matched impostors",
    "matched_runs": f"the same, mean over {RUNS} runs",
    "matched_difference": "the same, difference of two methods",
    "matched_error_rate": "equal error rate, matched impostors",
    "matched_missed": "false non-matches at 1 % false matches, matched impostors",
    "matched_first": "first guesses right, among matched images",
    "sets": "AUC of sets, all images of a patient",
    "utility": "utility: mean AUC of the findings",
    "trainings": f"the same, mean over {TRAININGS} trainings",
    "utility_difference": "difference of two utilities",
    "trainings_difference": f"the same, {TRAININGS} trainings each",
    "rare": "utility: 14 findings, most of them rare",
}
# Of few patients one pair or two pass that threshold: draws of it vary more than it does.
CAUTIOUS = {"matched_missed"}
TELLS = 1.2  # by how much a finding raises a logit
Named = tuple[str, Measured, float]  # a figure, and its truth


def of_one_run(
    world: World, found: Mapping[str, Measured], lies: float, *, matched: bool = False
) -> Iterator[Named]:
    """The figures of :meth:`World.run`."""
    before = "matched_" if matched else ""
    yield before.rstrip("_") or "auc", found["auc"], auc_of(lies, VARIANCE)
    yield f"{before}error_rate", found["equal_error_rate"], error_rate_of(lies)
    yield f"{before}missed", found[f"{MISSED}|{RATE:g}"], missed_of(lies, RATE)
    yield f"{before}first", found["first"], first_of(lies, world.known, matched=matched)
    if not matched:
        yield "auc_patient", found["auc_patient"], auc_of(lies, VARIANCE)


def of_strong(world: World, weights: np.ndarray) -> Iterator[Named]:
    """That of an attacker who is hardly ever wrong."""
    found, lies = world.run(float(norm.ppf(HIGH)) * np.sqrt(VARIANCE), weights)
    yield "high", found["auc"], auc_of(lies, VARIANCE)


def alone(world: World, weights: np.ndarray, seed: int) -> Iterator[Named]:
    """What has an interval in one run."""
    yield from of_one_run(world, *world.run(ABOVE, weights))
    yield from of_strong(world, weights)
    if (alike := world.run(ABOVE, weights, matched=True)) is not None:
        yield from of_one_run(world, *alike, matched=True)


def measured(world: World, weights: np.ndarray, seed: int) -> Iterator[Named]:
    """Everything that has an interval."""
    runs = [world.run(ABOVE, weights) for _ in range(RUNS)]
    (first, lies), aucs = runs[0], [figures["auc"] for figures, _ in runs]
    true = auc_of(lies, VARIANCE)
    yield from of_one_run(world, first, lies)
    yield from of_strong(world, weights)
    of_seeds = auc_of(ABOVE, VARIANCE + SEED**2)
    yield "runs", mean_over_runs(aucs), of_seeds
    yield "generators", world.generators(ABOVE, weights), auc_of(ABOVE, VARIANCE + 2 * SEED**2)
    other, lies = world.run(ABOVE - LESS, weights)
    yield "difference", paired_runs(aucs[:1], [other["auc"]])[0], true - auc_of(lies, VARIANCE)
    others = [other["auc"], *(world.auc(ABOVE - LESS, weights) for _ in range(RUNS - 1))]
    less = of_seeds - auc_of(ABOVE - LESS, VARIANCE + SEED**2)
    yield "runs_difference", mean_over_runs(paired_runs(aucs, others)), less
    alike = [world.run(ABOVE, weights, matched=True) for _ in range(RUNS)]
    lower = world.run(ABOVE - LESS, weights, matched=True)
    if lower is not None and None not in alike:
        (first, lies), aucs = alike[0], [figures["auc"] for figures, _ in alike]
        true = auc_of(lies, VARIANCE)
        yield from of_one_run(world, first, lies, matched=True)
        yield "matched_runs", mean_over_runs(aucs), of_seeds
        difference = paired_runs(aucs[:1], [lower[0]["auc"]])[0]
        yield "matched_difference", difference, true - auc_of(lower[1], VARIANCE)
    yield "sets", *world.sets(weights)
    read, true = world.utility(TELLS, len(weights), seed)
    worse, less = world.utility(0.8 * TELLS, len(weights), seed)
    yield "utility", read, true
    yield "utility_difference", paired_runs([read], [worse])[0], true - less
    yield "rare", *world.utility(TELLS, len(weights), seed, rare=True)
    trained, retrained = (
        [world.utility(t, len(weights), seed, spread=SEED)[0] for _ in range(TRAININGS)]
        for t in (TELLS, 0.8 * TELLS)
    )
    true, less = (auc_of(t, 2 * (PATIENT**2 + 1) + SEED**2) for t in (TELLS, 0.8 * TELLS))
    yield "trainings", mean_over_runs(trained), true
    yield "trainings_difference", mean_over_runs(paired_runs(trained, retrained)), true - less


def coverage(
    patients: int,
    repetitions: int,
    *,
    resamplings: int = 120,
    seed: int = 0,
    of: Callable[[World, np.ndarray, int], Iterator[Named]] = measured,
) -> dict:
    """By figure that ``of`` gives of a world, the share of the intervals that hold the truth, and
    their median width."""
    rng = np.random.default_rng([seed, patients])
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for repetition in range(repetitions):
        world = World(patients, rng)
        weights = draw_patients(len(world.codes), resamplings=resamplings, seed=repetition)
        for name, figure, true in of(world, weights, repetition):
            interval = figure.interval
            if interval is None:
                continue  # too few bear it, and an evaluation says so
            held.setdefault(name, []).append(interval[0] <= true <= interval[1])
            widths.setdefault(name, []).append(interval[1] - interval[0])
    return {
        "patients": patients,
        "repetitions": repetitions,
        "coverage": {name: float(np.mean(of_one)) for name, of_one in held.items()},
        "worlds": {name: len(of_one) for name, of_one in held.items()},
        "width": {name: float(np.median(of_one)) for name, of_one in widths.items()},
    }


def together(parts: list[dict]) -> dict:
    """Several of :func:`coverage` of as many patients as one; widths are medians of theirs."""
    names = parts[0]["coverage"]
    worlds = {name: [p["worlds"].get(name, 0) for p in parts] for name in names}
    held = {name: [p["coverage"].get(name, 0.0) for p in parts] for name in names}
    return {
        "patients": parts[0]["patients"],
        "repetitions": sum(p["repetitions"] for p in parts),
        "coverage": {n: float(np.average(held[n], weights=worlds[n])) for n in names},
        "worlds": {n: sum(worlds[n]) for n in names},
        "width": {
            n: float(np.median([p["width"][n] for p in parts if n in p["width"]])) for n in names
        },
    }


def main() -> None:
    """Figures of several runs, unless only those of one are asked for; and those of one."""
    kept = {w["patients"]: w for w in json.loads(OUT.read_text(encoding="utf-8"))["worlds"]}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        found = {} if sys.argv[1:] == ["alone"] else _made(pool, measured, REPETITIONS)
        of_one = _made(pool, alone, ALONE, first_seed=100)
    worlds = [_with(found.get(patients, kept[patients]), of_one[patients]) for patients in ALONE]
    OUT.write_text(json.dumps({"figures": FIGURES, "worlds": worlds}, indent=2) + "\n")


def _made(pool: Executor, of: Callable, worlds: dict[int, int], first_seed: int = 0) -> dict:
    """What :func:`coverage` finds in so many worlds, by the patients of each."""
    pieces = {
        patients: [
            pool.submit(coverage, patients, many // PARTS[patients], seed=first_seed + n, of=of)
            for n in range(PARTS[patients])
        ]
        for patients, many in worlds.items()
    }
    return {p: together([piece.result() for piece in own]) for p, own in pieces.items()}


def _with(several: dict, of_one: dict) -> dict:
    """The figures of several runs, and those of one, which come of other worlds."""
    figures = {name: several[name] | of_one[name] for name in ("coverage", "worlds", "width")}
    return several | figures | {"alone": of_one["repetitions"]}


if __name__ == "__main__":
    main()
