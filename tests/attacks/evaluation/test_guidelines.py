"""What the program saw beside each guideline, and what a person answered."""

import json

import pytest
import yaml
from changing import altered
from test_results import made_up

from anonymize.errors import UsageError
from attacks.evaluation.policies.guidelines import (
    GUIDELINES,
    Answers,
    Facts,
    guided,
    read_answers,
    template,
)
from attacks.evaluation.policies.release_seen import ReleaseSeen
from attacks.measuring.small_groups import Groups

GROUPS = Groups(by=("age", "findings"), patients=40, groups=12, k=1, alone=3, diversity=1, told=5)


def seen(key, answers=None, **facts):
    found = guided(Facts(altered(made_up(), groups=GROUPS), **facts), answers or Answers())
    return next(g for g in found if g.key == key).seen


def test_every_guideline_is_asked():
    assert list(GUIDELINES) == [*(f"A{n}" for n in range(1, 8)), *(f"P{n}" for n in range(1, 5))]
    assert set(GUIDELINES) == set(Answers.model_fields) - {"overlaps"}


def test_what_was_seen():
    assert "3 alone" in seen("A6")
    assert "smallest of 1 (k)" in seen("A6")
    assert "5 patients" in seen("A5")
    assert "l = 1" in seen("A5")
    assert "person must know" in seen("A2")
    release = ReleaseSeen(7, {"unfit": 2})
    assert "2 × unfit" in seen("A1", release=release)
    assert "no release" in seen("P2")


def test_overlaps_are_counts(tmp_path):
    path = tmp_path / "overlap.json"
    path.write_text(json.dumps({"identical": 2, "probable": 1, "pairs": [{"a": "secret.png"}]}))
    said = seen("A3", overlaps=[path])
    assert "2 pairs of patients with identical images" in said
    assert "secret" not in said
    path.write_text("{}")
    with pytest.raises(UsageError, match=r"overlap\.json files that `attacks overlap` wrote"):
        seen("A3", overlaps=[path])


def test_answers_are_read_as_people_write_them(tmp_path):
    path = tmp_path / "answers.yaml"
    assert read_answers(path) == Answers()
    path.write_text("A1: {answer: yes, why: nothing is left, by: me}\nA2: {answer: 'no'}\n")
    found = read_answers(path)
    assert (found.A1.answer, found.A2.answer, found.A3.answer) == ("yes", "no", None)
    assert found.A1.why == "nothing is left"


def test_the_template_answers_nothing(tmp_path):
    path = tmp_path / "answers.yaml"
    path.write_text(template())
    assert read_answers(path) == Answers()
    assert set(yaml.safe_load(template())) == {"overlaps", *GUIDELINES}


@pytest.mark.parametrize("text", ["A1: {answer: maybe}", "A9: {answer: yes}", "[1]", "a: ["])
def test_broken_answers_are_one_line(tmp_path, text):
    path = tmp_path / "answers.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_answers(path)
    assert "\n" not in str(error.value)
