"""Several generators as one: what they differ by from other methods, and how sure that is."""

import numpy as np
import pytest
from test_differences import METHODS, compared, runs

from anonymize.statistics import Measured, draw_patients
from attacks.evaluation.differences import Compared
from attacks.evaluation.several_generators import over_generators
from attacks.measuring.comparisons import holm
from attacks.measuring.statistics import estimate_identification, mean_over_runs
from attacks.results import Method, Results

PATIENTS, DRAWS, GENERATORS, TRAININGS = 60, 200, 4, 3
WORLDS = 150


def test_methods_alike_but_for_their_seed_are_one():
    def trained(seed, *aucs, mu=1):
        own = {"mu": mu, "seed": seed}
        return compared(f"s{seed}", runs(*aucs, seed=seed), name="net", seed=seed, options=own)

    several = [trained(0, 0.7, 0.72), trained(1, 0.8, 0.82), trained(1, 0.1, 0.1)]
    (found,) = over_generators([*METHODS, *several, trained(0, 0.5, 0.5, mu=2)])
    assert found.seeds == (0, 1)
    assert found.options == {"mu": 1}
    assert found.auc["verification"].runs == pytest.approx((0.71, 0.81))
    assert found.matched["verification"].mean == pytest.approx(0.71)
    alone = estimate_identification(several[0].runs["verification"])["auc"].ci95
    both = found.auc["verification"].ci95
    assert both[1] - both[0] > 1.5 * (alone[1] - alone[0])  # two generators say little


def test_trainings_of_other_options_are_not_seeds_of_one():
    def trained(seed, auc, rate):
        own = {"training": {"adversarial": {"rate": rate, "epochs": 3}}, "options": {"mu": 1}}
        return compared(f"s{seed}", runs(auc, seed=seed), name="net", seed=seed, **own)

    two = [trained(0, 0.9, 1), trained(1, 0.5, 2)]
    assert over_generators([*METHODS, *two]) == ()
    both = over_generators([*METHODS, *two, trained(1, 0.92, 1), trained(0, 0.52, 2)])
    assert [one.seeds for one in both] == [(0, 1), (1, 0)]
    assert [one.options for one in both] == [{"mu": 1, "rate": 1}, {"mu": 1, "rate": 2}]
    assert [one.auc["verification"].mean for one in both] == pytest.approx([0.91, 0.51])


def test_lots_of_a_method_that_draws_are_one():
    def drawn(seed, *aucs):
        own = {"k": 5, "seed": seed}
        return compared(f"lot {seed}", runs(*aucs, seed=seed), name="mean", options=own)

    (found,) = over_generators([*METHODS, drawn(0, 0.7), drawn(1, 0.8)])
    assert found.seeds == (0, 1)
    assert found.options == {"k": 5}
    assert found.matched["verification"].runs == pytest.approx((0.65, 0.75))


def trained(seed, *aucs, draw=0, read=()):
    """A generator that moves pixels as far as the warp "near"."""
    own = {"mu": 1, "seed": seed}
    found = runs(*aucs, seed=draw)
    made = compared(f"s{seed}", found, name="net", seed=seed, options=own, moved=2.0)
    return Compared(made.title, made.method, made.runs, [Measured(r, r + BENDS, 30) for r in read])


BENDS = 0.01 * np.random.default_rng(9).standard_normal(400)
REAL_READ = Compared(
    METHODS[0].title, METHODS[0].method, METHODS[0].runs, [Measured(0.8, 0.8 + BENDS, 30)] * 2
)


def test_equal_generators_differ_as_one_does():
    """By a second derivation: the mean of its runs less the mean over those of the other."""
    alone = trained(0, 0.7, 0.72)
    equal = [alone, trained(1, 0.7, 0.72), trained(2, 0.7, 0.72)]
    (found,) = over_generators([*METHODS, *equal])
    for role, other in (("real", METHODS[0]), ("control", METHODS[2])):
        (difference,) = (d for d in found.differences["verification"] if d.role == role)
        assert difference.to == other.title
        own, less = alone.aucs("verification", ""), mean_over_runs(other.aucs("verification", ""))
        draws = np.mean([one.draws for one in own], axis=0) - less.draws
        fewest = min(30, less.patients)  # as many as the spread of its runs leaves
        expected = Measured(0.71 - less.value, draws, fewest, bounded=False)
        assert difference.difference.ci95 == pytest.approx(expected.interval)
        assert difference.difference.mean == pytest.approx(0.71 - less.value)


