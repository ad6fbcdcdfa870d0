"""Tables of a release that are as long as it has files: on the disk, so that memory stays flat.

A temporary database (SQLite, the empty name) has no name in any folder, is never synchronised, and
goes with the process; what must last is in the journal.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from anonymize.release.storage import StorageError

ROWS = 500  # that are in memory while a table is gone through
CACHE = 8 << 10  # KiB of it that SQLite keeps


class OnDisk:
    """A temporary database of one process, for several threads. Raises StorageError: there is no
    room for it, from any method."""

    def __init__(self, *statements: str) -> None:
        self._db = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._lock = threading.RLock()  # rows that fill it may be of it
        for statement in (
            *("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", f"PRAGMA cache_size=-{CACHE}"),
            *statements,
        ):
            self._db.execute(statement)

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        with self._working():
            self._db.execute(statement, values)

    def fill(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs it for each of ``rows``, in one transaction."""
        with self._working():
            self._db.execute("BEGIN")
            try:
                self._db.executemany(statement, rows)
            finally:  # what ``rows`` raised leaves the table usable
                self._db.execute("COMMIT")

    def one(self, statement: str, values: Sequence[Any] = ()) -> tuple | None:
        """The first row, None where there is none."""
        with self._working():
            return self._db.execute(statement, values).fetchone()

    def number(self, statement: str, values: Sequence[Any] = ()) -> int:
        found = self.one(statement, values)
        assert found is not None
        return int(found[0])

    def each(self, columns: str, table: str, key: str) -> Iterator[tuple]:
        """``columns`` of every row in the order of ``key``, which no two rows have in common;
        ``table`` may end with a condition. Rows may be changed meanwhile.
        """
        word, last = "AND" if " WHERE " in table else "WHERE", None
        while True:
            after = "" if last is None else f" {word} {key} > ?"
            statement = f"SELECT {key}, {columns} FROM {table}{after} ORDER BY {key} LIMIT {ROWS}"  # noqa: S608 (ours)
            with self._working():
                rows = self._db.execute(statement, () if last is None else (last,)).fetchall()
            if not rows:
                return
            yield from (row[1:] for row in rows)
            last = rows[-1][0]

    @contextmanager
    def _working(self) -> Iterator[None]:
        """One thread at a time; StorageError where the disk is full or fails."""
        try:
            with self._lock:
                yield
        except sqlite3.OperationalError as error:
            raise StorageError("no room for temporary files") from error
