"""Files of labels, opened here and read by a worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from anonymize.errors import DataError, UsageError
from anonymize.release import storage
from anonymize.release.labels import coco
from anonymize.release.labels import table as csv_table
from anonymize.release.labels.coco import Coco
from anonymize.release.labels.table import Table
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Reason, Refused
from anonymize.release.workers.worker_pool import WorkerPool

T = TypeVar("T")
TABLES: dict[str, type[Coco | Table]] = {".json": Coco, ".csv": Table}


def table(path: Path, number: int, columns: tuple[str, ...], pool: WorkerPool) -> Coco | Table:
    """The COCO or CSV file at ``path``, the ``number``-th of the labels. Raises UsageError,
    DataError: it cannot be read; the message quotes no name and no value."""
    where = f"--labels {number}"
    try:
        data = file(path)
    except OSError:
        raise UsageError(f"{where} cannot be read; name a file of yours") from None
    return called(pool, where, of_kind, path.suffix.lower(), data, number, columns)


def called(pool: WorkerPool, where: str, parse: Callable[..., T], *given: Any) -> T:
    """What ``parse``, done by a worker, makes of ``given``. Raises DataError: that of ``parse``, or
    that no worker could do it."""
    try:
        return pool.call(parsed, parse, *given)
    except Refused as refusal:
        said = refusal.detail if refusal.reason is Reason.LABELS else ""
        problem = f"{where} is not read: {refusal.reason.value} {refusal.detail}".rstrip()
        raise DataError(said or f"{problem}; mend it, or divide it") from None


def parsed(parse: Callable[..., T], *given: Any) -> T:
    """The same in the worker. Raises Refused: it cannot be read; the detail is a message that
    quotes no value."""
    try:
        return parse(*given)
    except DataError as error:
        raise Refused(Reason.LABELS, str(error)) from None


def of_kind(suffix: str, data: bytes, number: int, columns: tuple[str, ...]) -> Coco | Table:
    """The content of a table."""
    if suffix == ".json":
        return coco.parse(data, number)
    return csv_table.parse(data, number, columns)


def file(path: Path, root: Path | None = None) -> bytes:
    """The bytes of a regular file behind no link below ``root``, by default its own folder. Raises
    OSError: another kind of file, a larger one than is read, or one that cannot be read."""
    if path.lstat().st_size <= MAX_BYTES:
        data, _ = storage.read_regular(path, MAX_BYTES, root)
        if len(data) <= MAX_BYTES:  # it may have grown
            return data
    raise OSError("larger than is read")
