"""Where a release reads and writes, checked before anything is touched; what lies under IN."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.release.reasons import Reason

MANIFEST = "manifest.csv"
TEMPORARY = ".anonymize-"  # begins the name of a file that is not finished


@dataclass(frozen=True)
class Places:
    """Absolute paths of one release. ``root`` is IN, or the folder of the single file IN."""

    root: Path
    single: str | None
    out: Path
    private: Path

    @property
    def source(self) -> Path:
        return self.root if self.single is None else self.root / self.single


def find_places(source: Path, out: Path, private: Path | None) -> Places:
    """Raises UsageError for a missing IN, or folders that lie in one another."""
    if not source.exists():
        raise UsageError("IN does not exist; give a folder of radiographs, or one file")
    source, out = source.resolve(), out.resolve()
    private = (private or out.with_name(f"{out.name}-private")).resolve()
    named = {"IN": source, "OUT": out, "the private folder": private}
    for first, a in named.items():
        for second, b in named.items():
            if first < second and (a == b or a in b.parents or b in a.parents):
                raise UsageError(
                    f"{first} and {second} must not be the same or lie in one another; "
                    "choose another OUT, or --private DIR"
                )
    for name, path in (("OUT", out), ("the private folder", private)):
        above = next(p for p in (path, *path.parents) if p.exists())
        if not above.is_dir():
            raise UsageError(f"{name} must be a folder, and is a file or in one; choose another")
    if source.is_dir():
        return Places(source, None, out, private)
    return Places(source.parent, source.name, out, private)


@dataclass(frozen=True)
class Found:
    """One file under IN: its path relative to it with "/" between, and why it cannot be read."""

    path: str
    refusal: Reason | None = None


def scan(places: Places) -> list[Found]:
    """Everything under IN that is no folder, in the order of its path. Links are not followed."""
    if places.single is not None:
        files = [_found(places.root / places.single, places.single)]
    else:
        files = _walk(places.root, "")
    folded = Counter(_folded(f.path) for f in files if f.refusal is None)
    return sorted(
        (
            Found(f.path, Reason.NAME_COLLISION)
            if f.refusal is None and (folded[_folded(f.path)] > 1 or _reserved(f.path))
            else f
            for f in files
        ),
        key=lambda f: os.fsencode(f.path),
    )


def _walk(folder: Path, prefix: str) -> list[Found]:
    try:
        with os.scandir(folder) as listing:
            entries = list(listing)
    except OSError:
        return [Found(prefix.rstrip("/"), Reason.UNREADABLE)]
    files = []
    for entry in entries:
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            files += _walk(Path(entry.path), f"{path}/")
        else:
            files.append(_found(Path(entry.path), path))
    return files


def _found(file: Path, path: str) -> Found:
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return Found(path, Reason.VANISHED)
    except OSError:
        return Found(path, Reason.UNREADABLE)
    if stat.S_ISLNK(mode):
        return Found(path, Reason.SYMLINK)
    return Found(path, None if stat.S_ISREG(mode) else Reason.NOT_A_REGULAR_FILE)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _reserved(path: str) -> bool:
    """True for a name that the release itself writes under OUT."""
    return _folded(path) == MANIFEST or path.rpartition("/")[2].startswith(TEMPORARY)


def output_files(out: Path) -> list[str]:
    """Relative paths of all that lies under OUT; links and devices included, folders not."""
    return [f.path for f in _walk(out, "")] if out.exists() else []
