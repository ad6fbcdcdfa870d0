"""The table that is released, `OUT/labels/metadata.csv`, and how small its groups are."""

import csv
import io
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anonymize.errors import counted
from anonymize.release.labels.collect import FOLDER
from anonymize.release.metadata.columns import PATIENT, is_written, written_name
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.entries import Entry

NAME = "metadata.csv"
PATH = f"{FOLDER}/{NAME}"
KIND = "metadata"
OUTPUT = "output"


@dataclass(frozen=True)
class Groups:
    """Whom the columns of a table set apart together (k-anonymity: k is ``smallest``). ``what`` is
    counted: patients where the table tells them, else files, of which one patient may have several.
    """

    what: str
    total: int
    smallest: int
    alone: int

    def __str__(self) -> str:
        unsaid = "" if self.what == "patient" else " (one patient may have several)"
        return (
            f"the smallest group that all columns make has {counted(self.smallest, self.what)}"
            f"{unsaid}; {self.alone} of {counted(self.total, self.what)} alone in theirs: whoever "
            "knows these facts of somebody finds the pictures"
        )


@dataclass(frozen=True)
class MetadataSummary:
    """Rows of the user's table, and those of them that no released file has; rows that were
    written, a file each; released files without a row."""

    rows: int
    left_out: int
    written: int
    without_row: int
    groups: Groups | None


def table(columns: Sequence[str], released: Iterable[Entry]) -> tuple[bytes, int]:
    """The CSV of what the journal holds of ``released`` files, in the order of their outputs; and
    the number of its rows."""
    rows = [(entry.output, *entry.metadata["cells"]) for entry in released if entry.metadata]
    rows.sort(key=lambda row: os.fsencode(row[0]))
    return csv_bytes((OUTPUT, *columns), rows), len(rows)


def summary(columns: Sequence[str], rows: int, released: Iterable[Entry]) -> MetadataSummary:
    """What became of a table of ``rows``."""
    used, cells, without = set[int](), [], 0
    for entry in released:
        if entry.metadata is None:
            without += 1
            continue
        used.add(entry.metadata["row"])
        cells.append([entry.output, *entry.metadata["cells"]])
    found = groups((OUTPUT, *columns), cells)
    return MetadataSummary(rows, rows - len(used), len(cells), without, found)


def groups(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Groups | None:
    """How many share all values of a row but its output and patient; None where there are none."""
    who = columns.index(PATIENT if PATIENT in columns else OUTPUT)
    facts = [i for i, name in enumerate(columns) if name not in (OUTPUT, PATIENT)]
    if not rows or not facts:
        return None
    members = defaultdict[tuple[str, ...], set[str]](set)
    for number, row in enumerate(rows):
        # Whose patient is not told counts as one of its own.
        members[tuple(row[i] for i in facts)].add(row[who] or f"row {number}")
    sizes = Counter({group: len(there) for group, there in members.items()})
    alone = {next(iter(members[group])) for group, size in sizes.items() if size == 1}
    what = "patient" if PATIENT in columns else "file"
    return Groups(what, len(set().union(*members.values())), min(sizes.values()), len(alone))


def check(data: bytes, images: frozenset[str]) -> None:
    """Raises Refused, or ValueError, unless ``data`` is a table that a release of ``images``
    writes."""
    columns, rows = _read(data)
    written = all(written_name(name) == name for name in columns[1:])
    if columns[0] != OUTPUT or not written or len(set(columns)) < len(columns):
        raise Refused(Reason.VERIFICATION, "columns that do not travel")
    outputs = [row[0] for row in rows]
    if not images.issuperset(outputs) or len(set(outputs)) < len(rows):
        raise Refused(Reason.VERIFICATION, "metadata of an image that is not released, or twice")
    named = (zip(columns[1:], row[1:], strict=True) for row in rows)
    if not all(is_written(column, cell) for row in named for column, cell in row):
        raise Refused(Reason.VERIFICATION, "a value that no release writes")
    if csv_bytes(columns, sorted(rows, key=lambda row: os.fsencode(row[0]))) != data:
        raise Refused(Reason.VERIFICATION, "metadata that are not as they are written")


def groups_of(data: bytes) -> Groups | None:
    """:func:`groups` of a released table; done by a worker."""
    return groups(*_read(data))


def _read(data: bytes) -> tuple[list[str], list[list[str]]]:
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    columns, *rows = csv.reader(text, strict=True)
    return columns, rows
