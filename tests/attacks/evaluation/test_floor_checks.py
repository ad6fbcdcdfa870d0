"""The floors that an attacker has to surpass before its figure is believed."""

from test_checks import attacked, complete
from test_results import attack, made_up

from attacks.evaluation import checks, floor_checks
from attacks.evaluation.checks import run_checks
from attacks.evaluation.knowledge_checks import saw_released_images


def test_the_highest_floor_counts():
    results = attacked(
        pixels=attack(0.4, knowledge="ignorant"), soft_biometrics=attack(0.79, knowledge="informed")
    )
    found = checks.attackers_reach_the_floor(results)
    assert "verification on dp-pix b=8, ε=0.1 (AUC 0.771; soft-biometrics 0.790)" in found.message
    assert not found.passed


def test_a_floor_at_another_level_of_knowledge_is_one_too():
    privacy = {"soft-biometrics:ignorant": attack(0.9), "verification": attack(0.8)}
    method = made_up().methods[1].model_copy(update={"privacy": privacy})
    found = floor_checks.attackers_reach_the_floor(made_up(methods=(method,)))
    assert "(AUC 0.800; soft-biometrics:ignorant 0.900)" in found.message
    assert [name for name, _ in floor_checks.identity_attacks(method)] == ["verification"]


def test_who_only_reads_age_and_sex_is_no_attacker_that_saw_the_release():
    """It would be taken for one: it is trained on released images."""
    privacy = {
        "soft-biometrics": attack(0.7, knowledge="informed"),
        "training-free": attack(0.6, knowledge="ignorant"),
    }
    method = made_up().methods[5].model_copy(update={"privacy": privacy})
    assert not saw_released_images(method)
    assert not checks.an_attacker_saw_released_images(made_up(methods=(method,))).passed


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
    for rule in (
        floor_checks.attackers_surpass_the_floors,
        floor_checks.metadata_beside_the_images,
    ):
        assert rule(made_up()) is None


def test_attackers_that_could_not_take_part_are_named():
    why = "soft-biometrics is left out: phantom does not say age, sex or view"
    (found,) = (c for c in run_checks(made_up(), [why]) if c.name == "every attacker took part")
    assert (found.passed, found.informative) == (False, True)
    assert found.message == f"{why}."
