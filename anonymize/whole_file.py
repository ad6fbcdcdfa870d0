"""The one way to write a file: it appears whole and durable under its name, or not at all."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY = ".anonymize-"  # begins the name of a file that is not finished
Data = bytes | Iterable[bytes]  # whole, or in pieces


def write(path: Path, data: bytes | str, *, mode: int = 0o666) -> None:
    """Replaces ``path`` at once by ``data`` (text as UTF-8, names of files as their bytes); its
    folders are made.

    ``mode`` is that of a new file, less the user's umask.
    """
    content = data.encode(errors="surrogateescape") if isinstance(data, str) else data
    with replacing(path) as temporary:
        create(temporary, content, mode)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path for a library to write to; what lies there when the block ends becomes ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path.parent)
    try:
        yield temporary
        publish(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_temporary(
    folder: Path, data: Data, *, mode: int = 0o666, time: float | None = None
) -> Path:
    """A finished file under a hidden name in ``folder``, on the disk, last changed at ``time``."""
    path = _temporary(folder)
    try:
        create(path, data, mode, time)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def publish(temporary: Path, path: Path) -> None:
    """Gives a finished file of the same folder its name, at once and for good."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(folder: Path) -> Path:
    """Of nobody else: a killed process in a container had the number that this one has, and so may
    one on another machine that writes to the same folder."""
    return folder / f"{TEMPORARY}{secrets.token_hex(8)}"


def create(path: Path, data: Data, mode: int, time: float | None = None) -> None:
    """A new file, on the disk; OSError where there is one of that name."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.writelines([data] if isinstance(data, bytes) else data)
        stream.flush()
        if time is not None:
            os.utime(path, (time, time))
        os.fsync(stream.fileno())  # before anybody notes that it is there
