"""ZIP archives are read like folders, and their tricks are refused."""

import io
import os
import zipfile

import pytest
from archive_specimens import FILES, GOOD, REFUSED, STORED, UNFIT, WHOLE, archive
from release_specimens import Wave, fill, refused, tree

from anonymize.release import archives, pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason


@pytest.mark.parametrize("content", [WHOLE, STORED, b"#!/bin/sh\n" + WHOLE])
def test_entries_are_released_below_the_name_of_their_archive(release, tmp_path, content):
    plain = tmp_path / "plain"
    fill(plain, FILES)
    pipeline.apply(plain, tmp_path / "expected", Wave(), ReleaseOptions())
    expected = tree(tmp_path / "expected")
    done = release({"scans.ZIP": content, "a.png": GOOD}, workers=2)
    assert done.quarantine == {"scans.ZIP/notes.txt": "not-an-image"}
    released = {n: done.files[f"scans.ZIP/{n}"] for n in expected if n != "manifest.csv"}
    assert released == {n: c for n, c in expected.items() if n != "manifest.csv"}
    assert set(done.files) == {*(f"scans.ZIP/{n}" for n in released), "a.png", "manifest.csv"}
    again = release()
    assert (again.summary.anonymized, again.summary.already_done) == (0, len(released) + 1)


def test_an_archive_alone_is_enough(tmp_path):
    fill(tmp_path, {"scans.zip": WHOLE})
    summary = pipeline.apply(
        tmp_path / "scans.zip", tmp_path / "out", Wave(), ReleaseOptions(names="hashed")
    )
    assert (summary.inputs, summary.anonymized, summary.left_out) == (5, 4, 1)
    assert all("/" not in name for name in tree(tmp_path / "out"))


@pytest.mark.parametrize("name", REFUSED)
def test_archives_that_play_tricks_are_refused_whole(release, tmp_path, name):
    done = release({name: REFUSED[name], "a.png": GOOD})
    assert done.quarantine == {name: "archive"}
    assert set(done.files) == {"a.png", "manifest.csv"}
    assert {p.name for p in tmp_path.iterdir()} == {"in", "out", "out-private"}


@pytest.mark.parametrize("name", UNFIT)
def test_unfit_entries_are_refused_alone(release, name):
    content, reason = UNFIT[name]
    done = release({name: content})
    assert done.quarantine == {f"{name}/a.png": reason}
    assert set(done.files) == {f"{name}/good.png", "manifest.csv"}


def test_names_given_twice_and_too_many(release, monkeypatch):
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = archive([("a.png", GOOD), ("a.png", GOOD)])
    monkeypatch.setattr(archives, "MAX_ENTRIES", 2)
    three = archive([(f"{i}.png", GOOD) for i in range(3)])
    done = release({"twice.zip": twice, "three.zip": three, "none.zip": archive([])})
    reasons = {"twice.zip": "archive", "three.zip": "archive", "none.zip": "not-an-image"}
    assert done.quarantine == reasons


def test_the_packed_bytes_of_an_entry_are_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 1)
    fill(tmp_path, {"x.zip": archive([("empty.png", b"")])})  # which deflate makes two bytes of
    [found] = archives.listed(str(tmp_path), "x.zip")
    assert found.refusal is Reason.TOO_LARGE


def test_paths_that_could_not_all_be_written(release):
    content = archive([("a", GOOD), ("a/b.png", GOOD), ("c.png", GOOD), ("C.png", GOOD)])
    done = release({"x.zip": content})
    assert done.quarantine == dict.fromkeys(
        ["x.zip/a", "x.zip/c.png", "x.zip/C.png"], "name-collision"
    )
    assert set(done.files) == {"x.zip/a/b.png", "manifest.csv"}


def test_an_archive_that_changes_after_it_was_listed(release, monkeypatch):
    real = archives.packed

    def touched(root, member):
        os.utime(root / member.archive, (5, 5))
        return real(root, member)

    monkeypatch.setattr(archives, "packed", touched)
    done = release({"x.zip": archive([("a.png", GOOD)])})
    assert done.quarantine == {"x.zip/a.png": "changing"}


def test_only_files_called_zip_are_opened(release):
    done = release({"scans": WHOLE, "report.docx": WHOLE})
    assert set(done.quarantine.values()) == {"unsupported-format"}


def test_a_link_to_an_archive_is_not_followed(tmp_path):
    fill(tmp_path, {"real.zip": WHOLE})
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.zip").symlink_to(tmp_path / "real.zip")
    with pytest.raises(OSError, match="levels of symbolic links"):
        archives.listed(str(tmp_path / "folder"), "link.zip")
    os.mkfifo(tmp_path / "pipe.zip")
    with refused(Reason.NOT_A_REGULAR_FILE):
        archives.listed(str(tmp_path), "pipe.zip")


@pytest.mark.processes
def test_workers_list_and_inflate(release):
    done = release({"x.zip": WHOLE, "climbs.zip": REFUSED["climbs.zip"]})
    assert done.quarantine == {"x.zip/notes.txt": "not-an-image", "climbs.zip": "archive"}
    assert len(done.files) == 5


def test_the_specimens_are_readable_by_others():
    for content in (WHOLE, STORED):
        with zipfile.ZipFile(io.BytesIO(content)) as made:
            assert made.testzip() is None
