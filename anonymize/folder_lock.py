"""A folder or file for one process at a time; the lock ends with the process."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from anonymize.errors import UsageError, make_folder

LOCK = ".lock"


@contextmanager
def locked(folder: Path, does: str = "works", *, option: str = "--out") -> Iterator[None]:
    """The folder, which is there, is this process's own; UsageError where another process has it,
    and ``does`` something there."""
    with _opened(folder / LOCK) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another process {does} in {folder}; choose another {option}"
            ) from None
        yield


@contextmanager
def in_turn(file: Path) -> Iterator[None]:
    """One process after the other; ``file`` is made for it, and holds nothing."""
    with _opened(file) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _opened(file: Path) -> BinaryIO:
    """A file to be locked, which is made where it is missing, and keeps what it holds: in a folder
    of others it may be anything. OSError where it is a link, which could lead to anything."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.fdopen(os.open(file, flags, 0o666), "wb")


@contextmanager
def own_folder(folder: Path, *, option: str = "--out", holds: Iterable[str] = ()) -> Iterator[Path]:
    """The folder, made for its owner only where it is missing, and this process's own; what is
    wrong usage leaves none behind.

    Args:
        holds: files by which it is known as one of this program's, beside the lock.

    Raises:
        UsageError: it is somebody else's, whose files might be overwritten; it cannot be written,
            or another process works there; ``option`` is named.
    """
    refuse_foreign(folder, option=option, holds=holds)
    new = not folder.exists()
    make_folder(folder, option)
    if new:
        folder.chmod(0o700)
    try:
        with locked(folder, option=option):
            yield folder
    except UsageError:
        if new and [path.name for path in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
        raise


def refuse_foreign(folder: Path, *, option: str = "--out", holds: Iterable[str] = ()) -> None:
    """Raises UsageError for a folder with files in it, and nothing that says they are ours."""
    if not folder.is_dir() or any((folder / name).exists() for name in (LOCK, *holds)):
        return
    if any(folder.iterdir()):
        raise UsageError(
            f"{option} {folder} holds files that this command did not write; choose another"
        )


def in_use(folder: Path) -> bool:
    """Whether another process has the folder right now."""
    if not (folder / LOCK).is_file():
        return False
    with (folder / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
