"""A policy's demands against made-up figures: pass at the safe end, fail at the other, or none."""

import math

import numpy as np
import pytest
import yaml
from changing import altered
from sound_results import broken, matching
from test_results import attack, estimate, made_up

from anonymize.configuration import config_names
from anonymize.errors import UsageError
from anonymize.statistics import Measured
from attacks.evaluation.policies.guidelines import Answers, Facts, guided
from attacks.evaluation.policies.policy import policy_names, read_policy
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.evaluation.policies.verdict import judged
from attacks.measuring.comparisons import equivalence
from attacks.measuring.world_records import Rate, Stratum, World, WorldPoint
from attacks.results import Check

METHOD = "dp-pix b=8, ε=0.1"


@pytest.fixture
def policy(tmp_path):
    def made(**demands):
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump({"title": "mine", **demands}), encoding="utf-8")
        return read_policy(str(path))

    return made


def the_line(results, policy, *, lines=1, **given):
    (verdict,) = judged(results, policy, methods=[METHOD], **given)
    assert len(verdict.lines) == lines
    return verdict.lines[0]


def reaching(auc, half=0.02, p1=0.3, world=None):
    """One attacker, all of whose figures are of one method."""
    own = altered(matching(attack(auc, p1=p1), half=half), world=world)
    return broken(privacy={"verification": own})


@pytest.mark.parametrize(
    ("auc", "outcome"),
    [
        *((0.52, "pass"), (0.529, "pass"), (0.571, "fail"), (0.8, "fail")),
        *((auc, "cannot be certified") for auc in (0.54, 0.55, 0.56)),
    ],
)
def test_the_whole_interval_is_on_one_side(policy, auc, outcome):
    line = the_line(reaching(auc), policy(matched_auc=0.55))
    assert line.outcome == outcome
    assert ("patients" in line.said) == (outcome == "cannot be certified")


def test_one_attacker_is_enough_to_fail(policy):
    weak, strong = matching(attack(0.5)), matching(attack(0.9))
    privacy = {"verification": weak, "training-free": weak, "contrastive": strong}
    line = the_line(broken(privacy=privacy), policy(matched_auc=0.55))
    assert line.outcome == "fail"
    assert "contrastive" in line.said
    assert "verification" not in line.said


@pytest.mark.parametrize(
    ("values", "named"),
    [((0.52, 0.54), 1), ((0.50, 0.57), 1), ((0.57, 0.60), 1), ((0.51, 0.50), 0)],
)
def test_who_decides_is_named(policy, values, named):
    """Of those above what is allowed the one that is shown first, else the one that takes longest;
    not whose interval ends highest."""
    keys = ("verification", "training-free")
    halves = [0.12, 0.08] if values[0] < 0.55 else [0.12, 0.12]
    privacy = {
        key: matching(attack(auc), half=half)
        for key, auc, half in zip(keys, values, halves, strict=True)
    }
    line = the_line(broken(privacy=privacy), policy(matched_auc=0.55))
    assert line.outcome == "cannot be certified"
    assert line.said.startswith(keys[named])
    assert ("show that it fails" in line.said) == (max(values) > 0.55)
    alone = the_line(broken(privacy={keys[named]: privacy[keys[named]]}), policy(matched_auc=0.55))
    assert alone.said == line.said


def test_what_was_not_measured_is_not_passed(policy):
    for privacy in ({"verification": attack(0.4)}, {}):
        line = the_line(broken(privacy=privacy), policy(matched_auc=0.99))
        assert line.outcome == "cannot be certified"


@pytest.mark.parametrize("value", [0.52, 0.58])
def test_so_many_patients_would_decide(policy, value):
    """Intervals of ten times the patients are √10 times as narrow: at the number that is named the
    end of the interval is the threshold."""
    own = policy(matched_auc=0.55)
    found = reaching(value, half=0.06)
    line = the_line(found, own)
    assert line.outcome == "cannot be certified"
    times = line.patients / found.source.patients
    narrow = the_line(reaching(value, half=0.06 / math.sqrt(times * 1.1)), own)
    wide = the_line(reaching(value, half=0.06 / math.sqrt(times * 0.9)), own)
    assert (narrow.outcome, wide.outcome) == (
        "pass" if value < 0.55 else "fail",
        "cannot be certified",
    )


def test_nobody_found_takes_the_rule_of_three(policy):
    none = estimate(0.0, half=0)
    none = altered(none, ci95=(0.0, 1 - 0.025 ** (1 / 100)))
    own = matching(attack(0.5))
    own = altered(own, estimates={**own.estimates, "precision_at_1": none}, precision_at_1=0.0)
    line = the_line(broken(privacy={"verification": own}), policy(precision_at_1=0.01))
    assert line.outcome == "cannot be certified"
    assert 1 - 0.025 ** (1 / line.patients) <= 0.01 < 1 - 0.025 ** (1 / (line.patients - 2))


