"""What a new user reads where something does not fit: which argument, and the way out."""

import json
import os

import pytest
from label_specimens import ellipse, picture, png_mask
from release_specimens import KINDS, checked, command, fill

import anonymize


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})

    return command


def uniform(size):
    return "--canonical", str(size), "--names", "hashed"


def test_one_pixel_is_no_pixels(run):
    assert "for 1 pixel of" in anonymize.load("dp-pix:b=4").evidence
    assert "for 2 pixels of" in anonymize.load("dp-pix:b=4,m=2").evidence


def test_text_that_is_kept_is_said_to_be_moved_by_no_method_that_moves_nothing(run):
    said = run("in", "out", "--text", "keep").stdout
    assert "NOT LOOKED FOR" in said
    assert "moved" not in said.partition("NOT LOOKED FOR")[2].partition("\n")[0]


@pytest.mark.parametrize("name", ["OUT", "the private folder"])
def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(
    run, tmp_path, monkeypatch, name
):
    closed = tmp_path / ("out" if name == "OUT" else "out-private")
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and real(path, mode))
    result = run("in", "out", code=2)
    assert f"{name} cannot be written: it is read-only" in result.stderr
    assert "choose another" in result.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_folder_that_cannot_be_made_is_named(run):
    result = run("in", "/proc/released", code=2)
    assert "OUT cannot be written" in result.stderr
    assert "choose another OUT" in result.stderr


def test_all_that_differs_from_the_release_that_was_begun_is_named(run):
    assert run("in", "out", *uniform(16)).exit_code == 0
    result = run("in", "out", *uniform(17), model="down-sampling:factor=2")
    assert "another --canonical" in result.stderr
    assert "another method" in result.stderr
    assert "--canonical" not in run("in", "out", *uniform(16), model="dp-pix:b=5").stderr


def test_an_out_within_in_is_mended_by_another_out_alone(run):
    said = run("in", "in/sub").stderr
    assert "another OUT" in said
    assert "--private" not in said
    assert "--private" in run("in", "out", "--private", "in/p").stderr


def test_a_plan_foresees_what_is_smaller_than_canonical(run):
    planned = json.loads(run("in", "out", *uniform(400), "--plan", "--json").stdout)
    assert [file["reason"] for file in planned["files"]] == ["too-small"]


def test_files_of_labels_are_counted_by_themselves(run, tmp_path):
    mask = ellipse()
    fill(tmp_path, {"in/a.png": picture(mask), "labels/a.png": png_mask(mask)})
    assert run("in", "out", "--labels", "labels").exit_code == 0
    assert "1 file in the manifest, 1 file of labels, 0 findings" in checked("out").stdout
    found = json.loads(checked("out", "--json").stdout)
    assert (found["files"], found["labels"]) == (2, 1)
