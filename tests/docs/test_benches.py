"""What benches came to is committed with the settings that their documented commands give."""

import importlib
import json
import shlex
from importlib.resources import files
from pathlib import Path

import measured
import pytest
import reproduced

from anonymize.configuration import load_options
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions
from attacks.check.known_answers import ASKED, CASES
from attacks.commands import shared
from attacks.commands.check import command

ANSWERED = "attacks check --known-answers --set threads=1"
SETTINGS = files("attacks.check") / "known_answers.yaml"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(reproduced.ROOT / "tests" / "benchmarks"))
    return importlib.import_module


def committed(name):
    return json.loads((reproduced.RESULTS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ASKED)
def test_known_answers_are_those_of_the_command(name):
    page = (reproduced.ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    named = "" if name == "all" else f" --attackers {','.join(ASKED[name])}"
    assert f"`{ANSWERED}{named}`" in page
    asked = command.make_context("check", shlex.split(ANSWERED)[2:]).params
    assert asked["known_answers"]
    assert asked["source"] is None
    kept = committed(measured.answered(name))
    changed = shared.changes(asked)
    options = load_options(Path(str(SETTINGS)), changed)
    assert kept["changed"] == {name: str(value) for name, value in changed.items()}
    assert kept["attackers"] == list(ASKED[name])
    assert (kept["seed"], kept["source"]["name"]) == (options.seed, options.data.source)
    assert [answer["case"] for answer in kept["answers"]] == [case.name for case in CASES]
    assert {answer["verdict"] for answer in kept["answers"]} <= {"right", "marked"}


def test_findings_alone_find_one_file_of_each_set_of_findings(bench):
    """Who guesses among n files of the same findings is right for one of them, on average."""
    made = bench("bench_release_attack")
    kept = {row["images"]: row["by_findings"] for row in committed("release_attack.json")}
    table = read(DataOptions(patients=made.FILES, images=2 * made.FILES, phantom_seed=7))
    first = table.frame.drop_duplicates("patient_id")
    sets = first[list(table.labels)].drop_duplicates()
    assert kept["phantom"] == pytest.approx(len(sets) / made.FILES)
    assert min(kept.values()) >= 1 / made.FILES


def test_coverage_is_of_the_worlds_that_the_bench_makes(bench):
    """And lies between 93 and 97 %, up to twice its own standard error; where one or two pairs
    decide, it may lie above."""
    interval_coverage, kept = bench("interval_coverage"), committed("coverage.json")
    assert kept["figures"] == interval_coverage.FIGURES
    many = {world["patients"]: world["repetitions"] for world in kept["worlds"]}
    assert many == interval_coverage.REPETITIONS
    alone = {world["patients"]: world["alone"] for world in kept["worlds"]}
    assert alone == interval_coverage.ALONE
    for world in kept["worlds"]:
        assert world["coverage"].keys() == kept["figures"].keys()
        for name, share in world["coverage"].items():
            error = (share * (1 - share) / world["worlds"][name]) ** 0.5
            most = 1.0 if name in interval_coverage.CAUTIOUS else 0.97 + 2 * error
            assert 0.93 - 2 * error < share < most, (world["patients"], name)


def test_delong_is_right_of_independent_pairs_and_too_narrow_else(bench):
    interval_delong, rows = bench("interval_delong"), committed("delong.json")["rows"]
    asked = [(n, pairs) for pairs in interval_delong.KINDS for n in interval_delong.PATIENTS]
    assert [(row["patients"], row["pairs"]) for row in rows] == asked
    assert all(
        row["worlds"] == interval_delong.worlds_of(*one)
        for row, one in zip(rows, asked, strict=True)
    )
    for row in rows:
        if row["pairs"] != "one a patient":
            assert row["delong_error"] < 0.7 * row["our_error"]
            assert row["delong"] < 0.85 < row["ours"]
        elif row["patients"] > 11:
            assert row["delong_error"] == pytest.approx(row["our_error"], rel=0.1)


def test_attacked_files_are_looked_at_as_an_attacker_does_without_options(bench):
    bench("bench_release_attack")
    rows = committed("release_attack.json")
    assert all(row["made"]["commit"] for row in rows)
    assert {row["images"] for row in rows} == {"phantom", "pediatric-pneumonia"}
    assert {row["looks_at"] for row in rows} == {load_options("quick", {}).data.size}


def test_put_together_is_every_mosaic_of_the_bench(bench):
    rows = committed("jigsaw.json")
    assert {row["mosaic"] for row in rows} == {*bench("bench_jigsaw").MOSAICS}
    assert {row["images"] for row in rows} == {"pediatric-pneumonia, 96 px"}
    assert all(row["made"]["commit"] for row in rows)
