"""Findings that no method is told of, and what is said where there is nothing to hold back."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from changing import altered

from anonymize.configuration import load_options, parse_setting
from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.model_card import read_card
from anonymize.training.compute import Compute
from anonymize.training.run import train
from attacks.evaluation.evaluate import evaluate
from attacks.evaluation.plan import Entrant, Plan
from baselines.gaussian_blur import GaussianBlur

CPU = torch.device("cpu")


def evaluated(options, folder, *methods):
    """Results of the real images and these methods."""
    plan = Plan([Entrant("identity"), *map(Entrant, methods)], options, ("training-free",))
    return evaluate(plan, folder, compute=Compute(CPU)).results


def holding(data, **changes):
    return replace(data, options=altered(data.options, **changes))


def drawn(data, share, **others):
    return holding(data, held_back_share=share, **others).held_back


def test_what_is_held_back_is_named_or_drawn_by_share(data):
    labels = data.table.labels
    assert holding(data, held_back=("Nodule", "Mass")).held_back == ("Mass", "Nodule")
    half = drawn(data, 0.5)
    assert len(half) == 7
    assert drawn(data, 0.5) == half
    assert drawn(data, 0.5, split_seed=1) != half
    assert len(drawn(data, 0.001)) == 1
    assert len(drawn(data, 0.99)) == len(labels) - 1
    assert data.held_back == ()
    assert data.told is data


def test_a_method_is_made_from_the_other_labels(data):
    found = holding(data, held_back=("Effusion",))
    told = found.told
    assert "Effusion" not in told.table.labels
    assert told.targets.shape[1] == len(told.table.labels) == 13
    np.testing.assert_array_equal(told.targets, told.table.targets(np.arange(len(told.table))))
    assert "Effusion" in found.table.labels


def test_names_are_read_as_they_are_typed():
    options = load_options("quick", dict([parse_setting("data.held_back=Mass,Nodule")]))
    assert options.data.held_back == ("Mass", "Nodule")
    assert options.data.holds_back


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (("Flu",), r"must name labels of source phantom \(Atelectasis, .*got Flu"),
        ((), "must leave a label to tell"),
    ],
)
def test_labels_that_do_not_fit_are_refused(few, data, named, message):
    with pytest.raises(UsageError, match=message) as error:
        Dataset.open(altered(few.data, held_back=named or data.table.labels))
    assert "\n" not in str(error.value)


def test_names_and_a_share_are_not_given_together(few):
    given = few.data.model_dump() | {"held_back": ("Mass",), "held_back_share": 0.5}
    with pytest.raises(ValueError, match="held_back_share draws them; give one"):
        type(few.data)(**given)


def test_one_label_cannot_be_held_back(data):
    table = replace(data.table, labels=("Effusion",))
    assert drawn(replace(data, table=table), 0.5) == ()


@pytest.fixture(scope="module")
def told_less(few, tmp_path_factory):
    """Options that hold labels back, and a run that was trained with them."""
    held_back = {"held_back": ("Nodule", "Mass")}
    options = altered(few, data=held_back, evaluation={"utility_repeats": 1})
    run = tmp_path_factory.mktemp("told less") / "run"
    train(options, run, test=False)
    return options, run


def test_training_sees_none_of_what_is_held_back(told_less):
    options, run = told_less
    for name in ("classifier", "model"):
        labels = read_card(run / f"{name}.safetensors").labels
        assert len(labels) == 12
        assert not {*options.data.held_back} & {*labels}


@pytest.mark.whole
def test_the_reading_classifiers_know_all_labels(told_less, tmp_path):
    options, run = told_less
    results = evaluated(options, tmp_path, str(run))
    assert results.source.held_back == ["Mass", "Nodule"]
    for method in results.methods:
        for found in (method.utility.frozen, method.utility.retrained):
            assert len(found.auc.per_class) == 14
            assert set(found.held_back.per_class) == {*options.data.held_back}
            assert len(found.told.per_class) == 12
        assert method.utility.readable is not None
    assert "findings that methods were not told of" in {check.name for check in results.checks}
    # The frozen classifier of all labels is that of an evaluation which holds nothing back.
    (reference,) = tmp_path.glob("reference-*")
    assert len(read_card(reference / "classifier.safetensors").labels) == 14


def test_what_a_release_costs_on_the_findings_told_is_paired(told_less, tmp_path):
    options, _ = told_less
    results = evaluated(options, tmp_path, "gaussian-blur:sigma=0.2")
    real, blurred = (method.utility.retrained for method in results.methods)
    assert real.told_difference is None
    for whole, difference in (
        (lambda found: found.auc, blurred.difference),
        (lambda found: found.told, blurred.told_difference),
    ):
        assert difference.mean == pytest.approx(whole(blurred).mean - whole(real).mean)
    assert blurred.told_difference != blurred.difference


def test_a_method_that_was_told_is_refused(told_less, tmp_path):
    options, run = told_less
    changed = altered(options, data={"held_back": ("Edema",)})
    with pytest.raises(UsageError, match="was trained on labels that are held back") as error:
        evaluated(changed, tmp_path, str(run))
    assert "\n" not in str(error.value)


class Untold(GaussianBlur):
    """Nobody wrote down what it learnt from."""

    told = None


def test_a_method_of_unknown_training_is_refused(told_less, tmp_path):
    options, _ = told_less
    with pytest.raises(UsageError, match="labels that nobody recorded"):
        evaluated(options, tmp_path, Untold(sigma=0.05))


def changed_labels(data, labels, constant=()):
    """The images with these labels alone, some of them absent from all of the test part."""
    frame, test = data.table.frame.copy(), data.table.part("test")
    frame.loc[test, list(constant)] = 0.0
    table = replace(data.table.with_frame(frame), labels=labels)
    return replace(data, table=table, targets=table.targets(np.arange(len(table))))


@pytest.mark.parametrize("constant", [False, True])
def test_one_label_is_said_and_a_constant_one_too(few, data, tmp_path, monkeypatch, constant):
    alone = changed_labels(data, ("Edema",), ("Edema",) if constant else ())
    share = {"held_back_share": 0.5}
    options = altered(few, data=share, evaluation={"utility_repeats": 1})
    opened = replace(alone, options=options.data)
    monkeypatch.setattr(Dataset, "open", lambda *arguments: opened)
    results = evaluated(options, tmp_path)
    results.write(tmp_path / "results.json")
    assert "NaN" not in (tmp_path / "results.json").read_text()
    said = {check.name: check for check in results.checks if not check.passed}
    assert (
        "has one label only (Edema), so none is held back"
        in said["findings that methods were not told of"].message
    )
    utility = results.real.utility
    assert utility.retrained.held_back is None
    assert (utility.retrained.auc.mean is None) == constant
    if constant:
        assert utility.readable is False
        assert utility.retrained.ece is None
        assert said["every label occurs"].message.endswith(": Edema.")
        wrong = said["frozen and retrained classifiers agree on real images"].message
        assert "the frozen classifier reaches undefined" in wrong


def test_a_label_that_is_constant_in_the_test_part_leaves_the_others(
    few, data, tmp_path, monkeypatch
):
    other = changed_labels(data, ("Edema", "Mass"), ("Mass",))
    monkeypatch.setattr(Dataset, "open", lambda *arguments: other)
    results = evaluated(few, tmp_path)
    found = results.real.utility.retrained.auc
    assert found.per_class["Mass"] is None
    assert found.mean == pytest.approx(found.per_class["Edema"])
    (said,) = (check.message for check in results.checks if check.name == "every label occurs")
    assert said.endswith(": Mass.")
