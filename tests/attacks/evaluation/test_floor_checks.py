"""The floors that an attacker has to surpass before its figure is believed."""

import pytest
from changing import altered
from sound_results import attacked, broken, complete, matching, with_floors
from test_results import attack, estimate, made_up

from attacks.evaluation.checks import checks, floor_checks, knowledge_checks
from attacks.evaluation.checks.checks import run_checks
from attacks.evaluation.checks.knowledge_checks import saw_released_images


def test_the_highest_floor_counts():
    results = attacked(
        pixels=attack(0.4, knowledge="ignorant"), soft_biometrics=attack(0.79, knowledge="informed")
    )
    found = floor_checks.attackers_reach_the_floor(results)
    assert "verification on dp-pix b=8, ε=0.1 (AUC 0.771; soft-biometrics 0.790)" in found.message
    assert not found.passed


def test_a_floor_at_another_level_of_knowledge_is_one_too():
    privacy = {"soft-biometrics:ignorant": attack(0.9), "verification": attack(0.8)}
    method = altered(made_up().methods[1], privacy=privacy)
    found = floor_checks.attackers_reach_the_floor(made_up(methods=(method,)))
    assert "(AUC 0.800; soft-biometrics:ignorant 0.900)" in found.message
    assert [name for name, _ in floor_checks.identity_attacks(method)] == ["verification"]


def test_who_only_reads_age_and_sex_is_no_attacker_that_saw_the_release():
    """It would be taken for one: it is trained on released images."""
    privacy = {
        "soft-biometrics": attack(0.7, knowledge="informed"),
        "training-free": attack(0.6, knowledge="ignorant"),
    }
    method = altered(made_up().methods[5], privacy=privacy)
    assert not saw_released_images(method)
    assert not knowledge_checks.an_attacker_saw_released_images(made_up(methods=(method,))).passed


def test_metadata_and_equal_pixels_are_not_the_strongest_attacker():
    results = complete(metadata=0.99, identical=1.0)
    assert {method.strongest[0] for method in results.methods} == {"verification"}


def test_metadata_do_not_count_as_an_attacker_that_fails_on_real_images():
    assert checks.attackers_link_real_images(complete(metadata=0.55)).passed


def test_nobody_is_undertrained_beside_metadata_that_say_little():
    found = floor_checks.attackers_surpass_the_floors(complete(metadata=0.7))
    assert found.passed
    assert found.message == (
        "No trained attacker stays below what links the real images without looking for a "
        "patient: findings 0.520, metadata 0.700."
    )


def test_rules_without_their_attacker_say_nothing():
    assert floor_checks.attackers_surpass_the_floors(made_up()) is None
    assert floor_checks.metadata_beside_the_images(made_up()) is None


def test_attackers_that_could_not_take_part_are_named():
    why = "soft-biometrics is left out: phantom does not say age, sex or view"
    (found,) = (c for c in run_checks(made_up(), [why]) if c.name == "every attacker took part")
    assert (found.passed, found.informative) == (False, True)
    assert found.message == f"{why}."


def test_luck_among_few_patients_is_no_link():
    lucky = with_floors(made_up(), coin=(0.5, 0.5), coin_sets=(0.5, 0.5))
    coin, sets = lucky.floors
    real = altered(lucky.real, privacy={"sets": attack(0.75), "pixels": attack(0.75)})
    wide = altered(sets, auc=estimate(0.5, half=0.3))
    found = checks.attackers_link_real_images(altered(lucky, methods=(real,), floors=(coin, wide)))
    assert "sets (AUC 0.750" in found.message
    assert "pixels" not in found.message


@pytest.mark.parametrize("floor", ["task", "findings"])
def test_an_attacker_below_a_floor_against_matched_impostors_is_undertrained(floor):
    results = with_floors(complete(), **{floor: (0.6, 0.95)})
    found = floor_checks.attackers_surpass_the_floors(results)
    assert f"verification (matched AUC 0.904; {floor} 0.950)" in found.message


def test_below_a_floor_against_matched_impostors_alone():
    own = {
        "verification": matching(attack(0.8), 0.55),
        "training-free": matching(attack(0.7, knowledge="ignorant"), 0.65),
    }
    found = floor_checks.attackers_reach_the_floor(broken(privacy=own))
    assert "b=8, ε=0.1 (matched AUC 0.550; training-free 0.650)" in found.message
