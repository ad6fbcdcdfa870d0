"""What lies under IN: a folder, one file, a list of files, and the entries of ZIP archives."""

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from anonymize.errors import UsageError
from anonymize.release import archives
from anonymize.release.archives import Found
from anonymize.release.labels import collect
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE, Places
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records.listed import Listed
from anonymize.release.workers.worker_pool import WorkerPool
from anonymize.whole_file import TEMPORARY

# What `verify` takes for a table of ours, in a release of any kind.
RESERVED = {MANIFEST, SIGNATURE, *SET_FILES, f"{collect.FOLDER}/{collect.MANIFEST}"}


def inputs(places: Places, pool: WorkerPool, wanted: Iterable[str] | None = None) -> Listed:
    """Every file to look at, in the order of its path; links are not followed.

    ``wanted``: files and folders under IN instead of all of it, in any order (see ``relative``).

    Raises UsageError: one of ``wanted`` lies under OUT or the private folder."""
    if wanted is not None:
        found = (f for path in wanted for f in _wanted(places.root, path))
        files = _apart(found, places)
    elif places.objects is not None:
        files = places.objects.walk()
    elif places.single is not None:
        files = iter([_found(places.root / places.single, places.single)])
    else:
        files = walk(places.root)
    return Listed((entry for file in files for entry in opened(file, places, pool)), _is_ours)


def walk(folder: Path, prefix: str = "") -> Iterator[Found]:
    """Everything below ``folder`` that is no folder; one that cannot be listed stands for all."""
    pending = [prefix]
    while pending:
        below = pending.pop()
        try:
            with os.scandir(folder / below.removeprefix(prefix)) as listing:
                entries = list(listing)
        except OSError:
            yield Found(below.rstrip("/"), Reason.UNREADABLE)
            continue
        for entry in entries:
            path = below + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{path}/")
            else:
                yield _found(Path(entry.path), path)


def is_empty(folder: Path) -> bool:
    """True where there is no file below ``folder``, at any depth."""
    return next(walk(folder), None) is None


def output_files(out: Path) -> Iterator[str]:
    """Relative paths of all that lies under OUT; links and devices included, folders not."""
    return (f.path for f in walk(out)) if out.exists() else iter(())


def empty_folders(folder: Path) -> list[Path]:
    """Folders below ``folder`` that hold no file at any depth, those within others first."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder, topdown=False):
        path = Path(place)
        if path != folder and not files and all(path / below in found for below in folders):
            found.append(path)
    return found


def parse_list(content: bytes) -> tuple[str, ...]:
    """The paths in a file list: one a line, or ended by NUL (``find -print0``); a byte order mark,
    as editors of Windows write it, is no part of the first."""
    separator = b"\0" if b"\0" in content else b"\n"
    lines = content.removeprefix(codecs.BOM_UTF8).split(separator)
    if separator == b"\n":
        lines = [line.removesuffix(b"\r") for line in lines]
    return tuple(os.fsdecode(line) for line in lines if line)


def relative(names: Iterable[str], root: Path) -> list[str]:
    """Paths below ``root`` for the names of a file list, which may be absolute. Raises UsageError:
    a name that leads elsewhere; its line is given, never the name."""
    paths = []
    for line, name in enumerate(names, 1):
        path = PurePosixPath(name)
        if path.is_absolute() and path.is_relative_to(root):
            path = path.relative_to(root)
        if path.is_absolute() or ".." in path.parts:
            folder = "the current folder" if root == Path.cwd() else "IN"
            raise UsageError(
                f"line {line} of the file list must name a file below {folder}: relative to it, or "
                "absolute, and without '..'"
            )
        paths.append("" if path == PurePosixPath(".") else str(path))
    return paths


def _wanted(root: Path, path: str) -> Iterator[Found]:
    """The file at ``path``, or all below the folder; nothing behind a link."""
    parts = path.split("/") if path else []
    for count in range(1, len(parts)):
        if (root / "/".join(parts[:count])).is_symlink():
            yield Found(path, Reason.SYMLINK)
            return
    place = root / path
    if place.is_dir() and not place.is_symlink():
        yield from walk(place, f"{path}/" if path else "")
    else:
        yield _found(place, path)


def _apart(files: Iterable[Found], places: Places) -> Iterator[Found]:
    named = {"OUT": places.out, "the private folder": places.private}
    inside = {
        name: f"{folder.relative_to(places.root).as_posix()}/"
        for name, folder in named.items()
        if folder.is_relative_to(places.root)
    }
    for file in files:
        for name, below in inside.items():
            if file.path.startswith(below):
                raise UsageError(f"the file list names files of {name}; leave them out")
        yield file


def _found(file: Path, path: str) -> Found:
    try:
        mode = file.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Found(path, Reason.VANISHED)
    except OSError:
        return Found(path, Reason.UNREADABLE)
    if stat.S_ISLNK(mode):
        return Found(path, Reason.SYMLINK)
    return Found(path, None if stat.S_ISREG(mode) else Reason.NOT_A_REGULAR_FILE)


def opened(file: Found, places: Places, pool: WorkerPool) -> list[Found]:
    """The entries of what its name calls an archive; any other file alone."""
    if file.refusal is not None or not file.path.lower().endswith(".zip"):
        return [file]
    try:
        entries = pool.here.call(archives.listed, str(places.root), file.path)
    except Refused as refusal:
        return [replace(file, refusal=refusal.reason, detail=refusal.detail)]
    if not entries:
        return [replace(file, refusal=Reason.NOT_AN_IMAGE, detail="an empty archive")]
    return [replace(entry, path=f"{file.path}/{entry.path}") for entry in entries]


def _is_ours(path: str) -> bool:
    """Whether a path is one that the release itself uses, or below one."""
    taken = any(f"{path}/".startswith(f"{ours}/") for ours in RESERVED)
    return taken or path.rpartition("/")[2].startswith(TEMPORARY)