def rate(value, half):
    return Rate(
        estimate=estimate(value, half=half),
        second=estimate(value / 2),
        within=(max(0, value - half), value + half),
    )


def world_of(*points, people=500):
    """A world of (people, extrapolated, R_s, half of the interval)."""
    made = [
        WorldPoint(people=n, extrapolated=beyond, rank_1=rate(v, h), r_s=rate(v, h))
        for n, beyond, v, h in points
    ]
    stratum = Stratum(probes=9, patients=9, points=made)
    return World(people=people, patients=400, points=made, strata={"same_image": stratum})


FALLING = (100, False, 0.4, 0.1), (500, False, 0.2, 0.05), (10**6, True, 0.02, 0.01)


@pytest.mark.parametrize(
    ("people", "most", "outcome"),
    [
        *((10**6, 0.04, "pass"), (10**6, 0.02, "cannot be certified"), (10**6, 0.009, "fail")),
        *((10**9, 0.04, "pass"), (10**9, 0.005, "cannot be certified")),  # no more than of fewer
        *((100, 0.2, "fail"), (100, 0.45, "cannot be certified")),
        (200, 0.1, "fail"),  # no less than of more
    ],
)
def test_risk_among_people(policy, people, most, outcome):
    results = reaching(0.6, world=world_of(*FALLING))
    demand = policy(r_s={"people": people, "most": most})
    assert the_line(results, demand).outcome == outcome
    both = policy(r_s={"people": people, "most": most, "very_image": True})
    (verdict,) = judged(results, both, methods=[METHOD])
    assert [line.outcome for line in verdict.lines] == [outcome] * 2


def test_how_many_patients_a_figure_is_of_stands_beside_that_figure(policy):
    high, low = (world_of((500, False, value, 0.05)) for value in (0.2, 0.1))
    own = {
        name: altered(matching(attack(0.6)), world=altered(world, patients=patients))
        for name, world, patients in (("contrastive", high, 116), ("training-free", low, 82))
    }
    line = the_line(broken(privacy=own), policy(r_s={"people": 500, "most": 0.2}))
    assert line.said.startswith("contrastive 0.2")
    assert "of 116 patients" in line.said


def test_an_extrapolation_is_called_one_and_both_models_are_named(policy):
    results = reaching(0.6, world=world_of(*FALLING))
    said = the_line(results, policy(r_s={"people": 10**6, "most": 0.04})).said
    assert "extrapolated from 500 people" in said
    assert "second model 0.01" in said


def test_too_few_people_to_foretell(policy):
    world = world_of((11, False, 0.8, 0.1), people=11)
    line = the_line(reaching(0.6, world=world), policy(r_s={"people": 1000, "most": 0.01}))
    assert line.outcome == "cannot be certified"
    assert "11 people are too few" in line.said
    assert line.patients >= 110


def test_older_results_are_judged_by_what_they_hold(policy):
    """Linkage risk of the people evaluated: no less among fewer, no more among more."""
    results = reaching(0.6, p1=0.1)
    few, many = 2, 10**6
    assert results.source.patients < many
    assert the_line(results, policy(r_s={"people": few, "most": 0.05})).outcome == "fail"
    assert the_line(results, policy(r_s={"people": many, "most": 0.5})).outcome == "pass"
    line = the_line(results, policy(r_s={"people": many, "most": 0.001}))
    assert line.outcome == "cannot be certified"
    assert "evaluate again" in line.said


@pytest.mark.parametrize(
    ("difference", "error", "equivalent", "outcome"),
    [
        *((0.0, 0.01, False, "pass"), (0.1, 0.01, False, "pass"), (0.1, 0.01, True, "fail")),
        *((-0.04, 0.02, False, "cannot be certified"), (-0.09, 0.01, False, "fail")),
        *((0.04, 0.02, True, "cannot be certified"), (0.0, 0.01, True, "pass")),
    ],
)
def test_a_classifier_may_lose_no_more_than_the_margin(
    policy, difference, error, equivalent, outcome
):
    draws = difference + error * np.random.default_rng(0).standard_normal(2000)
    measured = Measured(difference, draws, 500, bounded=False)
    results = broken()
    method = dict(results.titled)[METHOD]
    retrained = altered(
        method.utility.retrained,
        difference=estimate(difference),
        margin=equivalence(measured, 0.2),  # another margin than the policy's
    )
    results = broken(utility=altered(method.utility, retrained=retrained))
    demand = policy(utility={"margin": 0.05, "equivalent": equivalent})
    assert the_line(results, demand).outcome == outcome


