"""The images of a table, decoded and resized once, in one HDF5 file.

Datasets, one entry an image in the order of the table:

- ``gray8``, ``gray16``: (n, size, size), one chunk an image; an image is in one of the two, and
  chunks that are never written take no space.
- ``state``: uint8, 0 to do, 8 or 16 where the image is, 1 unreadable; ``crc``: CRC-32 of its bytes.
- ``reason``: why an image is unreadable.

The file is written under a temporary name and renamed when complete. ``state`` and ``crc`` are
flushed after the pixels that they speak of, and a resumed file is checked against them, so that a
process killed at any point costs some images, and a damaged file costs all, but nothing wrong is
ever read. The file's name holds a fingerprint of the files and options: a stale one is not found.
"""

import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from anonymize import whole_file
from anonymize.data.cached_images import ImageCache
from anonymize.data.image_files import reading
from anonymize.data.sources.listing import ImageError
from anonymize.data.table import COLUMNS, Table
from anonymize.errors import DataError
from anonymize.fingerprint import fingerprint
from anonymize.folder_lock import in_turn
from anonymize.options import DataOptions

VERSION = 2
PENDING, FAILED = 0, 1
_REASON = "S500"  # UTF-8; of a fixed length, since HDF5 may look for others for ever
_COMMIT_SECONDS = 2.0
_DAMAGE = (OSError, KeyError, ValueError, RuntimeError, TypeError, AttributeError)


def prepare(
    table: Table, options: DataOptions, progress: Callable[[int, int], None] | None = None
) -> tuple[Table, ImageCache]:
    """The table and its images, read from the cache or, once, from the files.

    A call that was interrupted or killed is continued by the next one; a second process that asks
    for the same images waits for the first. With more than one worker, a script must guard its
    entry point with ``if __name__ == "__main__":``, as multiprocessing wants it. ``progress`` is
    called with (images done, images in all).

    Returns:
        The table without the unreadable rows, which are added to ``skipped``, its fingerprint now
        that of the rows and pixels themselves; and a cache whose rows are the rows of that table.

    Raises:
        ImageError: unreadable images, with ``on_missing="error"``.
        DataError: nothing readable, no space left, or a folder that cannot be written.
    """
    size, strict = options.size, options.on_missing == "error"
    listed = "\0".join(table.frame["image_id"])
    key = fingerprint(VERSION, table.source, size, table.fingerprint, listed)
    path = cache_directory(options.cache) / f"{table.source}-{size}-{key[:16]}.h5"
    report = progress or (lambda done, total: None)
    if not _is_complete(path, key, len(table), size):
        records = table.frame[list(COLUMNS)].to_dict("records")
        with (
            _writable(path.parent),
            reading(table.load, records, size=size, workers=options.workers) as read,
            in_turn(path.with_suffix(".lock")),
        ):
            if not _is_complete(path, key, len(table), size):
                partial = path.with_suffix(".partial")
                with _partial(partial, key, len(table), size) as file:
                    _fill(file, read, report)
                    failed = _failures(file, table)
                if failed and strict:  # it stays partial, and they are tried again
                    raise ImageError(f"source {table.source}", len(table), failed)
                whole_file.publish(partial, path)
    with h5py.File(path, "r", locking=False) as file:
        state, crc, failed = file["state"][:], file["crc"][:], _failures(file, table)
    report(len(table), len(table))
    bad = state == FAILED
    if failed and (strict or bad.all()):
        raise ImageError(f"source {table.source}", len(table), failed)
    kept = table.with_frame(table.frame[~bad])
    content = fingerprint(table.source, size, _said(kept.frame), state[~bad], crc[~bad])
    kept = replace(kept, skipped=table.skipped + failed, fingerprint=content)
    return kept, ImageCache(path, np.flatnonzero(~bad), state[~bad], size)


def _said(frame: pd.DataFrame) -> str:
    """What is known of the images, wherever they lie: a copied data set is the same one."""
    return frame.drop(columns=["path", "part"]).to_csv(index=False)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """The folder, made; what cannot be written in it is a DataError."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield
    except BrokenPipeError:
        raise  # of whoever listens to the progress
    except OSError as error:
        raise DataError(
            f"the image cache cannot be written ({error.strerror or type(error).__name__}); "
            "free some space or choose another folder with --cache"
        ) from error


def cache_directory(directory: Path | None = None) -> Path:
    """The folder given, or the user's own: ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if directory is not None:
        return Path(directory).expanduser()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "anonymize-cxr"


