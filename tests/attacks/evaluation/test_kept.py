"""Kept results are found again, or measured again where anything that makes them has changed."""

from pathlib import Path

import numpy as np
import pytest
import released_data
from changing import altered
from identities import saved_verifier
from shown import Shown

from anonymize import fingerprint
from anonymize.configuration import load_options, train_options, write_options
from anonymize.errors import UsageError
from anonymize.statistics import Measured
from attacks.evaluation.made_by import attack_options, program, verifier_for
from attacks.evaluation.processes.notes import Notes, outdated, say_outdated
from attacks.evaluation.sweep import reference_of, run_of
from attacks.registry import attacker_class, choose, every_level

TAKING_PART = ("histogram-metric", "training-free", "pixels:white-box", "ensemble", "sets:ignorant")
LEARNER = {"histogram-metric 1/2", "histogram-metric 2/2"}
COMBINED = {"ensemble 1/2", "ensemble 2/2"}
SETS = {"sets:ignorant 1/2", "sets:ignorant 2/2"}
ALL = {*LEARNER, "training-free", "pixels:white-box", *COMBINED, *SETS}


@pytest.fixture(scope="module")
def attacked(options, data, tmp_path_factory):
    """A function that attacks and gives what was measured, not found, and what was said."""
    folder = tmp_path_factory.mktemp("kept")
    release = released_data.release(data, "gaussian-blur:sigma=0.02")

    def attack(changed=options, attackers=TAKING_PART):
        shown = Shown()
        released_data.attacked(changed, release, attackers, folder, shown)
        ended = [s for s in shown.states if s.result and "before" not in s.result]
        return {state.title.partition(": ")[2] for state in ended}, shown.said

    assert attack() == (ALL, [])
    return attack


@pytest.fixture
def edit(monkeypatch):
    """A function that changes what a module does, as far as anybody can see from its source."""

    def change(name):
        original = fingerprint._module
        assert fingerprint._file(name)
        monkeypatch.setattr(
            fingerprint,
            "_module",
            lambda one: ("edited", original(one)[1]) if one == name else original(one),
        )

    return change


@pytest.mark.parametrize(
    ("module", "measured"),
    [
        ("attacks.attackers.histogram_metric", LEARNER | COMBINED),
        ("attacks.training.restoration", LEARNER | COMBINED),
        ("attacks.attackers.pixels", {"pixels:white-box"}),
        ("baselines.gaussian_blur", {"pixels:white-box"}),
        ("attacks.attackers.training_free", {"training-free"} | COMBINED | SETS),
        ("attacks.measuring.breakdown", ALL),
        ("attacks.knowledge.trial", ALL),
        ("attacks.attackers.retrieval", set()),
        ("attacks.reporting.report", set()),
        ("attacks.commands.evaluate", set()),
        ("attacks.evaluation.processes.work", set()),
    ],
)
def test_a_change_of_code_measures_again_what_depends_on_it(attacked, edit, module, measured):
    assert attacked() == (set(), [])
    edit(module)
    found, said = attacked()
    assert found == measured
    again = f"{len(measured)} kept results are of other code or options and are measured again"
    if len(measured) == 1:
        again = "1 kept result is of other code or options and is measured again"
    assert said == ([again] if measured else [])
    assert attacked() == (set(), [])


def test_another_way_to_measure_takes_no_training(attacked, edit, monkeypatch):
    """The scores are still there."""
    assert attacked() == (set(), [])
    monkeypatch.setattr("attacks.evaluation.scored.Scorer.alone", None)  # who calls it fails
    edit("attacks.measuring.world")
    assert attacked()[0] == ALL


def test_the_old_code_finds_its_own_again(attacked, edit, monkeypatch):
    edit("attacks.attackers.combination")
    assert attacked()[0] == ALL
    monkeypatch.undo()
    assert attacked() == (set(), [])


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        (
            {"histogram_metric": {"cells": [4, 6], "components": [10, 20], "copies": 2}},
            LEARNER | COMBINED,
        ),
        ({"pixels": {"side": 16}}, {"pixels:white-box"}),
        ({"retrieval": {"epochs": 2}}, set()),
        ({"utility": False}, set()),
        ({"false_match_rate": 0.02}, ALL),
    ],
)
def test_a_change_of_options_measures_again_what_depends_on_it(
    attacked, options, changes, measured
):
    evaluation = options.evaluation.model_dump() | changes
    changed = train_options("prichexy-net")(
        **options.model_dump(exclude={"evaluation"}), evaluation=evaluation
    )
    assert attacked(changed)[0] == measured


def test_other_members_make_another_ensemble(attacked):
    assert attacked(attackers=("histogram-metric", "ensemble"))[0] == COMBINED


@pytest.mark.parametrize(
    "module",
    [
        "anonymize.statistics",
        "attacks.evaluation.plan",
        "attacks.measuring.estimates",
        "attacks.results",
        "anonymize.inference",
    ],
)
def test_what_is_measured_and_how_it_is_written_makes_no_scores(edit, module):
    chosen = [choose("histogram-metric")]
    before = program(chosen, "attacks.evaluation.scored")
    edit(module)
    assert program(chosen, "attacks.evaluation.scored") == before


ALONE = dict.fromkeys(c.name for c in every_level() if not c.level.combines)


def test_what_makes_scores_is_neither_how_they_are_measured_nor_how_text_is_removed():
    """Else a change of an interval would train for hours again."""
    every = [attacker_class(name) for name in ALONE]
    followed, _ = fingerprint.closure(*every, "attacks.evaluation.scored")
    assert followed.isdisjoint({"anonymize.statistics", "attacks.measuring.statistics"})
    assert not any(module.startswith("anonymize.release.burned_in") for module in followed)


