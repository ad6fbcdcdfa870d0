"""``--table``: a CSV of the user's, read by a worker, its rows put to files and patients."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anonymize.errors import DataError, UsageError
from anonymize.release.column_titles import BIRTH, is_of_people, letters_of
from anonymize.release.dicom import identifiers, known
from anonymize.release.dicom.header import Header
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.dicom.pseudonyms import Pseudonyms, normal
from anonymize.release.labels import read
from anonymize.release.labels.images import Images
from anonymize.release.labels.table import IMAGE
from anonymize.release.metadata.columns import PATIENT, meaning, read_value, shown, written_name
from anonymize.release.places import Places
from anonymize.release.reasons import Reason, Refused
from anonymize.release.workers.worker_pool import WorkerPool

OPTION = "--table"
PLACE = re.compile("address|mail")  # of many people


@dataclass(frozen=True)
class TableOptions:
    """A CSV that travels with the release, and its columns that do; none by default. Raises
    UsageError: one without the other, or a column that may not travel."""

    path: Path | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.path is None) != (not self.columns):
            raise UsageError(
                f"{OPTION} needs --columns, the names of its columns that are released with "
                "commas between them, and --columns needs --table; give both, or neither"
            )
        if len(set(self.written)) < len(self.columns):
            raise UsageError("--columns names a column twice, or two for the same; name one")

    @property
    def written(self) -> tuple[str, ...]:
        """What the columns are called in the release."""
        return tuple(map(written_name, self.columns))

    def check(self, places: Places) -> None:
        """Raises UsageError where the table is no file, or lies in a folder of the release."""
        if self.path is None:
            return
        if not self.path.is_file() or self.path.is_symlink():
            raise UsageError(f"{OPTION} does not exist, or is no file; name a CSV of yours")
        for name, folder in (("OUT", places.out), ("the private folder", places.private)):
            if self.path.resolve().is_relative_to(folder):
                raise UsageError(f"{OPTION} must not lie in {name}; move it")

    def known(self) -> dict[str, Any] | None:
        """What the journal says of it; None where there is none."""
        if self.path is None:
            return None
        digest = hashlib.sha256(_content(self.path)).hexdigest()
        return {"sha256": digest, "columns": list(self.written)}


@dataclass(frozen=True, repr=False)
class Row:
    """What the table says of a file, or of a patient: ``cells`` as they are released, "" for the
    pseudonym of ``patient``; ``called`` and ``born`` are not, and may stand in no path."""

    number: int
    path: str
    patient: str
    cells: tuple[str, ...]
    called: tuple[str, ...] = ()
    born: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Rows:
    """The rows of a table of ``total``, by path under IN, or of patients; and the words of
    :mod:`dicom.known` by which all their patients are called."""

    columns: tuple[str, ...]
    by_path: dict[str, Row]
    patients: tuple[Row, ...]
    total: int
    known: frozenset[str] = frozenset()

    def under(self, secret: bytes) -> Metadata:
        """The same with the pseudonyms of a secret."""
        pseudonyms = Pseudonyms(secret)
        return Metadata(self, pseudonyms, {pseudonyms.patient(r.patient): r for r in self.patients})


@dataclass(frozen=True, repr=False)
class Metadata:
    """What a table says of each file under the pseudonyms of a release."""

    rows: Rows
    pseudonyms: Pseudonyms
    by_patient: dict[str, Row]

    def entry(self, path: str, patient: str) -> dict[str, Any] | None:
        """What the journal holds of the row of a file; ``patient`` is the pseudonym that its DICOM
        header gives, "" for none. None: there is no row.

        Raises Refused: table and header are of different patients."""
        row = self.rows.by_path.get(path) or self.by_patient.get(patient)
        if row is None:
            return None
        who = self.pseudonyms.patient(row.patient) if row.patient else patient
        if patient and who != patient:
            raise Refused(Reason.LABELS, f"{OPTION}: another patient than the header's")
        named = zip(self.rows.columns, row.cells, strict=True)
        return {"row": row.number, "cells": [who if c == PATIENT else cell for c, cell in named]}


def collect(options: TableOptions, inputs: Iterable[str], pool: WorkerPool) -> Rows:
    """The rows of the table that are of the files ``inputs``, or of patients. Raises UsageError,
    DataError: it cannot be read, or says nothing of ``inputs``; the message quotes no value."""
    assert options.path is not None
    rows = read.called(pool, OPTION, parse, _content(options.path), options.columns)
    people = known.of_people(
        {one for row in rows for one in row.called}, {day for row in rows for day in row.born}
    )
    if not any(row.path for row in rows):
        return Rows(options.written, {}, tuple(rows), len(rows), people)
    images, found = Images(list(inputs)), dict[str, Row]()
    for row in rows:
        image = images.named(row.path, f"{OPTION}, row {row.number}")
        if image is not None and found.setdefault(image, row) is not row:
            raise DataError(f"{OPTION}, row {row.number}: a second row of one file; leave one")
    if not found:
        raise UsageError(
            f"{OPTION} names no file of IN; its column of paths must be relative to IN "
            "(folder/image.png), or hold names that occur once"
        )
    return Rows(options.written, found, (), len(rows), people)


def _content(path: Path) -> bytes:
    try:
        return read.file(path)
    except OSError:
        raise UsageError(f"{OPTION} cannot be read; name a CSV file of yours") from None


def parse(data: bytes, wanted: tuple[str, ...]) -> list[Row]:
    """The rows of a CSV; done by a worker. All or nothing: one cell that cannot be released refuses
    the table. Raises DataError: other columns, a cell that may not travel, a row of nobody; no
    value is quoted."""
    try:
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        header, *lines = csv.reader(text, strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise DataError(f"{OPTION} is no CSV file in UTF-8 with a header; save it as one") from None
    names = [name.strip() for name in header]
    path = next((name for name in IMAGE if name in names), "")
    found = _patients(names)
    keys = path, "" if found is None else names[found]
    if not any(keys):
        raise DataError(
            f"{OPTION} needs a column that names the file ({', '.join(IMAGE)}) or the patient "
            f"({PATIENT}); add one"
        )
    for name in {*wanted, *keys} - {""}:
        if names.count(name) != 1:
            raise DataError(f"{OPTION} must have the column {shown(name)}, once; see --columns")
    rows, people = [], _people(names)
    for number, cells in enumerate(lines, 2):
        if any(cells):
            if len(cells) != len(names):
                raise DataError(f"{OPTION}, row {number}: other cells than the header has; mend it")
            named = dict(zip(names, map(str.strip, cells), strict=True))
            called, born = (tuple(cells[place].strip() for place in group) for group in people)
            rows.append(replace(_row(number, named, keys, wanted), called=called, born=born))
    patients = [normal(row.patient) for row in rows]
    if not path and len(set(patients)) < len(rows):
        raise DataError(f"{OPTION} has two rows of one patient, and no column of files; leave one")
    return rows


def _patients(names: Sequence[str]) -> int | None:
    """The column of patients; DataError where several could be it."""
    found = [place for place, name in enumerate(names) if meaning(name) == PATIENT]
    if len(found) > 1:
        raise DataError(f"{OPTION} has several columns of patients; leave one")
    return found[0] if found else None


def _people(names: Sequence[str]) -> tuple[list[int], list[int]]:
    """The columns that name people or number them, and those of days of birth."""
    known_as = [*map(letters_of, names)]
    telling = [place for place, name in enumerate(names) if is_of_people(name)]
    born = [place for place in telling if BIRTH.search(known_as[place])]
    others = (place for place in telling if not PLACE.search(known_as[place]))
    return [place for place in others if place not in born], born


def _row(number: int, cells: dict[str, str], keys: tuple[str, str], wanted: tuple[str, ...]) -> Row:
    path, who = (cells.get(key, "") for key in keys)
    if not (path if keys[0] else who):
        raise DataError(f"{OPTION}, row {number}: the file or patient is not named; name it")
    found = ((written_name(name), name) for name in wanted)
    made = ("" if w == PATIENT else read_value(w, name, cells[name], number) for w, name in found)
    return Row(number, path, who, tuple(made))


def tells(cells: list[str], data: bytes) -> bool:
    """Whether cells name a person of the DICOM file ``data``, or hold one of its numbers."""
    told = identifiers.of(Header.of_file(data), DicomOptions())
    return any(told.called_in(cell) or told.spaced_in(cell) for cell in cells)
