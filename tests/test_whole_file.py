"""A file is whole and has its name, or the old one is untouched and nothing is left beside it."""

import os
import runpy
from unittest.mock import Mock

import pytest

from anonymize import whole_file


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_it_is_written_and_replaced(tmp_path):
    path = tmp_path / "a" / "b.json"
    whole_file.write(path, "é")
    whole_file.write(path, b"two", mode=0o600)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(path.parent) == ["b.json"]


def test_a_name_of_any_bytes_is_written_as_it_is(tmp_path):
    whole_file.write(tmp_path / "found.csv", os.fsdecode(b"\xff.png"))
    assert (tmp_path / "found.csv").read_bytes() == b"\xff.png"


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, function):
    path = tmp_path / "a"
    whole_file.write(path, "old")
    monkeypatch.setattr(os, function, Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        whole_file.write(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_another_process_of_the_same_number_has_other_names(tmp_path):
    one, other = (runpy.run_path(whole_file.__file__)["replacing"] for _ in range(2))
    with one(tmp_path / "a") as mine, other(tmp_path / "a") as theirs:
        assert mine != theirs
        mine.write_text("1")
        theirs.write_text("2")


def test_a_library_writes_to_a_path_of_its_own(tmp_path):
    path = tmp_path / "a"
    with whole_file.replacing(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    with pytest.raises(FileNotFoundError), whole_file.replacing(path):
        pass  # the library wrote nothing
    assert path.read_text() == "whole"
    assert names(tmp_path) == ["a"]
