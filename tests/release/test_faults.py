"""Killed anywhere, a full disk, an error of the device: nothing partial, lost or done twice."""

import errno
import json
import os
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import killing
import pytest
from release_specimens import KINDS, Wave, command, fill, png, quarantine, scene, tree
from release_specimens import MIXED as FILES
from review_killing import decide

from anonymize.errors import UsageError
from anonymize.release import pipeline, storage
from anonymize.release.options import ReleaseOptions
from anonymize.release.records import facts
from anonymize.release.records.journal import Journal
from anonymize.release.review import session
from anonymize.release.storage import StorageError


def killed(*jobs):
    return killing.printed(killing, *(json.dumps(job, default=str) for job in jobs))


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """By how files are named: what `killing` was told, and where. One program, which imports once,
    kills both."""
    folder, jobs = tmp_path_factory.mktemp("killed"), {}
    fill(folder / "in", FILES)
    (folder / "key").write_bytes(bytes(range(32)))
    for names, points in (("keep", [*killing.POINTS]), ("hashed", ["key", "journal-after"])):
        base, options = folder / names, {"names": names, "workers": 2}
        base.mkdir()
        key = {"key": folder / "key"} if names == "hashed" else {}
        jobs[names] = {"base": base, "options": options, "points": points, **key}
    done = killed(*({"source": folder / "in", **job} for job in jobs.values()))
    assert done.split() == [point for job in jobs.values() for point in job["points"]]
    return folder / "in", jobs


@pytest.mark.parametrize("names", ["keep", "hashed"])
def test_killed_at_any_point_the_same_call_ends_as_if_uninterrupted(begun, tmp_path, names):
    assert len(killing.POINTS) >= 12
    source, job = begun[0], begun[1][names]
    options = ReleaseOptions(**job["options"], key_file=job.get("key"))
    pipeline.apply(source, tmp_path / "whole", Wave(), options)
    whole = tree(tmp_path / "whole")
    for point in job["points"]:
        out = job["base"] / point
        killing.check_begun(out, whole)
        summary = pipeline.apply(source, out, Wave(), options)
        killing.check_done(out, whole)
        assert summary.anonymized + summary.already_done == 4
        private = out.with_name(f"{point}-private")
        assert quarantine(private) == {"broken.png": "damaged", "notes.txt": "not-an-image"}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("kills", "files"), [(2, 12), pytest.param(30, 100, marks=pytest.mark.slow)]
)
def test_killed_at_random_moments(tmp_path, kills, files):
    source, base = tmp_path / "in", tmp_path / "killed"
    fill(source, {f"{i % 7}/{i}.png": png(scene(size=(40 + i, 52)), 8, 0) for i in range(files)})
    base.mkdir()
    options = {"workers": 2}
    pipeline.apply(source, tmp_path / "whole", Wave(), ReleaseOptions(**options))
    job = {"source": source, "base": base, "options": options, "whole": tmp_path / "whole"}
    figures = json.loads(killed({**job, "random": kills, "longest": 0.1 * files}))
    assert (figures["kills"], figures["wrong"], figures["differ"]) == (kills, 0, 0)


ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES]
PLACES = {
    "writing": (storage, "write_temporary"),
    "renaming": (os, "replace"),
    "journal": (Journal, "_append"),
    "syncing": (os, "fsync"),
    "folders": (storage, "make_folders"),
    "tables": (storage, "write_whole"),
}


@pytest.mark.parametrize(
    ("place", "code"),
    [(place, errno.ENOSPC) for place in PLACES] + [("writing", code) for code in ERRORS[1:]],
)
def test_an_error_of_the_device_stops_the_run_and_it_resumes(
    release, tmp_path, monkeypatch, place, code
):
    owner, name = PLACES[place]
    fill(release.source, FILES)
    whole = release.to(tmp_path / "whole")
    real, calls = getattr(owner, name), []

    def failing(*args, **kwargs):
        calls.append(1)
        if len(calls) >= (1 if place == "tables" else 3):
            raise OSError(code, os.strerror(code), "/secret/Jane")
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)
    with pytest.raises(StorageError, match=os.strerror(code)) as error:
        release()
    assert "Jane" not in str(error.value)
    assert killing.check_begun(release.out, whole).keys() <= FILES.keys()
    monkeypatch.setattr(owner, name, real)
    assert not [n for n in tree(release.out) if ".anonymize-" in n]
    assert release().files == whole


def test_an_output_that_cannot_be_read_again_stops_the_run(release, monkeypatch):
    real = Path.read_bytes

    def failing(path):
        if ".anonymize-" in path.name:
            raise OSError(errno.EIO, "Input/output error")
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", failing)
    with pytest.raises(StorageError, match="Input/output error"):
        release(FILES)
    monkeypatch.setattr(Path, "read_bytes", real)
    assert set(release().files) == {"a/1.png", "a/2.jpg", "b/3.tif", "4.png", "manifest.csv"}


def test_the_manifest_of_an_earlier_call_is_not_taken_for_a_later_ones(release, monkeypatch):
    release(FILES)
    monkeypatch.setattr(facts, "withdraw", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(StorageError):
        release({"more.png": KINDS["rgba.png"]})
    monkeypatch.undo()
    with pytest.raises(UsageError, match="did not finish"), session.opened(release.out):
        pass


@pytest.fixture
def small_disk(tmp_path):
    """A folder of a megabyte of memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root mounts a small disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_full_and_one_that_is_read_only(release, small_disk, tmp_path):
    files = {f"{i}.tif": KINDS["gray16.tif"] for i in range(5)}
    fill(release.source, files)
    out, private = small_disk / "out", tmp_path / "private"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes((1 << 20) - 20_000))  # room for a folder and a few files
    arguments = release.source, out, "--private", private, "--workers", 1
    assert "No space left on device" in command(*arguments, code=4).stderr
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert "OUT cannot be written: it is read-only" in command(*arguments, code=2).stderr
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    ballast.unlink()
    command(*arguments, code=0)
    assert set(tree(out)) == {*files, "manifest.csv"}


def test_a_limit_on_the_size_of_files(release):
    """``ulimit -f``: the kernel's own error in the middle of a write."""
    fill(release.source, FILES)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    try:
        with pytest.raises(StorageError, match=r"File too large|No space left"):
            release()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert release().summary.anonymized + release().summary.already_done >= 4


@pytest.fixture
def unreadable(monkeypatch):
    """Within it, the input 4.png cannot be read."""
    real = storage.open_beneath

    def failing(root, path):
        if path == "4.png":
            raise OSError(errno.EIO, "Input/output error", "/secret/Jane")
        return real(root, path)

    @contextmanager
    def for_now():
        with monkeypatch.context() as patch:
            patch.setattr(storage, "open_beneath", failing)
            yield

    return for_now


def test_an_input_that_cannot_be_read_for_now_is_tried_again(release, unreadable):
    with unreadable():
        assert release(FILES).quarantine["4.png"] == "unreadable"
    assert "4.png" not in release().quarantine


def test_a_rejected_input_that_could_not_be_read_for_a_while_stays_out(release, unreadable):
    release(FILES)
    decide(release.out, "4.png", "quarantined")
    with unreadable():
        release()
    again = release()
    assert again.quarantine["4.png"] == "review"
    assert "4.png" not in again.files
