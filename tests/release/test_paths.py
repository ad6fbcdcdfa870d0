"""Whatever a path says, nothing is written but below OUT and the private folder."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from path_specimens import PATHS
from release_specimens import KINDS, Wave, fill

from anonymize.errors import UsageError
from anonymize.release import pipeline, storage
from anonymize.release.options import ReleaseOptions
from anonymize.release.storage import StorageError

CHANGES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.truncate"}
CHANGES |= {"os.chmod", "os.chown", "os.utime"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_written: list[str] | None = None


def _watch(event, arguments):
    if _written is None:
        return
    if event == "open" and isinstance(arguments[0], str | bytes) and arguments[2] & WRITING:
        _written.append(_real(arguments[0]))
    elif event in CHANGES:
        ends = arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]
        _written.extend(_real(end) for end in ends if not isinstance(end, int))


def _real(path):
    """Where a path of an open folder (/proc/self/fd) leads."""
    folder, name = os.path.split(os.fsdecode(path))
    if folder == str(storage.HANDLES):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(folder), name)


sys.addaudithook(_watch)


@pytest.fixture
def written():
    """Paths that this process opened to write, made, renamed or removed."""
    global _written
    _written = found = []
    yield found
    _written = None


def state(folder):
    """Names, links, contents, modes and times of all below ``folder``."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
        link = os.readlink(path) if path.is_symlink() else ""
        found[path] = (link, content, status.st_mode, status.st_mtime_ns, status.st_nlink)
    return found


def outside(folder):
    """The state of all but OUT and the private folder."""
    private = (folder / "out", folder / "out-private")
    kept = state(folder).items()
    return {p: s for p, s in kept if not any(p.is_relative_to(f) for f in private)}


@pytest.mark.parametrize("name", PATHS)
def test_nothing_is_written_elsewhere(tmp_path, request, name):
    fill(tmp_path / "elsewhere", {"kept.png": KINDS["rgb.png"]})
    fill(tmp_path / "in", {"good.png": KINDS["gray8.png"]})
    options = PATHS[name](tmp_path)
    before = outside(tmp_path)
    written = request.getfixturevalue("written")
    with suppress(UsageError, StorageError):  # the run need not begin
        pipeline.apply(tmp_path / "in", tmp_path / "out", Wave(), ReleaseOptions(**options))
    places = {Path(os.path.realpath(Path(p).parent)) / Path(p).name for p in written}
    own = (tmp_path / "out", tmp_path / "out-private")
    assert not [p for p in places if not any(p.is_relative_to(f) for f in own)]
    assert outside(tmp_path) == before


def test_there_are_enough_of_them():
    assert len(PATHS) >= 25
