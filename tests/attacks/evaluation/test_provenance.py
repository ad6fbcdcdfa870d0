"""Networks that learnt from the test patients are refused; those that may have are named."""

from dataclasses import replace

import pytest
from identities import saved_verifier, trained_by

from anonymize.anonymizer import Anonymizer
from anonymize.configuration import write_options
from anonymize.data.dataset import Dataset
from anonymize.data.splits import learning_patients
from anonymize.errors import UsageError
from anonymize.model_card import Card
from attacks.evaluation import provenance as tested
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.provenance import provenance


@pytest.fixture
def said(data, options, monkeypatch):
    """The check of an evaluation with one network, whose card says that of its data."""

    def of(known, part="test"):
        attackers = ("training-free",)
        plan = Plan([Entrant("identity")], options, attackers=attackers, part=part)
        card = Card(kind="verifier", size=32, data=known) if known is not None else None
        networks = [("--verifier runs/x", card)]
        monkeypatch.setattr(tested, "given_networks", lambda plan, held_back: networks)
        return provenance(plan, data)

    return of


def trained(data, seed=0):
    return trained_by(data.options, seed)


def test_the_same_split_is_no_leak(said, data):
    assert said(trained(data)).passed


def test_another_split_is_refused_with_the_patients_counted(said, data):
    known = trained(data, seed=1)
    other = Dataset.open(data.options.model_copy(update={"split_seed": 1}))
    learning = other.table.frame["part"] != "test"
    own = data.table.frame["part"] == "test"
    ids = "patient_id"
    shared = {*other.table.frame.loc[learning, ids]} & {*data.table.frame.loc[own, ids]}
    assert shared
    with pytest.raises(UsageError) as error:
        said(known)
    message = str(error.value)
    assert message.startswith(f"--verifier runs/x learnt from {len(shared)} of the patients")
    assert "--set data.split_seed=1" in message
    assert "\n" not in message


@pytest.mark.parametrize("part", ["test", "all"])
def test_another_data_set_is_no_leak(said, part):
    known = {"source": "chestxray14", "learning_patients": "0", "split_seed": 3}
    assert said(known, part=part).passed


@pytest.mark.parametrize(
    ("known", "why"),
    [
        (None, "does not say what it was trained on"),
        ({}, "does not say what it was trained on"),
        ({"source": "phantom", "split_seed": 0}, "does not say what it was trained on"),
        ({"source": "folder", "learning_patients": "0"}, "images of a folder"),
        ({"source": "phantom", "learning_patients": "0"}, "other patients, or another split"),
    ],
)
def test_what_is_not_known_is_named(said, known, why):
    check = said(known)
    assert not check.passed
    assert "--verifier x (" in check.message  # reports are public, and folders are not
    assert why in check.message


def test_a_split_that_cannot_be_made_again_is_not_known(said, data):
    assert "another split" in said(trained(data, seed=1) | {"learning_patients": "0"}).message


@pytest.mark.parametrize("seed", [0, 1])
def test_whoever_learnt_from_any_patient_is_refused_where_all_are_tested(said, data, seed):
    learning = Dataset.open(data.options.model_copy(update={"split_seed": seed})).table.frame
    learnt = learning.loc[learning["part"] != "test", "patient_id"].nunique()
    with pytest.raises(UsageError, match=rf"learnt from {learnt} of .*--part all .*leave it out"):
        said(trained(data, seed=seed), part="all")


def test_patients_are_fingerprinted_as_a_set(data):
    table = data.table
    turned = replace(table, frame=table.frame.iloc[::-1].reset_index(drop=True))
    assert learning_patients(turned) == learning_patients(table)
    fewer = table.with_frame(table.frame[table.frame["part"] == "train"])
    assert learning_patients(fewer) != learning_patients(table)


def test_nothing_given_is_nothing_said(data, options):
    assert provenance(Plan([Entrant("identity")], options, attackers=("pixels",)), data) is None


@pytest.fixture
def taught(data, options, tmp_path):
    """A run whose verifier learnt by the split of a seed."""

    def of(seed):
        run = tmp_path / f"run{seed}"
        run.mkdir()
        write_options(options, run / "options.yaml")
        saved_verifier(run / "verifier.safetensors", learnt=trained(data, seed))
        return run

    return of


def test_the_networks_of_a_run_are_looked_at_where_they_are_the_reference(taught, data, options):
    def checked(run):
        return provenance(Plan([Entrant("identity")], options, reference=run), data)

    assert checked(taught(0)).passed
    leaky = taught(1)
    with pytest.raises(UsageError, match=r"^the verifier of --run .*run1 learnt from \d+ of"):
        checked(leaky)
    (leaky / "options.yaml").unlink()  # no run, but a folder of the evaluation's own
    assert checked(leaky) is None


@pytest.mark.parametrize("named", ["{}", "prichexy-net:{}", "{}/model.safetensors"])
def test_the_networks_that_taught_a_generator_are_looked_at(
    taught, data, options, monkeypatch, named
):
    class Blank(Anonymizer):
        name = "blank"

        def anonymize(self, images):
            return images * 0

    monkeypatch.setattr(Entrant, "model", lambda entrant, device="cpu": Blank())
    run = taught(1)
    (run / "model.safetensors").touch()
    plan = Plan([Entrant("identity"), Entrant(named.format(run))], options)
    with pytest.raises(UsageError, match=r"^the verifier of --run .*run1 learnt from"):
        provenance(plan, data)
