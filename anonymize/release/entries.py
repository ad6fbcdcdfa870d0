"""What became of every input: the last entry of each, on the disk (:mod:`on_disk`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from anonymize.release.on_disk import OnDisk


@dataclass(frozen=True)
class Entry:
    """What became of one input. ``sha256`` etc. are "" or 0 where it was not read."""

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
    unfit: str = ""  # why the method's strength does not fit its size

    @property
    def released(self) -> bool:
        return not self.reason

    @property
    def outputs(self) -> dict[str, str]:
        """Paths under OUT and their sha256: the image and its masks; none where it is refused."""
        if not self.released:
            return {}
        return {self.output: self.output_sha256, **(self.labels or {}).get("files", {})}


class Entries:
    """Entries by their input; a later one of the same input takes an earlier one's place."""

    def __init__(self) -> None:
        self._table = OnDisk(
            "CREATE TABLE entries (input BLOB PRIMARY KEY, output BLOB, reason TEXT, line TEXT)",
            "CREATE TABLE outputs (path BLOB PRIMARY KEY, input BLOB)",
            "CREATE INDEX released ON entries (output)",
        )

    def __len__(self) -> int:
        return self._table.number("SELECT count(*) FROM entries")

    def __contains__(self, path: object) -> bool:
        return self.get(str(path)) is not None

    def __iter__(self) -> Iterator[Entry]:
        """All of them, in the order of their inputs."""
        return (_entry(line) for (line,) in self._table.each("line", "entries", "input"))

    def get(self, path: str) -> Entry | None:
        found = self._table.one("SELECT line FROM entries WHERE input = ?", _key(path))
        return None if found is None else _entry(found[0])

    def put(self, entry: Entry) -> None:
        before = self.get(entry.input)
        for path in () if before is None else before.outputs:
            self._table.run("DELETE FROM outputs WHERE path = ?", _key(path))
        values = (*_key(entry.input), *_key(entry.output), entry.reason, json.dumps(asdict(entry)))
        self._table.run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", values)
        for path in entry.outputs:
            row = (*_key(path), *_key(entry.input))
            self._table.run("INSERT OR REPLACE INTO outputs VALUES (?, ?)", row)

    def released(self) -> Iterator[Entry]:
        """Those that are, in the order of their outputs."""
        rows = self._table.each("line", "entries WHERE reason = ''", "output")
        return (_entry(line) for (line,) in rows)

    def refused(self) -> Iterator[Entry]:
        """Those that are not released, in the order of their inputs."""
        rows = self._table.each("line", "entries WHERE reason != ''", "input")
        return (_entry(line) for (line,) in rows)

    def source_of(self, output: str) -> str | None:
        """The input that a path under OUT was made of; None for a stranger."""
        found = self._table.one("SELECT input FROM outputs WHERE path = ?", _key(output))
        return None if found is None else os.fsdecode(found[0])


def _key(path: str) -> tuple[bytes]:
    """As the database compares it: by its bytes, in the order of paths on the disk."""
    return (os.fsencode(path),)


def _entry(line: str) -> Entry:
    return Entry(**json.loads(line))
