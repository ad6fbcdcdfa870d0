"""What methods are called."""

import pytest

from attacks.titles import titles, told_apart

WARP = ("prichexy-net", {"mu": 0.04, "size": 64})


def named(*trainings, methods=None):
    methods = methods or [WARP] * len(trainings)
    return titles(told_apart(methods, trainings))


def test_twins_are_called_by_what_their_trainings_differ_in():
    training = {"adversarial": {"verification_weight": 1, "rate": 1e-4}, "seed": 0}
    other = {"adversarial": {"verification_weight": 10, "rate": 1e-4}, "seed": 0}
    again = {"adversarial": {"verification_weight": 10, "rate": 1e-4}, "seed": 1}
    assert named(training, other) == ["prichexy-net μ=0.04, λ=1", "prichexy-net μ=0.04, λ=10"]
    assert named(training, other, again)[2] == "prichexy-net μ=0.04, λ=10, seed=1"
    assert named(training, again, methods=[WARP, ("prichexy-net", {"mu": 0.1, "size": 64})]) == [
        "prichexy-net μ=0.04",
        "prichexy-net μ=0.1",
    ]


def test_options_of_one_name_keep_that_of_their_section():
    both = [{"adversarial": {"rate": n}, "reconstruction": {"rate": n}} for n in (1, 2)]
    assert named(*both)[1] == "prichexy-net μ=0.04, adversarial.rate=2, reconstruction.rate=2"


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (
            {"g": 4, "m": 16, "warp": 0.1, "read": 1, "seed": 0},
            "mosaic g=4, m=16, warp=0.1, read=1",
        ),
        ({"g": 4, "m": 16, "warp": 0.0, "read": None, "band": None, "uses": 1}, "mosaic g=4, m=16"),
        ({"k": 5, "read": 0.0}, "mosaic k=5, read=0"),
        ({"g": 4, "m": 16, "uses": 4}, "mosaic g=4, m=16, uses=4"),
        ({"k": 5, "by": "labels"}, "mosaic k=5"),
        ({"b": 8, "epsilon": 0.1, "m": 1}, "mosaic b=8, ε=0.1"),
        (
            {"features": 8, "unit": "pixels", "mu": 4.0, "controls": 24, "squarings": 7},
            "mosaic unit=pixels, μ=4, controls=24",
        ),
    ],
)
def test_what_a_method_is_stands_in_its_name_though_nothing_else_is_beside_it(options, title):
    assert titles([("mosaic", options)]) == [title]


def test_twins_of_equal_trainings_are_numbered():
    assert named({"seed": 1}, {"seed": 1}) == ["prichexy-net μ=0.04 #1", "prichexy-net μ=0.04 #2"]
    assert named({}, {"seed": None}) == ["prichexy-net μ=0.04 #1", "prichexy-net μ=0.04 #2"]
