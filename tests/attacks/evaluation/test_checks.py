"""Each rule passes on sound results, and fails, with the numbers, on results broken for it."""

import re

import pytest
from changing import altered
from sound_results import (
    attacked,
    broken,
    compared,
    complete,
    matching,
    moved,
    read,
    released_as,
    with_floors,
    within,
)
from test_results import attack, estimate, made_up, method

from attacks.evaluation.checks import (
    checks,
    choice_checks,
    floor_checks,
    release_checks,
    utility_checks,
)
from attacks.evaluation.checks.checks import RULES, run_checks
from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.measuring.release_figures import SetFigures
from attacks.results import Attack, Classification, Displacement, ImageChange, Method, Utility


def painted(more):
    """Sound results; what one method's images tell beyond real ones."""
    first, second, third, *_ = made_up().methods
    return made_up(methods=(first, second, released_as(third, painted=more)))


def judged(**found):
    """Sound results; of one method these AUCs by attacker, and those on the validation part."""
    attacks = {k: altered(attack(auc), auc_validation=known) for k, (auc, known) in found.items()}
    return broken(privacy=attacks)


def chosen(other):
    """Sound results; the attacker chosen of one method reaches 0.6, another one this."""
    return judged(verification=(0.6, 0.9), contrastive=(other, 0.8))


def test_of_attackers_that_take_images_alone_the_one_chosen_is_judged_too():
    """`sets` is chosen, and reaches most; of the others the second best is chosen."""
    found = {"sets": (0.9, 0.99), "verification": (0.6, 0.9)}
    said = choice_checks.strongest_is_chosen_well(judged(**found, contrastive=(0.7, 0.8)))
    assert not said.passed
    assert "(verification 0.600, contrastive 0.700)" in said.message
    assert choice_checks.strongest_is_chosen_well(judged(**found)).passed


def outputs(number, **made):
    """A method that made so many of sets."""
    return broken(sets=SetFigures(outputs=number, contributors=9, groups=2, **made))


def marked(auc, strongest=0.771, half=0.05):
    """A method whose lowest bits link so well, and its strongest attacker."""
    privacy = {"verification": attack(strongest)}
    return broken(image=ImageChange(marks=estimate(auc, half=half)), privacy=privacy)


