"""What is recommended of made-up figures: never more than they show."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from attacks.recommending.choice import (
    NEEDED,
    Evidence,
    Interval,
    Point,
    Wish,
    choose,
    frontier,
    verdict,
)

WISH = Wish(auc=0.6, loss=0.05)
REAL = Interval(0.9, 0.88, 0.92)


def around(mean, half):
    return Interval(mean, mean - half, mean + half)


def point(auc, loss=0.01, *, spec="m", half=0.02, lost=0.01):
    """A release; None: the figure is not known."""
    return Point(
        spec,
        None if auc is None else around(auc, half),
        None if loss is None else around(loss, lost),
    )


def evidence(*points, **others):
    return Evidence(**{"real": REAL, "patients": NEEDED, "readable": True, **others}, points=points)


def test_the_most_private_of_those_that_are_shown_to_meet_the_wish():
    far, near, dear = point(0.55, spec="a"), point(0.52, spec="b"), point(0.51, 0.2, spec="c")
    found = choose(evidence(far, near, dear), WISH)
    assert (found.outcome, found.point.spec, found.why) == ("recommended", "b", ())


@pytest.mark.parametrize(("apart", "spec"), [(0.009, "cheap"), (0.011, "private")])
def test_of_equal_ones_the_one_that_costs_less(apart, spec):
    private = point(0.53, 0.03, spec="private")
    cheap = point(0.53 + apart, 0.0, spec="cheap")
    for order in itertools.permutations((private, cheap)):
        assert choose(evidence(*order), WISH).point.spec == spec


@pytest.mark.parametrize(
    ("changed", "judged"),
    [
        ({}, "meets"),
        ({"auc": 0.595}, "unclear"),  # 0.575 to 0.615
        ({"auc": 0.63}, "misses"),
        ({"loss": 0.045}, "unclear"),
        ({"loss": 0.07}, "misses"),
        ({"auc": None}, "unclear"),
        ({"loss": None}, "unclear"),
        ({"auc": None, "loss": 0.07}, "misses"),
        ({"auc": 0.35}, "misses"),  # below chance: turned round it links
        ({"auc": 0.47}, "meets"),
    ],
)
def test_the_whole_of_both_intervals_counts(changed, judged):
    one = point(**{"auc": 0.55} | changed)
    assert verdict(one, evidence(one), WISH) == judged
    outcome = {"meets": "recommended", "misses": "nothing"}.get(judged, judged)
    assert choose(evidence(one), WISH).outcome == outcome


def test_an_interval_wider_than_what_it_hides_is_too_wide():
    real = around(0.7, 0.05)
    wish = replace(WISH, auc=0.64)
    wide, narrow = replace(point(0.6), auc=Interval(0.6, 0.5, 0.63)), point(0.6, half=0.03)
    assert verdict(wide, evidence(wide, real=real), wish) == "unclear"
    assert verdict(narrow, evidence(narrow, real=real), wish) == "meets"


def test_a_utility_that_cannot_be_read_recommends_nothing():
    good = point(0.52, -0.1)
    found = choose(evidence(good, readable=False), WISH)
    assert found.outcome == "unclear"
    assert any("cannot be read" in reason for reason in found.why)
    assert choose(evidence(point(0.8, 0.0), readable=False), WISH).outcome == "nothing"


@pytest.mark.parametrize("floor", [Interval(0.67, 0.64, 0.7), Interval(0.55, 0.5, 0.6), None])
def test_no_floor_allows_more_than_is_wished(floor):
    """Mosaics link less than what a classifier reads in real images, and teach it."""
    assert choose(evidence(point(0.615), floor=floor), WISH).outcome == "unclear"


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"patients": NEEDED - 1}, f"{NEEDED} are needed"),
        ({"real": None}, "even in real images"),
        ({"real": Interval(0.65, 0.58, 0.72)}, "whom they do not find there"),
        ({"real": around(0.7, 0.02), "floor": around(0.75, 0.3)}, "too weak"),
    ],
)
def test_data_that_tell_nothing_recommend_nothing(others, said):
    found = choose(evidence(point(0.52), **others), WISH)
    assert found.outcome == "unclear"
    assert any(said in reason for reason in found.why)


def test_nothing_meets_the_wish_and_the_closest_is_shown():
    near, far = point(0.65, 0.07, spec="near"), point(0.5, 0.3, spec="far")
    found = choose(evidence(far, near), WISH)
    assert (found.outcome, found.point.spec) == ("nothing", "near")
    assert choose(evidence(), WISH).outcome == "not measured"


def test_the_frontier_is_what_nothing_surpasses():
    rng = np.random.default_rng(0)
    points = [
        point(auc, loss, spec=str(n))
        for n, (auc, loss) in enumerate(rng.choice([0.5, 0.6, 0.7, 0.8], (40, 2)))
    ]
    figures = np.array([(p.auc.mean, p.loss.mean) for p in points])
    better = (figures[:, None] <= figures).all(axis=2) & (figures[:, None] != figures).any(axis=2)
    kept = [p for p, beaten in zip(points, better.any(axis=0), strict=True) if not beaten]
    assert 0 < len(kept) < len(points)
    assert frontier([*points, point(None), point(0.4, None)]) == tuple(kept)


def test_scores_below_chance_are_turned_round():
    for low, high in [(0.3, 0.45), (0.4, 0.55), (0.45, 0.7), (0.55, 0.7), (0.5, 0.5)]:
        values = np.linspace(low, high, 1001)
        seen = np.maximum(values, 1 - values)
        found = Interval((low + high) / 2, low, high).exposed
        assert found.low == pytest.approx(seen.min(), abs=1e-3)
        assert found.high == pytest.approx(seen.max())
