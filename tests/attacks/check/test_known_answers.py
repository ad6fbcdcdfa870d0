"""Releases of known privacy: made as they say, and judged as they are."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from asked import ask

from anonymize.anonymizer import load
from anonymize.configuration import train_options
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.data.table import PARTS
from anonymize.errors import UsageError
from anonymize.training.compute import Compute
from attacks.check import known_answers, releases
from attacks.check.known_answers import ASKED, CASES, DOUBTS, Answer, answers, table
from attacks.check.said import Said
from attacks.cli import main
from attacks.evaluation import checks
from attacks.evaluation.checks.release_checks import COPIES, MARKS, PAINTED
from attacks.evaluation.copies import RealImages
from attacks.evaluation.processes.work import Silent
from attacks.knowledge.set_release import Released
from attacks.measuring.covariates import covariates_of

BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(scope="module")
def options():
    return train_options("prichexy-net")(
        data={"size": 32, "patients": 60, "images": 180, "workers": 1},
        evaluation={"resamplings": 50, "utility": False},
    )


@pytest.fixture(scope="module")
def data(options):
    return Dataset.open(options.data)


def levels(name, data):
    method = BY_NAME[name].make(data, 0)
    return released_images(method, data.images, device=torch.device("cpu")).pixels.numpy()


def real_levels(data):
    return data.images.array(np.arange(len(data.table)))[:, None]


@pytest.mark.whole
def test_every_case_is_a_release(data):
    assert len(CASES) == 12
    real = real_levels(data)
    for case in CASES:
        method = case.make(data, 0)
        assert method.name == case.name
        assert not np.array_equal(levels(case.name, data), real)


def test_patients_are_swapped_within_their_part(data):
    real, released = real_levels(data), levels("patients-swapped", data)
    patients, findings = data.patients, covariates_of(data.table).findings
    rows = {image.tobytes(): row for row, image in enumerate(real)}
    donor = np.array([rows[image.tobytes()] for image in released])
    assert (patients[donor] != patients).all()
    for part in PARTS:
        own = data.table.part(part)
        assert np.isin(donor[own], own).all()
        for row in own:
            others = own[patients[own] != patients[row]]
            if findings[row] in findings[others]:
                assert findings[donor[row]] == findings[row]


def test_half_of_the_patients_are_untouched(data):
    real, released = real_levels(data), levels("half-untouched", data)
    same = (real == released).all(axis=(1, 2, 3))
    patients, test = data.patients, data.table.part("test")
    kept = set(patients[same])
    assert kept.isdisjoint(patients[~same])
    assert abs(len(kept & {*patients[test]}) / len({*patients[test]}) - 0.5) < 0.1
    assert abs(same[test].mean() - 0.5) < 0.1


def test_a_class_has_one_image_of_training_patients(data):
    released, findings = levels("one-image-a-class", data), covariates_of(data.table).findings
    for finding in np.unique(findings):
        assert len(np.unique(released[findings == finding], axis=0)) == 1
    train = data.table.part("train")
    pool = BY_NAME["one-image-a-class"].make(data, 0).pool
    assert pool == set(data.table.frame["image_id"].iloc[train])


def test_the_watermark_is_the_patients_and_all_else_is_the_class(data):
    plain, marked = levels("one-image-a-class", data), levels("lsb-watermark", data)
    np.testing.assert_array_equal(plain | 1, marked | 1)
    bits = (marked & 1).reshape(len(marked), -1)
    same = (bits[:, None] == bits).all(axis=2)
    np.testing.assert_array_equal(same, data.patients[:, None] == data.patients)


def test_findings_are_painted_and_nothing_else_is_changed(data):
    real, released = real_levels(data), levels("label-painted", data)
    painted = len(data.table.labels) * releases.CORNER**2
    assert (real != released).sum(axis=(1, 2, 3)).max() <= painted
    lit = (released[:, 0, : 2 * releases.CORNER] == 255).sum(axis=(1, 2))
    assert (lit >= data.targets.sum(1) * releases.CORNER**2).all()


def test_a_release_of_one_data_set_refuses_other_images(data):
    with pytest.raises(UsageError, match="made for other images"):
        BY_NAME["half-untouched"].make(data, 0)(torch.rand(1, 1, 32, 32))


def test_copies_are_counted(data):
    rows = data.table.part("test")
    real, patients = real_levels(data), data.patients
    stranger = next(r for r in rows if patients[r] != patients[rows[0]])
    pixels = real // 2
    pixels[rows[1]] = real[rows[1]]
    pixels[rows[0]] = real[stranger]
    found = RealImages(data).shares(Released(torch.from_numpy(pixels)), rows)
    assert found == {"untouched": 1 / len(rows), "of_others": 1 / len(rows)}


SAID = Said("pixels", 0.9, (0.85, 0.95), 0.91, 0.92, 0.93, 0.0, 0.0, 0.7, 0.7, 0.7, None, ())
HALF = {"auc": 0.7, "interval": (0.45, 0.9), "untouched": 0.5, "failed": (COPIES,)}


@pytest.mark.parametrize(
    ("case", "change", "verdict"),
    [
        ("mirrored", {}, "right"),
        ("mirrored", {"plain": 0.7}, "WRONG"),
        ("mirrored", {"auc": 0.7, "interval": (0.6, 0.8)}, "WRONG"),
        ("mirrored", {"plain": 0.7, "failed": ("trained attackers reach the floor",)}, "marked"),
        ("mirrored", {"plain": 0.7, "failed": (PAINTED,)}, "WRONG"),  # that is not of linking
        ("constant", {}, "WRONG"),
        ("constant", {"auc": 0.52, "interval": (0.46, 0.58)}, "WRONG"),  # something is read
        (
            "constant",
            {"auc": 0.5, "interval": (0.5, 0.5), "frozen": 0.5, "on_released": 0.5},
            "right",
        ),
        ("half-untouched", {"untouched": 0.5}, "WRONG"),  # and no check says so
        ("half-untouched", {"untouched": 0.5, "failed": (COPIES,)}, "right"),
        ("lsb-watermark", {"auc": 1.0}, "right"),
        ("lsb-watermark", {"auc": 0.5, "interval": (0.4, 0.6)}, "WRONG"),
        ("lsb-watermark", {"auc": 0.7, "failed": (MARKS,)}, "marked"),
        ("noisy-copy", {"auc": 0.7, "interval": (0.45, 0.9), "failed": (COPIES,)}, "WRONG"),
        ("half-untouched", HALF, "marked"),  # half of them are named by a hash
        ("half-untouched", HALF | {"failed": (MARKS,)}, "WRONG"),
        ("label-painted", {"on_released": 1.0}, "WRONG"),
        ("label-painted", {"on_released": 1.0, "failed": (PAINTED,)}, "right"),
    ],
)
def test_verdicts(case, change, verdict):
    found = Answer.of(BY_NAME[case], replace(SAID, **change))
    assert found.verdict == verdict
    assert case in table([found])


def test_every_statement_that_is_missed_needs_a_check_of_its_own():
    """Noise in which people are found, and findings read: two doubts, not one."""
    above = {"auc": 0.9, "interval": (0.8, 0.95), "on_released": 0.9}
    linked, read = "released images are no easier to link than real ones", PAINTED
    for failed, verdict in (((linked,), "WRONG"), ((read,), "WRONG"), ((linked, read), "marked")):
        found = Answer.of(BY_NAME["independent-noise"], replace(SAID, failed=failed, **above))
        assert len(found.missed) == 2
        assert found.verdict == verdict


def test_doubts_are_names_of_checks():
    source = "".join(p.read_text(encoding="utf-8") for p in Path(checks.__path__[0]).glob("*.py"))
    every = [doubts for of_case in DOUBTS.values() for doubts in of_case.values()]
    names = {name for doubts in every for name in doubts}
    assert names
    assert [name for name in names if f'"{name}"' not in source] == []


@pytest.mark.whole
def test_a_miniature_of_the_bench(options, tmp_path):
    cases = [BY_NAME[name] for name in ("constant", "patients-swapped", "lsb-watermark")]
    found, evaluation = answers(
        options,
        tmp_path,
        compute=Compute(),
        display=Silent(),
        cases=cases,
        attackers=("training-free", "bit-planes"),
    )
    assert {a.case: (a.verdict, a.missed) for a in found} == {c.name: ("right", ()) for c in cases}
    assert len(evaluation.results.methods) == 4
    assert load("identity").name == evaluation.results.methods[0].name


def test_whoever_asks_for_no_attacker_of_marks_is_told_of_them(options, tmp_path):
    """Beside a release whose bits tell nothing."""
    cases = [BY_NAME[name] for name in ("lsb-watermark", "one-image-a-class")]
    given = {"compute": Compute(), "display": Silent(), "cases": cases}
    (marked, plain), _ = answers(options, tmp_path, attackers=("training-free",), **given)
    assert (marked.verdict, marked.missed) == ("marked", ("the release links itself",))
    assert MARKS in marked.said.failed
    assert MARKS not in plain.said.failed


def test_the_command_refuses_what_it_has_not():
    for given, words in (
        (["--out", "x"], "are of --known-answers"),
        (["--quick", "--known-answers"], "no --quick"),
    ):
        assert words in ask(main, "check", *given, code=2).output


def test_other_attackers_are_another_folder(monkeypatch, tmp_path):
    """What was measured of some is not overwritten by what is asked of others."""
    results = SimpleNamespace(
        source=SimpleNamespace(model_dump=lambda include: {}),
        model_dump=lambda mode: {"made": {}},
    )
    measured = [Answer.of(BY_NAME["mirrored"], SAID)], SimpleNamespace(results=results)
    monkeypatch.setattr(known_answers, "answers", lambda *given, **named: measured)
    given = ("--known-answers", "--out", tmp_path, "--device", "cpu", "--set", "data.size=32")
    given += ("--set", "data.patients=60", "--set", "data.images=180", "--attackers")
    assert "right" in ask(main, "check", *given, "training-free").output
    kept = (tmp_path / "known_answers.json").read_bytes()
    refused = ask(main, "check", *given, "bit-planes", code=2).output
    assert "results of something else (attackers" in refused
    assert (tmp_path / "known_answers.json").read_bytes() == kept
    ask(main, "check", *given, "training-free")


@pytest.mark.slow
@pytest.mark.parametrize("attackers", ASKED.values(), ids=ASKED)
def test_the_whole_bench(attackers, tmp_path):
    """By all that find something there, and as users run `attacks evaluate`."""
    named = ("--attackers", ",".join(attackers))
    given = ("--known-answers", "--json", "--device", "cpu", "--out", tmp_path, *named)
    result = ask(main, "check", *given)
    found = json.loads(result.stdout)
    assert found["made"]["date"]
    assert [a["case"] for a in found["answers"]] == [case.name for case in CASES]
    assert {a["verdict"] for a in found["answers"]} <= {"right", "marked"}
