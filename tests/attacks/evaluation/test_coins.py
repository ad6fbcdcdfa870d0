"""What random scores come to, by formulas."""

import numpy as np
import pytest
from identities import mixed, owners_of

from attacks.attackers.combination import over_sets
from attacks.evaluation.coins import luck_of_sets, random_figures
from attacks.measuring.breakdown import linked_by_images
from attacks.measuring.metrics import genuine_places
from attacks.measuring.outputs import of_patients
from attacks.measuring.retrieval import retrieve


def test_a_coin_lies_around_one_half_and_sets_of_few_patients_widely():
    few = owners_of(np.repeat(np.arange(8), 4))
    single, sets = (np.array(random_figures((few, few), 1, sets=s)["auc"]) for s in (False, True))
    assert single.mean() == pytest.approx(0.5, abs=3 * single.std() / 10)
    genuine, impostor = 8 * 4 * 3, 8 * 4 * 7 * 4
    alone = np.sqrt((genuine + impostor + 1) / (12 * genuine * impostor))  # Mann and Whitney 1947
    assert single.std() == pytest.approx(alone, rel=0.3)
    assert sets.std() > 2 * single.std()


def test_a_coin_guesses_among_those_whom_it_compares():
    """The first of n − 1 others is one of the patient's own in their share of the cases; a patient
    is given away unless all of his images miss."""
    few = owners_of(np.repeat(np.arange(5), 4))
    found = random_figures((few, few), 1)
    assert np.mean(found["precision_at_1"]) == pytest.approx(3 / 19, abs=0.03)
    assert np.mean(found["r_s"]) == pytest.approx(1 - (16 / 19) ** 4, abs=0.07)


def test_luck_of_sets_is_that_of_random_scores_taken_together():
    """A genuine pair of two images is few scores where impostors' are means of more, so that luck
    passes a threshold more often than its impostors do."""
    shown, real = mixed(images=120, patients=40)
    found = luck_of_sets((shown, real), 1, false_match_rate=0.05)
    rng, hits, linked = np.random.default_rng(2), [], {}
    for _ in range(60):
        drawn = rng.random((120, 120))[shown.contributors.image[:, 0]]
        scores, own, known = of_patients(over_sets(drawn, shown, real), shown, real)
        hits.append(retrieve(scores, own, known).within(1).mean())
        pairs = genuine_places(own, known)
        for group, _, passed in linked_by_images(scores, own, known, pairs, 0.05):
            linked.setdefault(group, []).append(passed.mean())
    assert found["precision_at_1_coin"].value == pytest.approx(np.mean(hits), abs=0.02)
    assert {name.rpartition("|")[2] for name in found if name.startswith("coin|")} == set(linked)
    for group, rates in linked.items():
        error = 5 * np.std(rates) / np.sqrt(30)
        assert found[f"coin|images|{group}"].value == pytest.approx(np.mean(rates), abs=error)
    assert found["coin|images|2"].value > 0.07
    # Matched pairs are of identified people alone, so that there are fewer to be met.
    alike = found["matched|precision_at_1_coin"].value
    assert found["precision_at_1_coin"].value < alike < 2 * found["precision_at_1_coin"].value
