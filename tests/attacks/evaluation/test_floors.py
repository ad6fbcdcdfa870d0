"""The floors of an evaluation: what links without looking for a patient."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from changing import altered
from identities import owners_of

from anonymize.training.compute import Compute
from attacks.evaluation.floors import Floors, equal_findings, one_order, task_scores
from attacks.evaluation.plan import Entrant, Plan, possible
from attacks.knowledge.trial import Parts
from attacks.measuring.estimates import Estimate
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs
from attacks.measuring.retrieval import retrieve
from attacks.results import Attack, Method


def test_true_findings_by_hand():
    scores = equal_findings(owners_of([0, 0, 1, 2], [3, 3, 3, 1]))
    assert scores.tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]]


def test_equal_findings_guess_as_a_coin_does_among_the_equal():
    """Images of a patient lie side by side, so that a tie by their order would find them."""
    who = owners_of(np.repeat(np.arange(12), 4), np.repeat(np.arange(12) % 2, 4))
    alike = equal_findings(who)
    right = [retrieve(one_order(alike, seed), who, who).within(1).mean() for seed in range(100)]
    assert np.mean(right) == pytest.approx(3 / 23, abs=0.03)
    scores = np.random.default_rng(0).random((9, 9), np.float32)
    assert (np.argsort(one_order(scores, 1)) == np.argsort(scores)).all()


@pytest.mark.parametrize("nuisance", [0.0, 5.0])
def test_outputs_that_differ_between_patients_link(nuisance):
    """Whitened, what varies within patients does not drown what tells them apart."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 3)
    outputs = rng.normal(size=(60, 2))[patient] + 0.2 * rng.normal(size=(180, 2))
    outputs = np.c_[outputs, nuisance * rng.normal(size=180)]
    scores = task_scores(outputs, owners_of(patient), np.arange(90), np.arange(90, 120))
    tested = owners_of(patient)[np.arange(120, 180)]
    genuine, other = (f(tested, tested) for f in (genuine_pairs, impostor_pairs))
    won = (scores[genuine][:, None] > scores[other]).mean()
    assert won > 0.9


def test_who_nobody_can_be_learnt_from_is_compared_as_he_is():
    outputs = np.array([[0.0], [5.0], [0.1], [5.1]])
    scores = task_scores(outputs, owners_of([0, 1, 2, 3]), np.array([0]), np.array([1]))
    assert scores.shape == (2, 2)
    assert scores[0, 0] > scores[0, 1]


def measured(options, data, who, attackers=("training-free",), read=None):
    """{name: floor} of these attackers."""
    plan = Plan([Entrant("identity")], options, attackers=attackers)
    found = Floors(plan, data, who, None, Compute(), read).measured()
    return {floor.name: floor for floor in found}


@pytest.fixture(scope="module")
def unread(options):
    return altered(options, evaluation={"utility": False})


@pytest.fixture(scope="module")
def floors(unread, data):
    def of(who):
        return measured(unread, data, who, ("training-free", "sets"))

    rows = np.arange(len(data.table))
    by_findings = owners_of(data.patients, Parts(data).owners.covariates.findings[rows])
    return of, by_findings, data.table.part("test")


def test_findings_and_coins_of_real_data(floors):
    of, whole, rows = floors
    found, who = of(whole), whole[rows]
    names = ["findings", "task", "soft-biometrics", "metadata", "coin", "coin, sets"]
    assert list(found) == names
    assert found["task"].auc is None
    assert "no classifier of the findings is trained here" in found["task"].message
    assert found["soft-biometrics"].auc is None  # no classifier is trained
    assert found["soft-biometrics"].message.startswith("not measured: no network learns")
    same = who.covariates.findings[:, None] == who.covariates.findings
    genuine, other = (f(who, who) for f in (genuine_pairs, impostor_pairs))
    expected = 0.5 + (same[genuine].mean() - same[other].mean()) / 2
    assert found["findings"].auc.mean == pytest.approx(expected)
    # Matched pairs have the same findings, of one patient or of two.
    assert found["findings"].matched.mean == 0.5
    low, high = found["coin"].auc.ci95
    assert low < 0.5 < high
    assert high - low < found["coin, sets"].auc.ci95[1] - found["coin, sets"].auc.ci95[0]
    assert "100 such attackers" in found["coin"].message
    assert 0 < found["coin"].precision_at_1.mean < found["coin"].r_s.mean < 1
    # Among matched images a guess by lot is right as often as the share of its genuine ones.
    genuine, other = (f(who.matching, who.matching) for f in (genuine_pairs, impostor_pairs))
    asked = genuine.any(axis=1)
    share = genuine.sum(axis=1)[asked] / (genuine | other).sum(axis=1)[asked]
    error = 0.5 / (100 * asked.sum()) ** 0.5
    assert found["coin"].first_guess_matched.mean == pytest.approx(share.mean(), abs=4 * error)
    assert 0 < found["findings"].precision_at_1.mean <= found["findings"].r_s.mean < 1
    assert found["metadata"].r_s.ci95
    # Among pairs alike in their findings, these tell nothing, however their ties fall.
    assert found["findings"].equal_error_rate.mean == pytest.approx(0.5, abs=0.15)
    (first, *_) = found["findings"].operating_points
    assert first.false_match_rate == 0.01
    assert first.false_non_match_rate.mean > 0.9