def test_a_classifier_at_chance_certifies_nothing(policy):
    method = dict(made_up().titled)[METHOD]
    results = broken(utility=altered(method.utility, readable=False))
    line = the_line(results, policy(utility={"margin": 0.05}))
    assert line.outcome == "cannot be certified"


def test_that_nothing_folds_is_a_demand_by_itself(policy):
    assert the_line(made_up(), policy(min_jacobian=0)).outcome == "pass"


def test_files_of_the_release(policy):
    demand = policy(headers=True, text=True, min_jacobian=0)
    sound = ReleaseSeen(3, {}, "dp-pix", "", 3)
    outcomes = [
        (None, ["pass", "cannot be certified", "cannot be certified"]),
        (sound, ["pass"] * 3),
        (ReleaseSeen(3, {}, "dp-pix", "", 2), ["pass", "pass", "fail"]),
        (ReleaseSeen(3, {"changed": 1}), ["pass", "fail", "fail"]),
        (ReleaseSeen(0, {}), ["pass", "fail", "fail"]),
        (ReleaseSeen(3, {}, "identity", "", 3), ["pass", *["cannot be certified"] * 2]),
        (ReleaseSeen(3, {}, "dp-pix", "", 3, -0.5), ["fail", "pass", "pass"]),
    ]
    for seen, expected in outcomes:
        (verdict,) = judged(made_up(), demand, release=seen, methods=[METHOD])
        assert [line.outcome for line in verdict.lines] == expected


@pytest.mark.parametrize(
    ("checks", "outcome"),
    [
        ([Check(name="a", passed=True, message="")], "pass"),
        ([Check(name="a", passed=False, message="", informative=True)], "pass"),
        ([Check(name="a", passed=False, message="")], "fail"),
        (
            [Check(name="a", passed=False, message="", informative=True, tested=False)],
            "cannot be certified",
        ),
        ([], "cannot be certified"),
    ],
)
def test_checks_are_green(policy, checks, outcome):
    results = altered(made_up(), checks=tuple(checks))
    assert the_line(results, policy(checks=True)).outcome == outcome


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({}, "cannot be certified"),
        ({"A1": {"answer": "no"}}, "fail"),
        ({f"A{n}": {"answer": "yes"} for n in range(1, 8)}, "pass"),
        ({f"P{n}": {"answer": "yes"} for n in range(1, 5)}, "cannot be certified"),
    ],
)
def test_guidelines_are_answered(policy, given, outcome):
    answered = guided(Facts(made_up()), Answers.model_validate(given))
    line = the_line(made_up(), policy(guidelines="A"), guided=answered)
    assert line.outcome == outcome


def test_the_worst_line_is_the_verdict(policy):
    demand = policy(matched_auc=0.55, checks=True)
    found = [
        judged(
            altered(reaching(auc), checks=(Check(name="a", passed=ok, message=""),)),
            demand,
            methods=[METHOD],
        )[0]
        for auc, ok in ((0.52, True), (0.54, True), (0.54, False))
    ]
    assert [v.outcome for v in found] == ["pass", "cannot be certified", "fail"]
    assert [v.passed for v in found] == [True, False, False]


def test_real_images_are_not_judged(policy):
    titles = [v.method for v in judged(made_up(), policy(checks=True))]
    assert "real images" not in titles
    assert len(titles) == len(made_up().methods) - 1


def test_shipped_policies():
    assert policy_names() == ["controlled", "internal", "public"]
    assert not set(policy_names()) & set(config_names())
    public, controlled = (read_policy(name) for name in ("public", "controlled"))
    assert public.matched_auc < controlled.matched_auc
    assert public.r_s.most < controlled.r_s.most
    assert public.r_s.people > controlled.r_s.people
    assert all(read_policy(name).headers and read_policy(name).text for name in policy_names())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: x", "must demand something"),
        ("title: x\nmatched_auc: 0.3", "matched_auc"),
        ("title: x\nmatched_acu: 0.6", r"did you mean matched_auc\?"),
        ("title: x\nr_s: {people: 1, most: 0.1}", r"r_s\.people"),
        ("matched_auc: 0.6", "title"),
        ("- a", "keys and values"),
        ("a: [", "readable YAML"),
        (None, "one of controlled, internal, public"),
    ],
)
def test_a_broken_policy_is_one_line(tmp_path, text, message):
    path = tmp_path / "own.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as error:
        read_policy(str(path))
    assert "\n" not in str(error.value)
