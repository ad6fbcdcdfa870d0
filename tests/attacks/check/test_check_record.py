"""What is kept of the attackers' own tests, and what an evaluation says of it."""

from importlib.resources import files
from pathlib import Path

import pytest

from anonymize.configuration import load_options
from attacks.check.run import Outcome, faults
from attacks.evaluation.checks import check_record as record
from attacks.registry import every_level

RECIPE = Path(str(files("attacks.check") / "check.yaml"))


def test_what_it_holds_for_is_told_by_our_sources_alone(monkeypatch):
    """Or no outcome that comes with the program would hold where libraries are others."""
    before = record.examined_by("pixels")
    record.examined_by.cache_clear()
    monkeypatch.setattr("anonymize.fingerprint._version", lambda name: "another")
    assert record.examined_by("pixels") == before


@pytest.mark.parametrize(
    ("option", "concerned"),
    [
        ("attacker_epochs", {"verification"}),
        ("histogram_metric.copies", {"histogram-metric", "ensemble"}),
    ],
)
def test_what_it_holds_for_is_told_by_the_attackers_own_settings(monkeypatch, option, concerned):
    """Longer training of one leaves what is known of the others."""
    every = {"verification", "histogram-metric", "ensemble", "pixels", "donors"}
    before = {key: record.examined_by(key) for key in every}
    record.examined_by.cache_clear()
    options = record._options()
    found = load_options(RECIPE, {f"evaluation.{option}": 7})
    assert found != options
    monkeypatch.setattr(record, "_options", lambda: found)
    assert {key for key in every if record.examined_by(key) != before[key]} == concerned
    record.examined_by.cache_clear()


def test_an_evaluation_names_attackers_that_failed_or_were_not_tested(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    row = {"case": "noise", "why": "", "made": "2026-11-25", "status": "passed"}
    blind = {"case": "smooth warp", "why": "it is blind", "status": "failed"}
    shipped = [row | {"attacker": key} for key in ("pixels", "contrastive")]
    shipped.append(row | blind | {"attacker": "contrastive"})
    monkeypatch.setattr(record, "committed", lambda: shipped)
    outcomes = {
        "pixels": [Outcome("pixels", "noise", "passed")],
        "features": [Outcome("features", "noise", "failed", why="it leaks")],
    }
    record.remember({key: faults(found) for key, found in outcomes.items()})
    assert record.tested(["pixels"]).passed
    failed = record.tested(["pixels", "features"])
    assert not failed.passed
    assert "features (noise: it leaks)" in failed.message
    unknown = record.tested(["pixels", "contrastive"])
    assert unknown.informative
    assert not unknown.tested
    assert failed.tested
    assert "contrastive" in unknown.message
    both = record.tested(["features", "contrastive"]).message
    assert "features (noise: it leaks)" in both
    assert "Not tested with this version of the program: contrastive." in both
    assert "With earlier versions, of 2026-11-25 or later, all but contrastive (smooth" in both
    assert record.tested([]) is None
    monkeypatch.setattr(record, "examined_by", lambda attacker: "changed")
    assert "all of them passed" in record.tested(["pixels"]).message


def test_what_comes_with_the_program_is_of_every_attacker():
    """Each that there is now, at each level; the outcome of one that is gone is gone, too."""
    every = {"donors", *(c.key for c in every_level())}
    assert {o["attacker"] for o in record.committed()} == every
    assert [*record.shipped(["pixels", "no such attacker"])] == ["pixels"]


def test_what_comes_with_the_very_program_is_as_if_tested_here(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    row = {"attacker": "pixels", "case": "noise", "status": "passed", "why": ""}
    rows = [row | {"made": "2026-11-27"}]
    rows += [rows[0] | {"case": "identity", "status": "failed", "why": "it is blind"}]
    monkeypatch.setattr(record, "committed", lambda: rows)
    assert not record.tested(["pixels"]).tested
    for row in rows:
        row["by"] = record.examined_by("pixels")
    found = record.tested(["pixels"])
    assert (found.tested, found.passed) == (True, False)
    assert "pixels (identity: it is blind)" in found.message
