"""Evaluations with pictures, made up, for the tests of reports."""

import numpy as np
import torch
from changing import altered
from test_results import estimate, made_up, matched

from anonymize.statistics import Measured
from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.evaluate import Evaluation
from attacks.measuring.estimates import Breakdown, Floor, GroupRate
from attacks.measuring.extremes import Extreme, Guess, GuessPictures, PairPictures
from attacks.measuring.world_records import Rate, World, WorldPoint
from attacks.results import Made, Source

MADE = Made(date="2026-01-02T03:04:05+00:00", versions={"anonymize": "1"})
RATES = {f"{rate:.3g}": float(rate**0.3) for rate in np.geomspace(1e-4, 1, 25)}


def checked(**changes):
    results = made_up(**changes)
    return altered(results, checks=run_checks(results))


def point(people, share):
    """Rank-1 in a gallery of so many people, extrapolated from 1,000 on."""
    rate = Rate(estimate=estimate(share), within=(share - 0.05, share + 0.05))
    return WorldPoint(people=people, extrapolated=people > 1000, rank_1=rate)


def full(results=None):
    """Everything that a report can show: curves, groups, floors, populations, date."""
    results = results or matched(made_up())
    rate = next(results.attacks())[2].auc
    world = World(people=270, patients=90, points=(point(100, 0.9), point(10_000, 0.4)))

    def curved(attack):
        groups = {"sex": (GroupRate(group="female", pairs=99, patients=9, rate=rate),)}
        own = {
            "roc": RATES,
            "independent_comparisons": 400,
            "world": world,
            "breakdown": Breakdown(false_match_rate=0.01, rate=rate, facts=groups),
        }
        like = attack.matched
        if like is not None:
            like = altered(like, roc=RATES, independent_comparisons=400)
        return altered(attack, **own, matched=like)

    methods = tuple(
        altered(m, privacy={k: curved(a) for k, a in m.privacy.items()}) for m in results.methods
    )
    floors = (Floor(name="findings", auc=rate, matched=rate, message="equal `findings`"),)
    name = results.source.name.replace("phantom", "covid19")
    source = Source(name=name, images=455, patients=270, part="test", size=24)
    whole = altered(results, methods=methods, floors=floors, made=MADE, source=source)
    return altered(whole, checks=results.checks or run_checks(whole))


def pictured(results=None, *, size=24, people=3):
    """An evaluation with random pictures, displacements, pairs, guesses and draws."""
    results = results or full()
    generator = torch.Generator().manual_seed(0)
    titles = results.titles()

    def images(*shape):
        return torch.rand(*shape, size, size, generator=generator)

    real = images(people, 1)
    shown = {title: (real + 0.1 * n * images(people, 1)).clamp(0, 1) for n, title in
             enumerate(titles)}  # fmt: skip
    shown[titles[-1]][1] = torch.nan  # nothing was released of the second
    moved = {t: 3 * images(people, 2) - 1 for t in titles if "prichexy" in t}
    pairs = {}
    for title in titles:
        found = [Extreme(kind, n, n + 1, 0.01 * n) for n, kind in
                 enumerate(("found", "missed", "mistaken"))]  # fmt: skip
        guesses = [Guess(n, [7, 8], [False, n == 0], 2 + n, 40) for n in range(2)]
        seen = GuessPictures(guesses, images(2, 1), images(2, 2, 1))
        pairs[title] = PairPictures("verification", found, images(3, 1), images(3, 1), seen)
    draws = np.random.default_rng(0).normal(0.8, 0.02, (2, 50))
    run = {"auc": Measured(0.8, draws[0], 30.0), "matched|auc": Measured(0.7, draws[1], 30.0)}
    runs = {title: {"verification": [run, run]} for title in titles}
    return Evaluation(results, shown, moved, pairs, runs)
