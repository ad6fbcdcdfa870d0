"""DeLong's intervals of a pair AUC beside ours: python tests/benchmarks/interval_delong.py

DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988) take pairs to be independent. Worlds where
they are, and worlds of patients with several images, of whom all pairs are compared
(:mod:`interval_worlds`), are made up again and again. Takes minutes, and writes
docs/results/delong.json.
"""

import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import numpy as np
from interval_worlds import ABOVE, VARIANCE, World, auc_of
from scipy.stats import norm

from anonymize.auc import plain_auc, structural_components
from anonymize.statistics import Measured, draw_patients, measure_auc
from attacks.measuring import drawn_pairs
from attacks.measuring.drawn_pairs import DrawnPairs
from attacks.measuring.metrics import genuine_pairs, impostor_pairs

OUT = Path(__file__).resolve().parents[2] / "docs" / "results" / "delong.json"
WORLDS, FEWER = 300, 40  # of many patients all pairs take long
PATIENTS = (11, 54, 600)
FIRST_ORDER = 100  # patients from which draws are of a first order, as an evaluation's of 1,000 are
RESAMPLINGS = 120
Scored = tuple[np.ndarray, np.ndarray, Measured]  # scores and kinds of the pairs; our figure


def delong(scores: np.ndarray, present: np.ndarray) -> tuple[float, float]:
    """AUC of a list (n,) and its standard error (eq. 5 of the paper)."""
    moved = structural_components(scores, present)
    parts = (n * moved[side].var(ddof=1) for side in (present, ~present) for n in [side.sum()])
    return plain_auc(scores, present), float(np.sqrt(sum(parts)))


def apart(patients: int, rng: np.random.Generator, seed: int) -> Scored:
    """One pair a patient, every other one genuine: no image and no patient is in two pairs."""
    present = np.arange(patients) % 2 == 0
    scores = ABOVE * present + np.sqrt(VARIANCE / 2) * rng.standard_normal(patients)
    pair = np.arange(patients)
    return scores, present, measure_auc(scores, present, pair, resamplings=RESAMPLINGS, seed=seed)


def every(patients: int, rng: np.random.Generator, seed: int) -> Scored:
    """All pairs of images."""
    world = World(patients, rng)
    scores, _ = world.scores(ABOVE, spread=0.0)
    owners = world.owners
    genuine = genuine_pairs(owners, owners)
    listed = genuine | impostor_pairs(owners, owners)
    weights = draw_patients(len(world.codes), resamplings=RESAMPLINGS, seed=seed)
    with patch.object(drawn_pairs, "MANY", FIRST_ORDER):
        found = DrawnPairs(scores, owners, owners, world.codes).figures(weights)["auc"]
    return scores[listed], genuine[listed], found


KINDS: dict[str, Callable[[int, np.random.Generator, int], Scored]] = {
    "one a patient": apart,
    "all of several images a patient": every,
}


def worlds_of(patients: int, pairs: str) -> int:
    return FEWER if KINDS[pairs] is every and patients == max(PATIENTS) else WORLDS


def row(patients: int, pairs: str, worlds: int) -> dict:
    """Of many worlds: how far their AUCs lie apart, root mean square errors, and how often each
    interval holds what very many patients would give."""
    rng = np.random.default_rng([patients, *map(ord, pairs)])
    true, z = auc_of(ABOVE, VARIANCE), norm.ppf(0.975)
    found = []
    for seed in range(worlds):
        scores, present, ours = KINDS[pairs](patients, rng, seed)
        auc, error = delong(scores, present)
        low, high = ours.interval or (0.0, 1.0)
        found.append((auc, error, ours.error, abs(auc - true) <= z * error, low <= true <= high))
    aucs, errors, our_errors, held, ours_held = np.array(found, float).T
    return {
        "patients": patients,
        "pairs": pairs,
        "worlds": worlds,
        "spread": float(aucs.std(ddof=1)),
        "delong_error": float(np.sqrt(np.square(errors).mean())),
        "our_error": float(np.sqrt(np.square(our_errors).mean())),
        "delong": float(held.mean()),
        "ours": float(ours_held.mean()),
    }


def main() -> None:
    asked = [(n, pairs, worlds_of(n, pairs)) for pairs in KINDS for n in PATIENTS]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        longest_first = [pool.submit(row, *one) for one in reversed(asked)]
        rows = [made.result() for made in reversed(longest_first)]
    OUT.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