def _is_complete(path: Path, key: str, n: int, size: int) -> bool:
    """Whether the file is there, undamaged and of this fingerprint."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return _is_of(file, key, n, size) and bool((file["state"][:] != PENDING).all())
    except _DAMAGE:
        return False


def _is_of(file: h5py.File, key: str, n: int, size: int) -> bool:
    """Whether the file is of this fingerprint, and its parts of their types and sizes. Nothing is
    read before that is known: HDF5 takes hours, and all memory, for what damage made endless."""
    images = (n, size, size)
    wanted = {"gray8": (images, "u1"), "gray16": (images, "u2"), "state": ((n,), "u1")}
    wanted |= {"crc": ((n,), "u4"), "reason": ((n,), _REASON), "": ((), f"S{len(key)}")}
    parts = {name: file[name].id for name in wanted if name}
    parts[""] = file.attrs.get_id("fingerprint")
    found = {name: (part.shape, part.dtype) for name, part in parts.items()}
    return found == wanted and bool(file.attrs["fingerprint"] == key.encode())


def _fill(
    file: h5py.File,
    read: Callable[[np.ndarray], Iterator[tuple[int, np.ndarray | str]]],
    report: Callable[[int, int], None],
) -> None:
    """Writes the images that are not there yet, and why others cannot be read."""
    state, crc = file["state"][:], file["crc"][:]

    def commit() -> None:
        file.flush()  # the images, before it is said that they are there
        file["state"][:], file["crc"][:] = state, crc
        file.flush()

    last = time.monotonic()
    report(int(np.count_nonzero(state)), len(state))
    try:
        for row, result in read(np.flatnonzero(state == PENDING)):
            if isinstance(result, str):
                file["reason"][row], state[row] = result.encode(), FAILED
            else:
                depth = 8 * result.dtype.itemsize
                file[f"gray{depth}"][row] = result
                state[row], crc[row] = depth, zlib.crc32(result.tobytes())
            if time.monotonic() - last > _COMMIT_SECONDS:
                commit()
                report(int(np.count_nonzero(state)), len(state))
                last = time.monotonic()
    finally:
        commit()


@contextmanager
def _partial(path: Path, key: str, n: int, size: int) -> Iterator[h5py.File]:
    """The partial file of an earlier call, as far as it can be trusted, or a new one."""
    if not _is_trusted(path, key, n, size):
        _create(path, key, n, size)
    file = h5py.File(path, "r+", locking="best-effort")
    try:
        yield file
    finally:
        try:
            file.close()
        except RuntimeError as error:  # h5py's word for a write that failed
            raise OSError("the last images cannot be written") from error


def _is_trusted(path: Path, key: str, n: int, size: int) -> bool:
    """Whether the file is of this fingerprint and whole; sets back what was unreadable in it, or is
    not what was written."""
    try:
        with h5py.File(path, "r+", locking="best-effort") as file:
            if not _is_of(file, key, n, size):
                return False
            state, crc = file["state"][:], file["crc"][:]
            images = {depth: file[f"gray{depth}"] for depth in (8, 16)}
            for row in np.flatnonzero(state):
                known = state[row] != FAILED
                if not known or zlib.crc32(images[state[row]][row].tobytes()) != crc[row]:
                    state[row] = PENDING
            file["state"][:] = state
            return True
    except _DAMAGE:
        return False


def _create(path: Path, key: str, n: int, size: int) -> None:
    """A file of ``n`` images to do, readable by its owner only."""
    path.unlink(missing_ok=True)
    need, free = n * size * size, shutil.disk_usage(path.parent).free
    if need > free:
        raise DataError(
            f"the image cache needs at least {need / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; "
            "free some space or choose another folder with --cache"
        )
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    with h5py.File(path, "w", locking="best-effort") as file:
        for depth in (8, 16):
            file.create_dataset(
                f"gray{depth}", (n, size, size), f"u{depth // 8}", chunks=(1, size, size)
            )
        file.create_dataset("state", data=np.zeros(n, np.uint8))
        file.create_dataset("crc", data=np.zeros(n, np.uint32))
        file.create_dataset("reason", (n,), _REASON)
        file.attrs["fingerprint"] = np.bytes_(key)


def _failures(file: h5py.File, table: Table) -> tuple[tuple[str, str], ...]:
    """(image_id, reason) of every image that could not be read."""
    rows, reasons = np.flatnonzero(file["state"][:] == FAILED), file["reason"]
    ids = table.frame["image_id"]
    return tuple((ids[row], reasons[row].decode("utf-8", "replace")) for row in rows)
