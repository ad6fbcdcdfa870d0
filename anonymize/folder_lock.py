"""A folder for one process at a time; the lock ends with the process."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anonymize.errors import UsageError

LOCK = ".lock"


@contextmanager
def locked(folder: Path, does: str = "works", *, option: str = "--out") -> Iterator[None]:
    """The folder, which is there, is this process's own; UsageError where another process has it,
    and ``does`` something there."""
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"another process {does} in {folder}; choose another {option}"
            ) from None
        yield


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