BROKEN = {
    "attackers_reach_the_floor": (
        attacked(verification=attack(0.50)),
        r"Undertrained.*verification on dp-pix b=8, ε=0.1 \(AUC 0.500; training-free 0.532\)",
    ),
    "attackers_link_real_images": (
        attacked(0, training_free=attack(0.55, knowledge="ignorant")),
        r"Below an AUC of 0.6 on the real images, or no better than luck: training-free "
        r"\(AUC 0.550, 95 % 0.520–0.580\)",
    ),
    "released_are_no_easier_than_real": (
        attacked(verification=attack(0.97)),
        r"verification on dp-pix b=8, ε=0.1 \(0.970, real images 0.904\)",
    ),
    "an_attacker_saw_released_images": (
        broken(privacy={"training-free": attack(0.53, knowledge="ignorant")}),
        "never learnt from pairs of a released and a real image tried: dp-pix b=8, ε=0.1",
    ),
    "attackers_learnt_what_they_compare": (
        attacked(verification=within(attack(0.66), 0.85)),
        r"verification on dp-pix b=8, ε=0.1 \(0.660, within the release 0.850\).* of a mismatch",
    ),
    "impostors_are_matched": (
        attacked(training_free=matching(attack(0.6, knowledge="ignorant"))),
        "nobody knows whether these figures are of patients",
    ),
    "figures_exceed_the_findings": (
        with_floors(made_up(), findings=(0.812, 0.42), task=(0.7, 0.5)),
        r"ot above what links .* \(0.812 of the findings against all .*: .*"
        r"verification on dp-pix b=8, ε=0.1 \(0.771; against matched impostors not known\)",
    ),
    "generators_are_trained": (
        broken(steps=100, converged=False),
        r"still moving when the training ended: dp-pix b=8, ε=0.1 \(100 steps\)",
    ),
    "generators_exceed_a_random_warp": (
        made_up(methods=(compared(moved(1.0, auc=0.84, steps=9), -0.01),)),
        "o better than noise: .* links prichexy-net μ=1 as well as a random warp",
    ),
    "images_are_moved_alike": (
        broken(image=ImageChange(displacement_px=Displacement(mean=1, max=9, rms=3, left=0.66))),
        r"eft where they are, .*: images of dp-pix b=8, ε=0.1 \(66%\) move less",
    ),
    "no_attacker_is_below_chance": (
        attacked(verification=attack(0.4)),
        r"verification on dp-pix b=8, ε=0.1 \(AUC 0.400, 95 % 0.370–0.430; no impostor is",
    ),
    "runs_agree": (
        attacked(verification=attack(0.77, sd=0.12)),
        r"verification on dp-pix b=8, ε=0.1 \(± 0.077\)",
    ),
    "intervals_are_narrow": (
        attacked(verification=attack(0.77, half=0.07)),
        r"verification on dp-pix b=8, ε=0.1 \(0.700–0.840\). 124 patients with 412 images",
    ),
    "classifier_reads_real_images": (
        read(frozen=0.55, retrained=0.55),
        r"Mean AUC on real images: 0.550 \(0.530–0.570\), below 0.6",
    ),
    "retrained_classifier_is_no_worse": (
        read(1, frozen=0.84, retrained=0.7),
        r"prichexy-net μ=0.001 \(0.700 against 0.840\)",
    ),
    "frozen_and_retrained_agree": (
        read(0, frozen=0.846, retrained=0.811),
        "the frozen classifier reaches 0.846, the retrained one 0.811, .* but for the seed",
    ),
    "classifiers_are_repeated": (
        broken(0, utility=Utility(retrained=Classification(auc=LabelAuc(mean=0.8, runs=(0.8,))))),
        r"Fewer than 5 independent trainings.*: real images \(1\)",
    ),
    "findings_held_back_are_kept": (
        complete(held_back=0.06),
        r"lose more AUC on .*: prichexy-net μ=0.001 \(0.062, told 0.002\)",
    ),
    "release_beats_its_pool": (
        complete(pool=0.74),
        r"without any release: privacy-net \(0.733, pool alone 0.740\)",
    ),
    "labels_have_both_values": (read(missing=("nodule",)), "left out of the mean AUC: nodule"),
    "paper_order": (
        read(5, frozen=0.8),
        r"real images 0.846, PriCheXy-Net 0.831 \(prichexy-net μ=0.01\) .* is not 0.1 above DP-Pix",
    ),
    "attackers_surpass_the_floors": (
        complete(metadata=0.983),
        r"metadata 0.983\); undertrained, below that: verification \(AUC 0.904; metadata 0.983\)",
    ),
    "metadata_beside_the_images": (
        complete(metadata=0.8),
        "AUC 0.800, better than any attacker .* of dp-pix b=1, ε=0.1; dp-pix b=2",
    ),
    "no_real_image_is_released": (
        made_up(methods=(*made_up().methods[:2], released_as(made_up().methods[2], untouched=0.5))),
        r"prichexy-net μ=0.01 \(50.0% with the pixels of their original, 0.0% with those",
    ),
    "no_mark_links_the_release": (
        marked(0.99),
        r"which no eye sees, .*: dp-pix b=8, ε=0.1 \(AUC 0.990, 95 % 0.940–1.040; "
        r"verification 0.771\).* no privacy; add the attacker bit-planes",
    ),
    "every_output_is_seen": (
        outputs(1719, images=916, withheld=113),
        r"saw some of the outputs: dp-pix b=8, ε=0.1 \(803 of 1,719\)",
    ),
    "no_donor_is_told": (
        broken(image=ImageChange(donors=estimate(0.62, half=0.03))),
        r"whether it was drawn from: dp-pix b=8, ε=0.1 \(AUC 0.620, 95 % 0.590–0.650\)",
    ),
    "released_images_tell_no_more": (
        painted(0.2),
        "a classifier reads more than the .* that real images give: prichexy-net μ=0.01",
    ),
    "strongest_is_chosen_well": (
        chosen(0.7),
        r"stays below another .*dp-pix b=8, ε=0.1 \(verification 0.600, contrastive 0.700\)",
    ),
    "methods_change_the_images": (
        broken(image=ImageChange(ssim=0.99995)),
        "Released unchanged: dp-pix b=8, ε=0.1",
    ),
}


def test_sound_results_pass_every_check():
    found = run_checks(complete())
    assert {rule.__name__ for rule in RULES if rule(complete()) is None} == set()
    assert len(found) == len(RULES)
    assert [check.message for check in found if not check.passed] == []
    assert len({check.name for check in found}) == len(RULES)


def test_every_rule_is_tested():
    assert {rule.__name__ for rule in RULES} == set(BROKEN)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_broken_results_fail(rule):
    results, message = BROKEN[rule.__name__]
    found = rule(results)
    assert not found.passed
    assert re.search(message, found.message), found.message


def unsteady(sd):
    """An attack whose runs differ so much against matched impostors, and not against all."""
    found = matching(attack(0.77))
    alike = altered(found.matched, auc=estimate(0.77, runs=2, sd=sd))
    return attacked(verification=altered(found, matched=alike))


def unsure(half):
    """One of which the interval reaches so far to each side there."""
    return attacked(verification=matching(attack(0.77), half=half))


