"""Whether utility can be read, of what findings, and in which order methods stand."""

import re

import pytest
from sound_results import broken
from test_results import classification, estimate, made_up, method

from attacks.evaluation.checks import checks, utility_checks
from attacks.evaluation.checks.utility_checks import (
    classifier_reads_real_images,
    frozen_and_retrained_agree,
    marked,
    nothing_is_held_back,
    paper_order,
    retrained_classifier_is_no_worse,
)
from attacks.measuring.estimates import LabelAuc
from attacks.reporting.tables import markdown, table
from attacks.results import Classification, Method, SetFigures, Utility


def test_utility_without_any_defined_label_has_no_interval_to_check():
    none = Classification(auc=LabelAuc(mean=None, per_class={"nodule": None}))
    assert checks.intervals_are_narrow(broken(utility=Utility(frozen=none))).passed


@pytest.mark.parametrize(
    ("frozen", "retrained", "expected"),
    [(0.8, 0.829, True), (0.8, 0.831, False), (0.59, 0.6, False), (0.8, None, False)],
)
def test_utility_is_readable_where_the_same_experiment_gives_the_same(frozen, retrained, expected):
    made = Utility(
        frozen=classification(frozen), retrained=Classification(auc=LabelAuc(mean=retrained))
    )
    results = marked(broken(0, utility=made))
    assert [m.utility.readable for m in results.methods] == [expected] * len(results.methods)
    assert not expected or frozen_and_retrained_agree(results).passed


@pytest.mark.parametrize("wide", ["frozen", "retrained"])
def test_what_reads_no_more_than_chance_by_its_interval_is_unreadable(wide):
    half = {"frozen": 0.1, "retrained": 0.1} | {wide: 0.31}
    made = Utility(**{kind: classification(0.8, half=h) for kind, h in half.items()})
    results = marked(broken(0, utility=made))
    assert results.real.utility.readable is False
    assert not classifier_reads_real_images(results).passed
    sure = Utility(**{kind: classification(0.8, half=0.29) for kind in half})
    assert marked(broken(0, utility=sure)).real.utility.readable


def test_nobody_knows_whether_utility_is_readable_without_real_images():
    results = marked(made_up(methods=made_up().methods[1:]))
    assert {m.utility.readable for m in results.methods} == {None}


@pytest.mark.parametrize("labels", [(), ("nodule",)])
def test_too_few_labels_to_hold_back_are_said(labels):
    check = nothing_is_held_back(labels)
    assert not check.passed
    assert check.informative
    assert check.message.count("\n") == 0


@pytest.mark.parametrize(("half", "passed"), [(0.009, True), (0.011, False)])
def test_a_pool_is_beaten_where_the_whole_interval_says_so(half, passed):
    more = estimate(0.01, half=half)
    both = Utility(retrained=classification(0.81), pool_only=classification(0.80), over_pool=more)
    found = utility_checks.release_beats_its_pool(broken(utility=both))
    assert found.passed == passed
    assert passed or "(0.810, pool alone 0.800; +0.010, 95 % -0.001 to +0.021)" in found.message


def test_a_pool_without_a_control_is_not_beaten():
    none = Utility(retrained=classification(0.8), pool_only=Classification(auc=LabelAuc(mean=None)))
    found = utility_checks.release_beats_its_pool(broken(utility=none))
    assert "dp-pix b=8, ε=0.1 (one is undefined)" in found.message


# The order that the paper reports


def ordered(real=0.85, warped=(0.84, 0.80), pixelized=(0.52,), **options):
    methods = [method("identity", {}, 0.9, 0.8, real, real)]
    methods += [
        method("prichexy-net", {"mu": mu}, 0.9, 0.8, auc, auc)
        for mu, auc in zip((0.001, 0.01), warped, strict=False)
    ]
    methods += [
        method("dp-pix", {"b": b, "epsilon": 0.1, "m": 1, **options}, 0.6, 0.5, auc, auc)
        for b, auc in zip((8, 4, 2), pixelized, strict=False)
    ]
    return paper_order(made_up(methods=tuple(methods)))


def test_the_papers_order():
    check = ordered()
    assert check.passed
    assert check.informative
    assert "0.800 (prichexy-net μ=0.01) to 0.840 (prichexy-net μ=0.001)" in check.message
    assert check.message.endswith("The order is the paper's.")
    alone = ordered(warped=(0.813,))
    assert "PriCheXy-Net 0.813 (prichexy-net μ=0.001), DP-Pix" in alone.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"warped": (0.87, 0.80)}, "deformed images read better than real ones"),
        ({"warped": (0.84, 0.61)}, "is not 0.1 above DP-Pix"),
        ({"pixelized": (0.52, 0.72)}, r"DP-Pix at most 0.720 \(dp-pix b=4, ε=0.1\)"),
    ],
)
def test_another_order_is_said_as_it_is(change, message):
    check = ordered(**change)
    assert not check.passed
    assert "The paper's order does not hold" in check.message
    assert re.search(message, check.message)


def test_milder_settings_than_the_papers_do_not_count():
    """DP-Pix at other privacy budgets is not what the paper's order is about."""
    mild = method("dp-pix", {"b": 8, "epsilon": 10.0, "m": 1}, 0.8, 0.7, 0.84, 0.84)
    strict = method("dp-pix", {"b": 8, "epsilon": 0.1, "m": 1}, 0.6, 0.5, 0.52, 0.52)
    base = made_up().methods[:3]
    assert paper_order(made_up(methods=(*base, strict, mild))).passed
    assert not paper_order(made_up(methods=(*base, mild))).passed


def test_nothing_is_said_where_a_method_is_missing():
    for missing in ("identity", "prichexy-net", "dp-pix"):
        methods = tuple(m for m in made_up().methods if m.name != missing)
        assert paper_order(made_up(methods=methods)) is None
    assert paper_order(made_up(methods=(Method(name="identity"),))) is None


def test_a_frozen_classifier_of_sets_is_no_measure():
    made = Utility(frozen=classification(0.95), retrained=classification(0.8))
    sets = SetFigures(outputs=5, images=20, withheld=0, contributors=4, groups=2)
    alone, together = broken(utility=made), broken(utility=made, sets=sets)
    assert not retrained_classifier_is_no_worse(alone).passed
    assert retrained_classifier_is_no_worse(together).passed
    pages = [markdown(*table(results)) for results in (alone, together)]
    assert ["0.950" in page for page in pages] == [True, False]
