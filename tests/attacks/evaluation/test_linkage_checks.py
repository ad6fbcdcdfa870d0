"""Impostors, levels of knowledge and generators: what a figure is a figure of."""

import pytest
from changing import altered
from sound_results import attacked, broken, compared, complete, matching, moved, with_floors, within
from test_results import attack, made_up, with_attacks

from attacks.evaluation.checks import generator_checks, impostor_checks, knowledge_checks
from attacks.results import SetFigures


@pytest.mark.parametrize(
    ("every", "matched", "advice"),
    [
        (0.4, 0.42, "matched AUC 0.420, 95 % 0.390–0.450: turned 0.580"),
        (0.4, 0.51, "matched 0.510: not to be turned"),
        (0.6, 0.42, "matched AUC 0.420, 95 % 0.390–0.450: turned 0.580"),
    ],
)
def test_a_sign_is_turned_only_where_matched_impostors_are_below_chance(every, matched, advice):
    low = matching(attack(every), matched)
    found = impostor_checks.no_attacker_is_below_chance(attacked(verification=low))
    assert not found.passed
    assert advice in found.message


@pytest.mark.parametrize(("p", "passed"), [(None, False), (0.02, False), (0.3, True)])
@pytest.mark.parametrize("reading", ["all", "matched"])
def test_below_chance_is_what_so_many_attacks_do_not_bring_by_chance(p, passed, reading):
    """Older results have no p: there the interval tells."""
    low, high = altered(attack(0.4), p_below_chance=p), matching(attack(0.6), 0.42)
    matched = altered(high, matched={"p_below_chance": p})
    found = attacked(verification=low if reading == "all" else matched)
    assert impostor_checks.no_attacker_is_below_chance(found).passed == passed


def test_strangers_without_a_name_are_said():
    found = impostor_checks.impostors_are_matched(altered(complete(), source={"unidentified": 214}))
    assert found.passed
    assert "by findings, sex. 214 of 412 images are of unknown patients" in found.message


def test_results_that_know_no_matched_impostors_are_not_judged_by_them():
    old = altered(made_up(), version=1, matched_by=("findings",))
    assert impostor_checks.impostors_are_matched(old) is None


def test_findings_that_alone_link_are_a_finding_where_matched_impostors_tell():
    known = with_floors(complete(), findings=(0.812, 0.42))
    found = impostor_checks.figures_exceed_the_findings(known)
    assert (found.passed, found.informative) == (False, True)
    assert "against matched impostors 0.771" in found.message
    unknown = with_floors(made_up(), findings=(0.812, 0.42))
    assert not impostor_checks.figures_exceed_the_findings(unknown).informative


def test_who_stays_below_the_floor_of_matched_impostors_is_said_though_not_of_all():
    known = altered(complete(), floors=())
    assert impostor_checks.figures_exceed_the_findings(known) is None
    for task, passed in ((0.51, True), (0.9, False)):
        found = impostor_checks.figures_exceed_the_findings(
            with_floors(known, findings=(0.52, 0.5), task=(0.51, task))
        )
        assert found.passed == passed
        said = f"0.520 of the findings against all impostors, {task:.3f} of the task"
        assert said in found.message


@pytest.mark.parametrize(("name", "passed"), [("sets", False), ("verification", True)])
def test_who_knows_all_images_of_a_patient_is_held_against_a_floor_that_does_too(name, passed):
    own = broken(privacy={name: matching(attack(0.7), 0.7)})
    floors = {"findings": (0.52, 0.5), "task": (0.53, 0.51), "task, sets": (0.75, 0.65)}
    found = impostor_checks.figures_exceed_the_findings(with_floors(own, **floors))
    assert found.passed == passed
    assert "0.530 of the task against all" in found.message
    assert ("0.750 of the task, sets" in found.message) == (not passed)


def test_who_links_within_the_release_only_by_luck_is_no_mismatch():
    wide = within(attack(0.66, half=0.12), 0.75)
    assert knowledge_checks.attackers_learnt_what_they_compare(attacked(verification=wide)).passed


def test_outputs_that_have_people_in_common_are_linked_without_a_mismatch():
    told = {"verification": within(attack(0.66), 0.85)}
    assert not knowledge_checks.attackers_learnt_what_they_compare(broken(privacy=told)).passed
    sets = SetFigures(outputs=5, images=20, withheld=0, contributors=4, groups=2)
    found = broken(privacy=told, sets=sets)
    others = knowledge_checks.attackers_learnt_what_they_compare(found)
    assert others is None or others.passed


@pytest.mark.parametrize(
    ("trained_on", "beside", "passed"),
    [
        *(("real", {}, False), ("released-real", {}, True), ("mixed", {}, True)),
        ("released-released", {}, False),
        # An ensemble is no better than its members.
        ("released-released", {"ensemble": attack(0.72)}, False),
    ],
)
def test_who_only_compared_released_images_with_each_other_never_met_a_real_one(
    trained_on, beside, passed
):
    own = altered(attack(0.7), trained_on=trained_on)
    found = broken(privacy={"verification": own, **beside})
    assert knowledge_checks.an_attacker_saw_released_images(found).passed == passed


@pytest.mark.parametrize(
    ("ps", "hides_nobody"),
    [((0.3,), ()), ((0.01, 0.01), ()), ((0.01, 0.3), (2,)), ((None, None), ())],
)
def test_of_several_generators_the_luckiest_is_not_believed(ps, hides_nobody):
    """All of them reach less with the whole interval of the difference."""
    methods = []
    for n, p in enumerate(ps, start=1):
        one = compared(moved(float(n), auc=0.7, steps=9), -0.15)
        methods.append(
            with_attacks(
                one,
                lambda found, p=p: altered(
                    found, differences=(altered(found.differences[0], p_holm=p),)
                ),
            )
        )
    found = generator_checks.generators_exceed_a_random_warp(made_up(methods=tuple(methods)))
    assert found.passed == (not hides_nobody)
    assert all(f"links prichexy-net μ={n} as well" in found.message for n in hides_nobody)


def test_a_generator_beside_no_warp_of_its_strength_asks_for_one():
    alone = made_up(methods=(moved(1.0, steps=9, converged=True), moved(1.3)))
    found = generator_checks.generators_exceed_a_random_warp(alone)
    assert (found.passed, found.informative, found.tested) == (False, True, False)
    assert (
        "stands beside: prichexy-net μ=1 (1.00 px). Ask for it with control: true" in found.message
    )