def donors(auc, half=0.05):
    """Drawn from other people's films, whom who has them tells so well."""
    return broken(image=ImageChange(donors=estimate(auc, half=half)))


STILL = ImageChange(ssim=0.9, displacement_px=Displacement(mean=0, max=0))


@pytest.mark.parametrize(
    ("rule", "results", "passed"),
    [
        (release_checks.no_real_image_is_released, made_up(), None),  # of a file that does not say
        (release_checks.no_real_image_is_released, broken(image=ImageChange(untouched=0.0)), True),
        (
            release_checks.no_real_image_is_released,
            broken(image=ImageChange(untouched=0.0, of_others=0.25)),
            False,
        ),
        (release_checks.no_mark_links_the_release, made_up(), None),
        (release_checks.no_mark_links_the_release, marked(0.81), True),
        (release_checks.no_mark_links_the_release, marked(0.83), False),
        (release_checks.no_mark_links_the_release, marked(0.83, half=None), False),
        (release_checks.no_mark_links_the_release, marked(0.54, strongest=0.4), True),  # by luck
        (release_checks.every_output_is_seen, made_up(), None),
        (release_checks.every_output_is_seen, outputs(803, images=916, withheld=113), True),
        (release_checks.every_output_is_seen, outputs(804, images=916, withheld=113), False),
        (
            release_checks.every_output_is_seen,
            outputs(800, shown=799, images=916, withheld=0),
            False,
        ),
        (release_checks.no_donor_is_told, made_up(), None),
        (release_checks.no_donor_is_told, donors(0.53), True),
        (release_checks.no_donor_is_told, donors(0.57), False),
        (release_checks.no_donor_is_told, donors(0.49, half=None), True),
        (release_checks.no_donor_is_told, donors(0.57, half=None), False),
        (release_checks.released_images_tell_no_more, painted(0.09), True),
        (release_checks.released_images_tell_no_more, painted(0.11), False),
        (choice_checks.strongest_is_chosen_well, chosen(0.64), True),
        (choice_checks.strongest_is_chosen_well, chosen(0.66), False),
        (checks.intervals_are_narrow, unsure(0.04), True),
        (checks.intervals_are_narrow, unsure(0.06), False),
        (checks.runs_agree, unsteady(0.04), True),
        (checks.runs_agree, unsteady(0.06), False),
        # zero displacement is no change
        (checks.methods_change_the_images, broken(image=STILL), False),
    ],
)
def test_on_both_sides_of_a_rule(rule, results, passed):
    found = rule(results)
    assert (found and found.passed) == passed


def test_who_links_real_images_against_all_impostors_alone_is_named():
    found = matching(attack(0.9), 0.52)
    said = checks.attackers_link_real_images(attacked(0, verification=found))
    assert not said.passed
    assert "luck: verification, matched (AUC 0.520" in said.message
    lucky = with_floors(attacked(0, verification=matching(attack(0.9), 0.7)), coin=(0.5, 0.75))
    assert "luck reaches 0.780" in checks.attackers_link_real_images(lucky).message


def test_failed_checks_come_first():
    results, _ = BROKEN["runs_agree"]
    found = [check.passed for check in run_checks(results)]
    assert found == [False] + [True] * (len(found) - 1)


def test_no_real_images_is_a_failure():
    found = checks.attackers_link_real_images(made_up(methods=made_up().methods[1:]))
    assert not found.passed
    assert "identity was not evaluated" in found.message


def test_too_few_runs_are_named_once_an_attacker():
    methods = [method(m.name, m.options, 0.9, 0.8, 0.8, 0.8, runs=1) for m in made_up().methods]
    found = checks.runs_agree(made_up(methods=tuple(methods)))
    assert found.message.count("verification ran 1 of the 3 times needed") == 1


def test_an_attack_without_an_interval_is_not_trusted():
    lone = Attack(knowledge="informed", auc=Estimate(mean=0.7, sd=0, runs=(0.7,)))
    assert "(no interval)" in checks.intervals_are_narrow(attacked(verification=lone)).message


def test_rules_without_anything_to_look_at_are_left_out():
    results = made_up(methods=(Method(name="identity"),))
    assert run_checks(results) == ()


def test_a_label_rare_among_the_images_of_one_release_is_said_to_be_so():
    found = utility_checks.labels_have_both_values(read(3, missing=("nodule",)))
    title = read(3).titled[3][0]
    assert not found.passed
    assert f": nodule (among those released by {title})." in found.message


def test_long_lists_are_cut_short():
    methods = tuple(method("dp-pix", {"b": b}, 0.5, 0.6, 0.8, 0.8, half=0.09) for b in range(1, 10))
    found = floor_checks.attackers_reach_the_floor(made_up(methods=methods))
    assert "3 more" in found.message
