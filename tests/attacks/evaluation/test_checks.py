"""Each rule passes on sound results, and fails, with the numbers, on results broken for it."""

import re

import pytest
from test_results import attack, classification, estimate, made_up, method

from attacks.evaluation import checks
from attacks.evaluation.checks import RULES, run_checks
from attacks.evaluation.utility_checks import (
    frozen_and_retrained_agree,
    marked,
    nothing_is_held_back,
    paper_order,
)
from attacks.measuring.estimates import Estimate, Floor, LabelAuc, Matched
from attacks.results import Attack, Classification, Displacement, ImageChange, Method, Utility


def broken(index=5, **changes):
    """Sound results in which one method (dp-pix b=8, ε=0.1) is changed."""
    methods = list(made_up().methods)
    methods[index] = methods[index].model_copy(update=changes)
    return made_up(methods=tuple(methods))


def attacked(index=5, **attacks):
    """Sound results in which one method is attacked otherwise."""
    privacy = {k.replace("_", "-"): v for k, v in attacks.items()}
    return broken(index, privacy=made_up().methods[index].privacy | privacy)


def with_floors(results, **aucs):
    """With floors of these AUCs, (all, matched) each."""
    floors = [
        Floor(name=n.replace("_", ", "), auc=estimate(a), matched=estimate(m))
        for n, (a, m) in aucs.items()
    ]
    return results.model_copy(update={"floors": tuple(floors)})


def matching(found, auc=None, half=0.03):
    """An attack with that AUC against matched impostors; its own where none is given."""
    auc = found.auc.mean if auc is None else auc
    alike = Matched(auc=estimate(auc, half=half), impostor_pairs=900)
    return found.model_copy(update={"matched": alike})


def moved(rms, auc=0.8, **facts):
    """A deforming method of sound results."""
    name = "prichexy-net" if facts else "random-warp"
    own = method(name, {"mu": rms, "sigma": 2.0}, auc, 0.5, 0.8, 0.8)
    change = own.image.model_copy(
        update={"displacement_px": Displacement(mean=rms, max=3 * rms, rms=rms)}
    )
    return own.model_copy(update={"image": change, **facts})


def reading(one, lost, pool):
    """The method with findings held back, of which it loses so much more."""
    retrained = one.utility.mean("retrained")
    utility = Utility(
        frozen=one.utility.frozen,
        retrained=classification(retrained, sides=(retrained, retrained - lost)),
        pool_only=classification(pool) if one.name == "privacy-net" else None,
    )
    return one.model_copy(update={"utility": utility})


def released_as(one, *, untouched=0.0, painted=0.0):
    """The method with a share of real images, and findings that only its images tell."""
    read = one.utility.retrained
    told = LabelAuc(mean=read.auc.mean + painted)
    retrained = read.model_copy(update={"on_released": told})
    image = one.image.model_copy(update={"untouched": untouched, "of_others": 0.0})
    utility = one.utility.model_copy(update={"retrained": retrained})
    return one.model_copy(update={"image": image, "utility": utility})


def complete(metadata=0.52, identical=0.5, held_back=0.0, pool=0.55):
    """Sound results in which every rule finds something to look at; of labels held back, which
    releases lose so much more of; and of one method that draws from a pool."""
    links = attack(metadata, knowledge="ignorant", runs=1).model_copy(update={"sees": "metadata"})
    methods = []
    warps = moved(1.0, auc=0.7, steps=39000, converged=True), moved(1.02, auc=0.85)
    for one in (*made_up().methods, *warps):
        found = attack(1.0 if one.name == "identity" else identical, runs=1, half=0)
        itself = found.model_copy(update={"compares": "before-after"})
        lost = 0.0 if one.name == "identity" else held_back
        privacy = {name: matching(found) for name, found in one.privacy.items()}
        verification = privacy["verification"]
        beside = verification.estimates | {"auc_within": verification.auc}
        privacy["verification"] = verification.model_copy(
            update={"estimates": beside, "trained_on": "mixed"}
        )
        privacy |= {"metadata": links, "identical": itself}
        methods.append(reading(one.model_copy(update={"privacy": privacy}), lost, pool))
    warps = moved(1.0, auc=0.7, steps=39000, converged=True), moved(1.02, auc=0.85)
    methods += [reading(one, held_back, pool) for one in warps]
    for one in methods[-2:]:
        one.privacy.update({name: matching(found) for name, found in one.privacy.items()})
    methods = tuple(released_as(one) for one in methods)
    found = made_up(methods=methods, matched_by=("findings", "sex"))
    return with_floors(found, findings=(0.52, 0.5), metadata=(metadata, 0.5), coin=(0.5, 0.5))