@pytest.mark.parametrize("name", ALONE)
def test_every_attackers_own_module_is_seen(name, edit):
    attacker = choose(name)
    before = program([attacker])
    edit(f"attacks.attackers.{name.replace('-', '_')}")
    assert program([attacker]) != before


def test_the_verifier_is_for_those_whose_figures_depend_on_it(options):
    path = Path("verifier.safetensors")
    for key in ("verification", "verification:ignorant", "learned-inverse"):
        assert verifier_for(options, choose(key), lambda: path)() == path
    changed = altered(options, evaluation={"attacker_start": "scratch"})
    for own, key in ((options, "pixels"), (changed, "verification")):
        with pytest.raises(UsageError, match="add needs_verifier"):
            verifier_for(own, choose(key), lambda: path)()


def test_options_of_other_attackers_do_not_count():
    own = attack_options(train_options("prichexy-net")(), ["pixels"])["evaluation"]
    assert "pixels" in own
    assert "scenario" in own
    assert not {"contrastive", "retrieval", "histogram_metric"} & own.keys()
    assert attack_options(train_options("prichexy-net")()).keys() == {
        *("seed", "precision", "accumulation"),
        *("data", "classifier", "verifier", "evaluation"),
    }


def test_who_is_tested_counts_for_what_learns(options):
    listed = altered(options, data={"test_list": Path("pairs.txt")})
    assert attack_options(listed) != attack_options(options)
    more = altered(options, data={"test_pairs": 7})
    assert attack_options(more) == attack_options(options)


def test_what_other_code_or_options_train_lies_elsewhere(edit, tmp_path):
    kinds = ("prichexy_net", "privacy_net")

    def places(**changes):
        options = [load_options(kind, changes) for kind in kinds]
        runs = [run_of(own, tmp_path, (), {}) for own in options]
        return [*runs, reference_of(options[0], tmp_path, (), {})]

    def differ(first, second):
        return [one != other for one, other in zip(first, second, strict=True)]

    before = places()
    assert places(**{"evaluation.repeats": 3, "threads": 1}) == before
    assert places(**{"evaluation.resamplings": 30, "data.test_pairs": 50}) == before
    assert differ(places(**{"adversarial.epochs": 3}), before) == [True, True, False]
    assert differ(places(**{"classifier.epochs": 3}), before) == [True, True, True]
    assert differ(places(**{"data.source": "folder", "data.root": "a"}), before) == [True] * 3
    assert differ(places(**{"data.test_list": "pairs.txt"}), before) == [True] * 3
    for path in before:
        path.mkdir()
        (path / "model.safetensors").write_bytes(b"")
    edit("baselines.privacy_net")
    after = places()
    assert differ(after, before) == [False, True, False]
    assert [outdated(path, "/model.safetensors") for path in after] == [False, True, False]
    edit("anonymize.training.losses")
    assert differ(places(), before) == [True, True, True]


def test_a_run_that_is_named_is_used_whatever_trained_it(edit, tmp_path):
    options = load_options("quick", {"evaluation.repeats": 3, "data.workers": 1})
    write_options(options, tmp_path / "options.yaml")
    edit("anonymize.training.losses")
    asked = load_options("quick")
    assert run_of(asked, tmp_path / "out", [tmp_path], {}) == tmp_path
    assert reference_of(asked, tmp_path / "out", [tmp_path], {}) == tmp_path
    other = load_options("quick", {"generator.mu": 0.02})
    assert run_of(other, tmp_path / "out", [tmp_path], {}) != tmp_path
    assert reference_of(other, tmp_path / "out", [tmp_path], {}) == tmp_path


def test_given_parts_count_by_what_they_hold(tmp_path):
    options = load_options("quick", {"verifier.architecture": "compact", "verifier.width": 4})
    found = []
    for seed, name in ((0, "a"), (0, "b"), (1, "b")):
        path = tmp_path / f"{name}.safetensors"
        saved_verifier(path, options.verifier, seed=seed)
        found.append(reference_of(options, tmp_path, (), {"verifier": str(path)}))
    assert found[0] == found[1] != found[2]


def test_a_note_is_outdated_where_something_else_made_it(tmp_path):
    notes, made = Notes(tmp_path, "subject"), {"auc": Measured(0.5, np.array([0.4, 0.6]))}
    old, new = (notes.note("a", 0, made_by=letter * 64) for letter in "01")
    other = notes.note("a", 10, made_by="1" * 64)
    old.folder.mkdir(parents=True)
    old.keep_figures(made)
    old.end_training()
    assert not old.folder.exists()
    assert old.figures["auc"].value == 0.5
    assert outdated(new.folder, ".json")
    assert not outdated(old.folder, ".json")
    assert not outdated(other.folder, ".json")
    said = []
    say_outdated([old.folder, new.folder, other.folder], said.append, file=".json")
    assert said == ["1 kept result is of other code or options and is measured again"]
    new.keep_figures(made)
    assert not outdated(new.folder, ".json")
    assert old.known
    assert not Notes(tmp_path, "another").note("a", 0, made_by="0" * 64).known


def test_a_folder_that_somebody_named_is_never_outdated(tmp_path):
    for name in ("run", "run-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(b"")
    assert not outdated(tmp_path / "run", "/*.safetensors")
    assert not outdated(tmp_path / "runs" / "gone", "/*.safetensors")
