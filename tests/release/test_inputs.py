"""Which files are taken: folders, lists, standard input; nothing behind a link, nothing twice."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from release_specimens import KINDS, Wave, command, fill, quarantine, tree

from anonymize.errors import UsageError
from anonymize.release import listing, pipeline
from anonymize.release.options import ReleaseOptions

GOOD = KINDS["gray8.png"]
FILES = {"a.png": GOOD, "b/c.jpg": KINDS["gray.jpg"], "b/d/e.tif": KINDS["gray8.tif"]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "in", FILES)

    return command


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\0"])
def test_a_list_takes_what_it_names_in_any_order(run, tmp_path, separator):
    names = [b"b/d", b"a.png", str(tmp_path / "in/a.png").encode(), b"./b//c.jpg"]
    (tmp_path / "list").write_bytes(separator.join(names) + separator)
    assert run("in", "out", "--files-from", "list").exit_code == 0
    assert set(tree(tmp_path / "out")) == {*FILES, "manifest.csv"}
    run("in", "other", "--files-from", "-", stdin=b"b/c.jpg", code=0)
    assert set(tree(tmp_path / "other")) == {"b/c.jpg", "manifest.csv"}


def test_what_an_earlier_list_named_stays_in_quarantine_until_it_is_gone(run, tmp_path):
    fill(tmp_path / "in", {"bad.png": b"nothing"})
    for name, left in (("bad.png", True), ("a.png", True), ("b/c.jpg", False)):
        if not left:
            (tmp_path / "in/bad.png").unlink()
        run("in", "out", "--files-from", "-", stdin=name.encode())
        assert ("bad.png" in quarantine(tmp_path / "out-private")) == left


def test_standard_input_for_the_current_folder(run, tmp_path):
    """``find in -name '*.jpg' | anonymize apply - out``: OUT may lie beside what is listed."""
    run("-", "out", stdin=b"in/b/c.jpg\n", code=0)
    assert set(tree(tmp_path / "out")) == {"in/b/c.jpg", "manifest.csv"}
    done = run("-", "out", stdin=b"in/b/c.jpg\nin/a.png\n")
    assert "1 anonymized, 1 done already" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["in", "out", "--files-from", "-"], b"../Jane.png", "line 1 of the file list"),
        (["in", "out", "--files-from", "-"], b"a.png\n/etc/passwd", "line 2 of the file list"),
        (["in", "out", "--files-from", "-"], b"b/../a.png", "line 1 of the file list"),
        (["in", "out", "--files-from", "-"], b"\n\n", "the file list names no files"),
        (["in", "out", "--files-from", "missing"], b"", "--files-from cannot be read"),
        (["in/a.png", "out", "--files-from", "-"], b"a.png", "IN must be the folder"),
        (["-", "out", "--files-from", "list"], b"a.png", "reads the list from standard input"),
        (["-", "done"], b"in\ndone", "names files of OUT"),
        (["-", "done"], b"done-private/map.csv", "names files of the private folder"),
        (["-", "in"], b"in/a.png", "names files of OUT"),
        (["-", "."], b"in", "lie in one another"),
    ],
)
def test_lists_that_lead_elsewhere_are_refused(run, tmp_path, arguments, stdin, words):
    assert run("-", "done", stdin=b"in").exit_code == 0
    before = tree(tmp_path)
    result = run(*arguments, stdin=stdin, code=2)
    assert words in result.stderr
    assert "Jane" not in result.output
    assert tree(tmp_path) == before


def test_listed_files_that_cannot_be_read_are_accounted_for(release, tmp_path):
    fill(tmp_path / "elsewhere", {"x.png": GOOD})
    fill(release.source, FILES)
    (release.source / "link").symlink_to(tmp_path / "elsewhere")
    listed = ["link/x.png", "link", "gone.png", "a.png/inside.png", "b/c.jpg"]
    done = release(listed=listed)
    assert done.quarantine == {
        "link/x.png": "symlink",
        "link": "symlink",
        "gone.png": "vanished",
        "a.png/inside.png": "vanished",
    }
    assert set(done.files) == {"b/c.jpg", "manifest.csv"}
    assert done.summary.inputs == len(listed)


def test_a_folder_that_becomes_a_link_after_it_was_listed(release, tmp_path, monkeypatch):
    fill(tmp_path / "elsewhere", {"c.jpg": FILES["b/c.jpg"]})
    real = listing.inputs

    def exchanged(places, *rest):
        files = real(places, *rest)
        (release.source / "b").rename(tmp_path / "moved")
        (release.source / "b").symlink_to(tmp_path / "elsewhere")
        return files

    monkeypatch.setattr(listing, "inputs", exchanged)
    done = release(FILES)
    assert done.quarantine == {"b/c.jpg": "symlink", "b/d/e.tif": "symlink"}
    assert set(done.files) == {"a.png", "manifest.csv"}


def test_devices_are_not_opened(release):
    fill(release.source, {"a.png": GOOD})
    try:
        os.mknod(release.source / "zero.png", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert release().quarantine == {"zero.png": "not-a-regular-file"}


def test_folders_nested_a_thousand_deep(release):
    folder = os.open(release.source, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("n", dir_fd=folder)
        below = os.open("n", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    descriptor = os.open("deep.png", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(descriptor, GOOD)
    os.close(descriptor)
    os.close(folder)
    fill(release.source, {"a.png": GOOD})
    try:
        summary = pipeline.apply(release.source, release.out, Wave(), ReleaseOptions())
        written = {f.path for f in listing.walk(release.out)}
    finally:  # Python's own removal of a folder is recursive
        subprocess.run(["rm", "-rf", release.source, release.out], check=True)
    assert summary.inputs == 2 == summary.anonymized + summary.quarantined
    assert (
        {"a.png", "manifest.csv"} <= written <= {"a.png", "manifest.csv", f"{'n/' * 1200}deep.png"}
    )


def test_the_plan_tells_of_listed_files_only(run, tmp_path):
    (tmp_path / "in" / "bad.png").write_bytes(b"x")
    assert "1 anonymize" in run("in", "out", "--plan", "--files-from", "-", stdin=b"a.png").stdout
    result = run("in", "out", "--plan", "--files-from", "-", stdin=b"bad.png\ngone.png", code=3)
    assert "2 quarantine" in result.stdout
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out-private").exists()


def test_a_thousand_files_on_a_list_are_counted_once(release):
    fill(release.source, {"a.png": GOOD})
    done = release(listed=["a.png"] * 3 + [""])
    assert done.summary.inputs == 1
    assert quarantine(release.private) == {}


def test_names_of_a_list_are_kept_byte_by_byte():
    assert listing.parse_list(b"a b \n c\n\xff\n") == ("a b ", " c", "\udcff")
    assert listing.parse_list(b"\xef\xbb\xbfa\r\nb") == ("a", "b")
    assert listing.parse_list(b"a\nb\0c\r\0") == ("a\nb", "c\r")
    with pytest.raises(UsageError, match="line 2"):
        listing.relative(["x", "y/../../z"], Path("/in"))
