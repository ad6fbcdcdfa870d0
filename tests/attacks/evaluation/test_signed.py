"""``attacks evaluate --policy``: judged at the end, judged again without measuring, exit status 5;
and the same seed gives the same results."""

import json
from unittest.mock import Mock

import pytest
import yaml
from asked import ask
from test_results import measured_in

from anonymize.errors import UsageError
from attacks.cli import main
from attacks.evaluation import evaluate as evaluation
from attacks.results import Results

pytestmark = pytest.mark.whole

SEVERE = {"title": "severe", "matched_auc": 0.501, "guidelines": "P"}
EASY = {"title": "easy", "min_jacobian": -1000}


@pytest.fixture(scope="module")
def folder(options, tmp_path_factory):
    path = tmp_path_factory.mktemp("signed")
    own = {k: v for k, v in options.model_dump(mode="json").items() if k in ("data", "evaluation")}
    small = {"cells": [4, 6], "components": [10, 20], "copies": 1}
    own["evaluation"] = {"utility": False, "resamplings": 20, "histogram_metric": small}
    (path / "own.yaml").write_text(yaml.safe_dump(own))
    for name, policy in (("severe", SEVERE), ("easy", EASY)):
        (path / f"{name}.yaml").write_text(yaml.safe_dump(policy))
    return path


def call(folder, *more, out="out", code=0):
    named = ("--config", folder / "own.yaml", "--method", "gaussian-blur:sigma=0.02")
    fixed = ("--attackers", "training-free,histogram-metric", "--repeats", "1", "--device", "cpu")
    return ask(main, "evaluate", *named, *fixed, "--out", folder / out, *more, code=code).output


@pytest.fixture(scope="module")
def first(folder):
    return call(folder, "--policy", folder / "severe.yaml", code=5)


def test_a_line_a_demand(first, folder):
    assert "VERDICT, severe, gaussian-blur" in first
    assert "AUC against matched impostors at most 0.501" in first
    assert "not answered: P1, P2, P3, P4" in first
    page = (folder / "out" / "verdict.md").read_text()
    for part in ("## Guidelines", "## Risk at the size of the world", "| P4 |"):
        assert part in page
    assert "answer: null" in (folder / "out" / "answers.yaml").read_text()
    for name in ("world.md", "world.png"):
        assert (folder / "out" / name).is_file()


def test_what_is_finished_is_judged_without_measuring(first, folder, monkeypatch):
    monkeypatch.setattr(evaluation, "evaluate", None)  # who calls it fails
    before = (folder / "out" / "results.json").read_bytes()
    assert "VERDICT, easy" in call(folder, "--policy", folder / "easy.yaml")
    content = json.loads(call(folder, "--policy", folder / "severe.yaml", "--json", code=5))
    assert content["verdict"][0]["outcome"] != "pass"
    assert [g["key"] for g in content["guidelines"]][:2] == ["A1", "A2"]
    assert Results.model_validate(
        {k: v for k, v in content.items() if k not in ("verdict", "guidelines")}
    ).methods
    assert (folder / "out" / "results.json").read_bytes() == before


@pytest.mark.parametrize("more", [("--repeats", "2"), ("--set", "evaluation.utility=true")])
def test_what_holds_fewer_runs_is_measured(first, folder, more, monkeypatch):
    monkeypatch.setattr(evaluation, "evaluate", Mock(side_effect=UsageError("measured anew")))
    assert "measured anew" in call(folder, "--policy", folder / "easy.yaml", *more, code=2)


def test_answers_stay_what_they_are(first, folder):
    answers = folder / "out" / "answers.yaml"
    answers.write_text("P1: {answer: yes, why: signed, by: the officer}\n")
    said = call(folder, "--policy", folder / "severe.yaml", code=5)
    assert "not answered: P2, P3, P4" in said
    assert "the officer" in answers.read_text()


def test_one_seed_gives_the_same_results(first, folder):
    """To the last bit, but for times and the words of the command."""
    call(folder, out="again")
    assert measured_in(folder / "out") == measured_in(folder / "again")
