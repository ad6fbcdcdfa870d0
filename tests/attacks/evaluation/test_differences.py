"""Differences of evaluated methods and p values among all of them."""

import numpy as np
import pytest

from anonymize.statistics import Measured
from attacks.evaluation.differences import Compared, control_of, with_differences, with_margins
from attacks.measuring.comparisons import holm
from attacks.measuring.estimates import LabelAuc, NotWorse
from attacks.measuring.statistics import estimate_identification
from attacks.results import (
    Attack,
    Classification,
    Displacement,
    ImageChange,
    Matched,
    Method,
    Utility,
)

COMMON = 0.05 * np.random.default_rng(0).standard_normal(400)


def runs(*aucs, seed=0, own=0.004):
    """Of one attacker: most of the spread over patients is that of every method."""
    rng = np.random.default_rng(seed)
    return [
        {
            name: Measured(auc - less, auc - less + COMMON + own * rng.standard_normal(400), 30)
            for name, less in (("auc", 0), ("matched|auc", 0.05))
        }
        for auc in aucs
    ]


def compared(title, measured, *, name=None, moved=None, seed=None, **made):
    figures = estimate_identification(measured)
    matched = Matched.of({"auc": figures.pop("matched|auc")}, impostor_pairs=9)
    attack = Attack.of(figures, knowledge="informed", matched=matched)
    pixels = None if moved is None else Displacement(mean=moved, max=2 * moved, rms=moved)
    method = Method(
        name=name or title,
        privacy={"verification": attack},
        image=ImageChange(displacement_px=pixels),
        seed=seed,
        **made,
    )
    return Compared(title, method, {"verification": measured})


METHODS = (
    compared("real images", runs(0.9, 0.92), name="identity"),
    compared("warp", runs(0.8, 0.82, seed=1), moved=2.0),
    compared("near", runs(0.803, 0.823, seed=2), name="random-warp", moved=1.9),
    compared("far", runs(0.6, 0.62, seed=3), name="random-warp", moved=9.0),
)


def test_differences_to_the_real_images_and_to_the_control():
    real, warp, near, _ = with_differences(METHODS)
    assert real.privacy["verification"].differences == ()
    found = {d.role: d for d in warp.privacy["verification"].differences}
    assert {role: d.to for role, d in found.items()} == {"real": "real images", "control": "near"}
    assert found["real"].difference.mean == pytest.approx(-0.1)
    low, high = found["real"].difference.ci95
    own = warp.privacy["verification"].auc.ci95
    assert low < -0.1 < high < 0
    assert high - low < (own[1] - own[0]) / 3  # what both have in common tells nothing of it
    assert found["real"].p_holm < 0.05 < found["control"].p_holm
    assert [d.role for d in near.privacy["verification"].differences] == ["real"]


@pytest.mark.parametrize("reading", ["all", "matched"])
def test_p_values_are_adjusted_among_all_of_a_reading(reading):
    attacks = [m.privacy["verification"] for m in with_differences(METHODS)]
    figures = [attack.matched if reading == "matched" else attack for attack in attacks]
    differences = [d for of_one in figures for d in of_one.differences]
    assert [d.p_holm for d in differences] == pytest.approx(holm([d.p for d in differences]))
    assert all(f.p_below_chance > 0.5 for f in figures)


def test_below_chance_is_shown_with_its_p():
    (method,) = with_differences([compared("inverted", runs(0.2, 0.22))])
    assert method.privacy["verification"].p_below_chance < 0.001


def test_the_control_moves_pixels_as_far():
    assert control_of(METHODS[1], METHODS).title == "near"
    assert control_of(METHODS[2], METHODS) is None
    assert control_of(METHODS[0], METHODS) is None
    assert control_of(METHODS[1], METHODS[:2]) is None


def test_margins_are_adjusted_among_all_methods_of_a_kind():
    ps = {"frozen": (0.03, 0.2), "retrained": (0.01, 0.04, 0.02)}

    def read(p):
        shown = NotWorse(margin=0.05, not_worse=p < 0.05, equivalent=False, p=p)
        return Classification(auc=LabelAuc(mean=None), margin=shown)

    def utility(n):
        return Utility(**{kind: read(of[n]) for kind, of in ps.items() if n < len(of)})

    methods = [Method(name="identity"), *(Method(name="m", utility=utility(n)) for n in range(3))]
    real, *others = with_margins(methods)
    assert real == methods[0]
    for kind, of in ps.items():
        adjusted = [getattr(m.utility, kind).margin_p_holm for m in others[: len(of)]]
        assert adjusted == pytest.approx(holm(of))
    assert others[2].utility.frozen is None