def test_the_patients_are_the_same_ones_on_both_sides():
    (found,) = over_generators([*METHODS, trained(0, 0.7), trained(1, 0.702)])
    (to_real, _) = found.differences["verification"]
    low, high = to_real.difference.ci95
    own = found.auc["verification"].ci95
    assert high - low < (own[1] - own[0]) / 2


def test_generators_apart_make_it_unsure():
    near, far = (
        over_generators([*METHODS, *(trained(n, auc) for n, auc in enumerate(aucs))])[0]
        for aucs in ((0.7, 0.701, 0.702), (0.65, 0.7, 0.75))
    )
    widths = [np.ptp(one.differences["verification"][1].difference.ci95) for one in (near, far)]
    assert widths[1] > 5 * widths[0]
    assert near.differences["verification"][1].p < 0.05 < far.differences["verification"][1].p_holm


@pytest.mark.parametrize("field", ["differences", "matched_differences"])
def test_p_are_adjusted_among_all_of_a_reading(field):
    (found,) = over_generators([*METHODS, trained(0, 0.7), trained(1, 0.78)])
    own = [d for of_one in getattr(found, field).values() for d in of_one]
    assert [d.p_holm for d in own] == pytest.approx(holm([d.p for d in own]))


def test_classifiers_are_taken_together_too():
    taught = [trained(n, 0.7, read=(0.7 + n / 100, 0.72 + n / 100)) for n in range(2)]
    (found,) = over_generators([REAL_READ, *METHODS[1:], *taught])
    assert found.retrained.runs == pytest.approx((0.71, 0.72))
    (less,) = found.retrained_differences  # the control was not read
    assert (less.role, less.difference.mean) == ("real", pytest.approx(-0.085))
    assert less.difference.ci95[0] < -0.085 < less.difference.ci95[1]


def test_without_a_control_or_real_images_there_is_no_difference():
    (found,) = over_generators([METHODS[1], trained(0, 0.7), trained(1, 0.78)])
    assert found.differences == {"verification": ()}
    assert found.retrained is None


def test_results_of_before_are_read():
    (found,) = over_generators([*METHODS, trained(0, 0.7), trained(1, 0.78)])
    new = {"differences", "matched_differences", "retrained", "retrained_differences"}
    plain = found.model_dump(mode="json", exclude=new)
    source = {"name": "x", "images": 1, "patients": 1}
    given = {"schema": 2, "source": source, "methods": [], "generators": [plain]}
    (again,) = Results.model_validate(given).generators
    assert again.auc == found.auc
    assert (again.differences, again.retrained) == ({}, None)


class Simulated:
    """Patients, whose values differ from one to the next, from generator to generator, and from one
    training of an attacker to the next; the truth is that generators are no better than the
    control."""

    def __init__(self, seed, *, between):
        self.rng, self.between = np.random.default_rng(seed), between
        self.weights = draw_patients(PATIENTS, resamplings=DRAWS, seed=seed) / PATIENTS
        self.common = self.rng.normal(0, 0.3, PATIENTS)

    def method(self, title, name, seed=None):
        level = 0.7 + (self.rng.normal(0, self.between) if seed is not None else 0)
        own = self.common + self.rng.normal(0, 0.05, PATIENTS)
        trainings = [self.training(level + own) for _ in range(TRAININGS)]
        moved = {"displacement_px": {"mean": 1, "max": 2, "rms": 1}}
        attack = {"knowledge": "informed", "auc": {"mean": 0.7, "sd": 0, "runs": [0.7]}}
        method = Method(name=name, seed=seed, image=moved, privacy={"a": attack})
        return Compared(title, method, {"a": [{"auc": one} for one in trainings]})

    def training(self, values):
        values = values + self.rng.normal(0, 0.005) + self.rng.normal(0, 0.02, PATIENTS)
        return Measured(values.mean(), self.weights @ values, PATIENTS)


@pytest.mark.parametrize("between", [0.002, 0.02])
def test_intervals_hold_the_truth(between):
    held = []
    for seed in range(WORLDS):
        world = Simulated(seed, between=between)
        generators = [world.method(f"g{n}", "net", n) for n in range(GENERATORS)]
        (found,) = over_generators([world.method("warp", "random-warp"), *generators])
        (difference,) = found.differences["a"]
        low, high = difference.difference.ci95
        held.append(low < 0 < high)
    assert abs(np.mean(held) - 0.95) < 0.045  # two and a half standard errors
