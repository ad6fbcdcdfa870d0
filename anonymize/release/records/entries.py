"""What became of every input: entries of the journal, the last ones on disk (:mod:`on_disk`)."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from anonymize.release.dicom import known
from anonymize.release.reasons import Reason
from anonymize.release.records.on_disk import OnDisk


@dataclass(frozen=True)
class Entry:
    """What became of one input. ``sha256`` etc. are "" or 0 where it was not read.

    An output that nobody accepted yet, or that somebody sent to quarantine, has a reason and its
    ``output`` as well: it waits in the private folder, and not under OUT.
    """

    input: str
    reason: str = ""  # "" where it was released
    detail: str = ""
    size: int = 0
    mtime_ns: int = 0
    sha256: str = ""
    output: str = ""
    output_sha256: str = ""
    note: str = ""
    figures: dict[str, float | None] | None = None
    labels: dict[str, Any] | None = None  # of labels.account.share
    metadata: dict[str, Any] | None = None  # row of --table, and its cells as they are released
    unfit: str = ""  # why the method's strength does not fit its size
    boxes: list[list[int]] | None = None  # x, y, width, height of filled text, pixels of the input
    moved: dict[str, Any] | None = None  # of movement.coarse
    reviewed: str = ""  # when somebody decided about the output, UTC
    known: list[str] | None = None  # of dicom.known.in_header; None where nobody looked

    @property
    def released(self) -> bool:
        return not self.reason

    @property
    def texts(self) -> list[str]:
        """What is released with its labels besides numbers."""
        return (self.labels or {}).get("texts", [])

    @property
    def files(self) -> dict[str, str]:
        """Paths and sha256 of what was made: the image and its masks; none where it was refused."""
        if not self.output:
            return {}
        return {self.output: self.output_sha256, **(self.labels or {}).get("files", {})}


class Entries:
    """Entries by their input; a later one of the same input takes an earlier one's place."""

    def __init__(self) -> None:
        self._table = OnDisk(
            "CREATE TABLE entries (input BLOB PRIMARY KEY, output BLOB, reason TEXT, line TEXT)",
            "CREATE TABLE outputs (path BLOB PRIMARY KEY, input BLOB)",
            "CREATE INDEX released ON entries (reason, output)",
            "CREATE TABLE known (word BLOB PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE rejected (sha256 TEXT, input BLOB, PRIMARY KEY (sha256, input))"
            " WITHOUT ROWID",
        )

    def __contains__(self, path: object) -> bool:
        return self.get(str(path)) is not None

    def __iter__(self) -> Iterator[Entry]:
        """All of them, in the order of their inputs."""
        return (_entry(line) for (line,) in self._table.each("line", "entries", "input"))

    def __getitem__(self, path: str) -> Entry:
        if (entry := self.get(path)) is None:
            raise KeyError(path)
        return entry

    def get(self, path: str) -> Entry | None:
        found = self._table.one("SELECT line FROM entries WHERE input = ?", _key(path))
        return None if found is None else _entry(found[0])

    def put(self, entry: Entry) -> None:
        before = self.get(entry.input)
        for path in () if before is None else before.files:
            self._table.run("DELETE FROM outputs WHERE path = ?", _key(path))
        values = (*_key(entry.input), *_key(entry.output), entry.reason, json.dumps(vars(entry)))
        self._table.run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", values)
        for path in entry.files:
            row = (*_key(path), *_key(entry.input))
            self._table.run("INSERT OR REPLACE INTO outputs VALUES (?, ?)", row)
        if entry.reviewed and entry.sha256:
            self._decide(entry)
        self.know(entry.known or ())

    def _decide(self, entry: Entry) -> None:
        """Keeps that somebody sent this very file to quarantine until that is taken back: another
        file may take its place under IN."""
        values = (entry.sha256, *_key(entry.input))
        if entry.reason == Reason.REVIEW.value:
            self._table.run("INSERT OR IGNORE INTO rejected VALUES (?, ?)", values)
        elif entry.released:
            self._table.run("DELETE FROM rejected WHERE sha256 = ? AND input = ?", values)

    def is_rejected(self, sha256: str) -> bool:
        """Whether somebody sent what was made of such a file to quarantine, wherever it lay."""
        statement = "SELECT 1 FROM rejected WHERE sha256 = ? LIMIT 1"
        return self._table.one(statement, (sha256,)) is not None

    def know(self, words: Iterable[str]) -> None:
        """Keeps words of :mod:`dicom.known`, for good: what is known once may stand anywhere."""
        for word in words:
            self._table.run("INSERT OR IGNORE INTO known VALUES (?)", _word(word))

    @property
    def know_somebody(self) -> bool:
        """Whether a header of this release, or a table, named anybody."""
        return self._table.one("SELECT 1 FROM known LIMIT 1") is not None

    def tell(self, path: str) -> bool:
        """Whether a path under IN holds a word that a header of this release, or a table, knows;
        every path may where a header could not be searched."""
        words = chain((known.ANYBODY,), chain.from_iterable(known.in_path(path)))
        return any(
            self._table.one("SELECT 1 FROM known WHERE word = ?", _word(word)) is not None
            for word in words
        )

    def released(self) -> Iterator[Entry]:
        """Those that are, in the order of their outputs."""
        rows = self._table.each("line", "entries WHERE reason = ''", "output")
        return (_entry(line) for (line,) in rows)

    def refused(self) -> Iterator[Entry]:
        """Those that are not released, in the order of their inputs."""
        rows = self._table.each("line", "entries WHERE reason != ''", "input")
        return (_entry(line) for (line,) in rows)

    def any_of(self, reason: str) -> bool:
        found = self._table.one("SELECT 1 FROM entries WHERE reason = ? LIMIT 1", (reason,))
        return found is not None

    def source_of(self, output: str) -> str | None:
        """The input that the file at a path was made of; None for a stranger."""
        found = self._table.one("SELECT input FROM outputs WHERE path = ?", _key(output))
        return None if found is None else os.fsdecode(found[0])


def _key(path: str) -> tuple[bytes]:
    """As the database compares it: by its bytes, in the order of paths on the disk."""
    return (os.fsencode(path),)


def _word(word: str) -> tuple[bytes]:
    return (word.encode("utf-8", "surrogatepass"),)


def _entry(line: str) -> Entry:
    return Entry(**json.loads(line))