def test_floors_are_of_what_is_asked(options, data):
    """Where the very originals are asked for, each image is a person of its own, whom a coin finds
    among all images; what is known of other images of a patient is no floor of it."""
    asked = altered(options, evaluation={"utility": False, "scenario": "before-after"})
    found, images = measured(asked, data, Parts(data).owners), len(data.table.part("test"))
    assert list(found) == ["findings", "coin"]
    error = (1 / images / (100 * images)) ** 0.5
    assert found["coin"].precision_at_1.mean == pytest.approx(1 / images, abs=4 * error)
    assert found["findings"].auc.mean > 0.5
    assert found["findings"].matched.mean == 0.5


def test_age_sex_and_view_are_read_or_it_says_why_not(options, data):
    found = Attack(knowledge="ignorant", auc=Estimate(mean=0.6, runs=(0.6,), sd=0.0))
    read = Mock(return_value=found)

    def floor(data, methods=(), attackers=("training-free",)):
        plan, _ = possible(Plan([Entrant("identity")], options, attackers=attackers), data)
        who = Parts(data).owners
        return Floors(plan, data, who, None, Compute(), read)._biometrics(methods)

    assert floor(data).auc == found.auc
    assert read.call_count == 1
    real = Method(name="identity", privacy={"soft-biometrics": found})
    assert floor(data, [real], ("soft-biometrics",)).auc == found.auc
    assert read.call_count == 1  # lent by the attacker that took part
    nothing = data.table.frame.assign(age=np.nan, sex="", view="AP")
    untold = floor(replace(data, table=data.table.with_frame(nothing)))
    assert untold.auc is None
    assert "does not say age, sex or view" in untold.message


def test_the_floor_of_metadata_names_what_it_knows(floors, unread, data):
    of, whole, _ = floors
    assert of(whole)["metadata"].message.startswith("true age, sex, view and follow-up number;")
    nothing = data.table.frame.assign(age=np.nan, sex="", view="AP")
    untold = replace(data, table=data.table.with_frame(nothing))
    found = measured(unread, untold, Parts(untold).owners)
    assert found["metadata"].message.startswith("true follow-up number;")


def test_nobody_to_link_has_no_floor(floors):
    of, who, _ = floors
    assert of(Owners(who.image, who.image, who.identified, who.covariates)) == {}


def test_what_a_classifier_reads_tells_more_of_all_images_of_a_patient(options, data, monkeypatch):
    """Single images tell a patient by little, which adds up."""
    who, rng = Parts(data).owners, np.random.default_rng(0)
    rows = data.table.part("test")
    alike = (data.patients[rows][:, None] == data.patients[rows]) + rng.normal(
        size=(len(rows),) * 2
    )
    monkeypatch.setattr(Floors, "_task", lambda self: alike.astype(np.float32))
    read = Attack(knowledge="ignorant", auc=Estimate(mean=0.6, runs=(0.6,), sd=0.0))
    given = {"who": who, "read": lambda: read}
    assert "task, sets" not in measured(options, data, **given)
    found = measured(options, data, **given, attackers=("training-free", "sets"))
    assert found["task, sets"].auc.mean > found["task"].auc.mean + 0.05
    assert found["task, sets"].message.endswith("all images of a patient.")
