"""Files that are either whole and durable, or not there at all."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.release.reasons import Reason, Refused

# 1980-01-01 UTC, the oldest date that every archive format holds: file times tell nothing.
CONSTANT_TIME = 315_532_800
HEAD = 1 << 24  # bytes of what is too large, or damaged, that are looked at: no header has more
LED_AWAY = "a folder became a link"
HANDLES = Path("/proc/self/fd")  # Linux's: a path through a descriptor
# The device, not the file, is the cause: going on would quarantine everything else.
DEVICE_ERRORS = frozenset(
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES", "EPERM", "ENXIO", "ENODEV"),
        *("ESTALE", "ENOTCONN", "EHOSTDOWN", "ETIMEDOUT", "EREMOTEIO"),
        *("EMFILE", "ENFILE", "ENOMEM"),
    )
    if hasattr(errno, name)
)


class Partial(Refused):
    """A file of which no picture may be made, since it is too large or was not still; ``head``, its
    first bytes, may say whom it shows."""

    def __init__(self, reason: Reason, data: bytes) -> None:
        super().__init__(reason)
        self.head = data[:HEAD]


class NotRegularError(OSError):
    """A folder, a pipe, a socket or a device where a file should be."""


class StorageError(Exception):
    """OUT or the private folder cannot be written; the release stops and can be resumed."""

    what = "OUT or its private folder cannot be written"
    way_out = (
        "make room or make it writable, and the same command continues; or choose another OUT or "
        "--private"
    )


@contextmanager
def device_errors() -> Iterator[None]:
    """Turns an OSError that the device causes into a StorageError without any path in it."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.errno in DEVICE_ERRORS:
            raise StorageError(os.strerror(error.errno)) from error
        raise


def make_folders(folder: Path) -> None:
    """``folder`` and those above it, durable. Raises StorageError: it is a link: somebody leads the
    release elsewhere."""
    if folder.is_symlink() and folder.parent != HANDLES:
        raise StorageError(LED_AWAY)
    if folder.is_dir():
        return
    make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    whole_file.sync_folder(folder.parent)


def write_temporary(folder: Path, data: whole_file.Data, *, mode: int = 0o644) -> Path:
    """A finished file under a hidden name in ``folder``, with a constant time, on the disk."""
    make_folders(folder)
    with held(folder) as within:
        made = whole_file.write_temporary(within, data, mode=mode, time=CONSTANT_TIME)
    return folder / made.name


def publish(temporary: Path, path: Path) -> None:
    """Gives a finished file of the same folder its name, at once and for good."""
    with held(path.parent) as within:
        whole_file.publish(within / temporary.name, within / path.name)


def write_whole(path: Path, data: whole_file.Data, *, mode: int = 0o644) -> None:
    """Replaces ``path`` at once, by bytes or pieces of them."""
    publish(write_temporary(path.parent, data, mode=mode), path)


def remove(path: Path) -> None:
    """Removes a file for good, where it is."""
    if not path.parent.is_dir():
        return
    with held(path.parent) as within:
        path = within / path.name
        if path.is_symlink() or path.exists():
            path.unlink()
            whole_file.sync_folder(within)


@contextmanager
def held(folder: Path) -> Iterator[Path]:
    """A path to ``folder`` that leads nowhere else, whatever becomes of the names on its way.

    Below a folder that :func:`exclusive` holds; elsewhere the path itself.

    Raises StorageError: a folder on the way is a link."""
    if HANDLES not in folder.parents:
        yield folder
        return
    root, *parts = folder.relative_to(HANDLES).parts
    try:
        descriptor = _below(os.dup(int(root)), [(part, os.O_DIRECTORY) for part in parts])
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise StorageError(LED_AWAY) from error
        raise
    try:
        yield HANDLES / str(descriptor)
    finally:
        os.close(descriptor)


def open_beneath(root: Path, path: str) -> int:
    """A descriptor of the file at ``path`` ("/" between) below ``root``, to read.

    No link is followed on the way, and no pipe waited for.

    Raises OSError: among others ELOOP or ENOTDIR where a link lies on the way."""
    *folders, name = path.split("/")
    parts = [*((folder, os.O_DIRECTORY) for folder in folders), (name, os.O_NONBLOCK)]
    return _below(os.open(root, os.O_RDONLY | os.O_DIRECTORY), parts)


def _below(descriptor: int, parts: list[tuple[str, int]]) -> int:
    """What lies ``parts`` (names and flags) below a folder, whose descriptor is closed; behind no
    link."""
    for part, kind in parts:
        above = descriptor
        try:
            descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=above)
        finally:
            os.close(above)
    return descriptor


def read_regular(path: Path, limit: int, root: Path | None = None) -> tuple[bytes, os.stat_result]:
    """At most ``limit`` + 1 bytes of a regular file, and its state before they were read.

    No link below ``root`` is followed, by default the file's own folder.

    Raises:
        NotRegularError: no regular file; not a byte was read.
        OSError: as ``open_beneath``.
    """
    with opened_regular(path, root or path.parent) as stream:
        status = os.fstat(stream.fileno())
        # Room for all of ``limit`` would be taken at once, whatever the file holds.
        return stream.read(min(limit, status.st_size) + 1), status


@contextmanager
def opened_regular(path: Path, root: Path) -> Iterator[BinaryIO]:
    """A regular file, to read; what is none is closed unread. As :func:`read_regular`."""
    descriptor = open_beneath(root, path.relative_to(root).as_posix())
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError("no regular file")
        yield stream


@contextmanager
def exclusive(folder: Path) -> Iterator[Path]:
    """One run at a time in ``folder``; the lock ends with the process.

    Gives a path to this very folder, whatever becomes of its name; where the system knows none,
    the name.

    Raises UsageError: another run holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                "another `anonymize apply` or `review` works on this OUT; wait until it ends"
            ) from None
        handle = HANDLES / str(descriptor)
        yield handle if handle.is_dir() else folder
    finally:
        os.close(descriptor)