def within(found, auc):
    """The same attacker, with what it reaches within the release."""
    beside = found.estimates | {"auc_within": estimate(auc)}
    return found.model_copy(update={"estimates": beside})


def read(index=0, frozen=0.8, retrained=0.8, **kwargs):
    utility = Utility(
        frozen=classification(frozen, **kwargs), retrained=classification(retrained, **kwargs)
    )
    return broken(index, utility=utility)


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
        r"ot above the 0.812 that the findings alone give among all impostors: .*"
        r"verification on dp-pix b=8, ε=0.1 \(0.771; against matched impostors not known\)",
    ),
    "generators_are_trained": (
        broken(steps=100, converged=False),
        r"still moving when the training ended: dp-pix b=8, ε=0.1 \(100 steps\)",
    ),
    "generators_exceed_a_random_warp": (
        made_up(methods=(moved(1.0, auc=0.84, steps=9, converged=True), moved(1.02, auc=0.85))),
        "o better than noise: .* links prichexy-net μ=1 as well as a random warp",
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
        "Mean AUC on real images: 0.550, below 0.6",
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
    "released_images_tell_no_more": (
        made_up(methods=(*made_up().methods[:2], released_as(made_up().methods[2], painted=0.2))),
        "a classifier reads more than the .* that real images give: prichexy-net μ=0.01",
    ),
    "strongest_is_chosen_well": (
        broken(
            privacy={
                "verification": attack(0.6).model_copy(update={"auc_validation": 0.9}),
                "contrastive": attack(0.7).model_copy(update={"auc_validation": 0.8}),
            }
        ),
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


@pytest.mark.parametrize(
    ("matched", "advice"), [(0.42, "turned 0.580"), (0.51, "not to be turned")]
)
def test_a_sign_is_turned_only_where_matched_impostors_are_below_chance_too(matched, advice):
    low = matching(attack(0.4), matched)
    found = checks.no_attacker_is_below_chance(attacked(verification=low))
    assert f"matched {matched:.3f}: {advice}" in found.message


def test_strangers_without_a_name_are_said():
    source = made_up().source.model_copy(update={"unidentified": 214})
    found = checks.impostors_are_matched(complete().model_copy(update={"source": source}))
    assert found.passed
    assert "by findings, sex. 214 of 412 images are of unknown patients" in found.message


def test_results_that_know_no_matched_impostors_are_not_judged_by_them():
    old = made_up().model_copy(update={"version": 1, "matched_by": ("findings",)})
    assert checks.impostors_are_matched(old) is None


def test_findings_that_alone_link_are_a_finding_where_matched_impostors_tell():
    known = with_floors(complete(), findings=(0.812, 0.42))
    found = checks.figures_exceed_the_findings(known)
    assert (found.passed, found.informative) == (False, True)
    assert "against matched impostors 0.771" in found.message
    unknown = with_floors(made_up(), findings=(0.812, 0.42))
    assert not checks.figures_exceed_the_findings(unknown).informative


def test_who_links_within_the_release_only_by_luck_is_no_mismatch():
    wide = within(attack(0.66, half=0.12), 0.75)
    assert checks.attackers_learnt_what_they_compare(attacked(verification=wide)).passed


@pytest.mark.parametrize(
    ("trained_on", "passed"),
    [("real", False), ("released-released", False), ("released-real", True), ("mixed", True)],
)
def test_who_only_compared_released_images_with_each_other_never_met_a_real_one(trained_on, passed):
    own = attack(0.7).model_copy(update={"trained_on": trained_on})
    found = broken(privacy={"verification": own})
    assert checks.an_attacker_saw_released_images(found).passed == passed


def test_an_ensemble_is_no_better_than_its_members():
    own = attack(0.7).model_copy(update={"trained_on": "released-released"})
    found = broken(privacy={"verification": own, "ensemble": attack(0.72)})
    assert not checks.an_attacker_saw_released_images(found).passed


def test_a_generator_beside_no_warp_of_its_strength_asks_for_one():
    alone = made_up(methods=(moved(1.0, steps=9, converged=True), moved(1.3)))
    found = checks.generators_exceed_a_random_warp(alone)
    assert (found.passed, found.informative) == (False, True)
    assert "stands beside: prichexy-net μ=1 (1.00 px). Add --method random-warp:mu" in found.message


def test_luck_among_few_patients_is_no_link():
    lucky = with_floors(made_up(), coin=(0.5, 0.5), coin_sets=(0.5, 0.5))
    sets = next(floor for floor in lucky.floors if floor.name == "coin, sets")
    wide = sets.model_copy(update={"auc": estimate(0.5, half=0.3)})
    real = lucky.real.model_copy(update={"privacy": {"sets": attack(0.75), "pixels": attack(0.75)}})
    results = lucky.model_copy(update={"methods": (real,), "floors": (lucky.floors[0], wide)})
    found = checks.attackers_link_real_images(results)
    assert "sets (AUC 0.750" in found.message
    assert "pixels" not in found.message


@pytest.mark.parametrize("floor", ["task", "findings"])
def test_an_attacker_below_a_floor_against_matched_impostors_is_undertrained(floor):
    results = with_floors(complete(), **{floor: (0.6, 0.95)})
    found = checks.attackers_surpass_the_floors(results)
    assert f"verification (matched AUC 0.904; {floor} 0.950)" in found.message


def test_below_a_floor_against_matched_impostors_alone():
    own = {
        "verification": matching(attack(0.8), 0.55),
        "training-free": matching(attack(0.7, knowledge="ignorant"), 0.65),
    }
    found = checks.attackers_reach_the_floor(broken(privacy=own))
    assert "b=8, ε=0.1 (matched AUC 0.550; training-free 0.650)" in found.message


def test_failed_checks_come_first():
    results, _ = BROKEN["runs_agree"]
    found = [check.passed for check in run_checks(results)]
    assert found == [False] + [True] * (len(found) - 1)


def test_no_real_images_is_a_failure():
    found = checks.attackers_link_real_images(made_up(methods=made_up().methods[1:]))
    assert not found.passed
    assert "identity was not evaluated" in found.message


def test_zero_displacement_is_no_change():
    still = ImageChange(ssim=0.9, displacement_px=Displacement(mean=0, max=0))
    assert not checks.methods_change_the_images(broken(image=still)).passed


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


def test_utility_without_any_defined_label_has_no_interval_to_check():
    none = Classification(auc=LabelAuc(mean=None, per_class={"nodule": None}))
    assert checks.intervals_are_narrow(broken(utility=Utility(frozen=none))).passed


@pytest.mark.parametrize(
    ("frozen", "retrained", "expected"),
    [(0.8, 0.829, True), (0.8, 0.831, False), (0.59, 0.6, False), (0.8, None, False)],
)
def test_utility_is_readable_where_the_same_experiment_gives_the_same(frozen, retrained, expected):
    made = Utility(
        frozen=classification(frozen),
        retrained=Classification(auc=LabelAuc(mean=retrained)),
    )
    results = marked(broken(0, utility=made))
    assert [m.utility.readable for m in results.methods] == [expected] * len(results.methods)
    assert not expected or frozen_and_retrained_agree(results).passed


def test_nobody_knows_whether_utility_is_readable_without_real_images():
    results = marked(made_up(methods=made_up().methods[1:]))
    assert {m.utility.readable for m in results.methods} == {None}


@pytest.mark.parametrize("labels", [(), ("nodule",)])
def test_too_few_labels_to_hold_back_are_said(labels):
    check = nothing_is_held_back(labels)
    assert not check.passed
    assert check.informative
    assert check.message.count("\n") == 0


def test_a_pool_without_a_control_is_not_beaten():
    none = Utility(retrained=classification(0.8), pool_only=Classification(auc=LabelAuc(mean=None)))
    found = checks.release_beats_its_pool(broken(utility=none))
    assert "dp-pix b=8, ε=0.1 (one is undefined)" in found.message


def test_long_lists_are_cut_short():
    methods = tuple(method("dp-pix", {"b": b}, 0.5, 0.6, 0.8, 0.8, half=0.09) for b in range(1, 10))
    found = checks.attackers_reach_the_floor(made_up(methods=methods))
    assert "3 more" in found.message


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
