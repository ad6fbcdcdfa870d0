"""What the tables of a release name beside what lies there, on the disk (:mod:`on_disk`): memory
does not grow with either."""

import os
from collections.abc import Iterable, Iterator

from anonymize.release.archives import Found
from anonymize.release.reasons import Reason
from anonymize.release.records.manifests import ManifestError, Row
from anonymize.release.records.on_disk import OnDisk


class Named:
    """Rows of tables by the file that they name, and the files of a folder.

    A file that two tables name is the later one's.
    """

    def __init__(self, there: Iterable[Found]) -> None:
        self._table = OnDisk(
            "CREATE TABLE there (path BLOB PRIMARY KEY, refusal TEXT)",
            "CREATE TABLE named (path BLOB PRIMARY KEY, origin TEXT, number INTEGER, sha256 TEXT,"
            " kind TEXT, looked INTEGER)",
        )
        rows = ((os.fsencode(f.path), f.refusal and f.refusal.value) for f in there)
        self._table.fill("INSERT OR REPLACE INTO there VALUES (?, ?)", rows)

    def add(self, origin: str, rows: Iterable[Row]) -> None:
        """Names the files of a table; none of them where it raises ManifestError."""
        told = ((os.fsencode(r.output), origin, r.number, r.sha256, r.kind, r.looked) for r in rows)
        try:
            self._table.fill("INSERT OR REPLACE INTO named VALUES (?, ?, ?, ?, ?, ?)", told)
        except ManifestError:
            self._table.run("DELETE FROM named WHERE origin = ?", (origin,))
            raise

    def __len__(self) -> int:
        return self._table.number("SELECT count(*) FROM named")

    def __contains__(self, path: object) -> bool:
        """Whether a path is an image's."""
        found = self.row(str(path))
        return found is not None and found[1].kind == "image"

    def count(self, origin: str) -> int:
        return self._table.number("SELECT count(*) FROM named WHERE origin = ?", (origin,))

    def looked(self, origin: str) -> dict[bool | None, int]:
        """Of how many files a table says that text was looked for, that it was not, or nothing."""
        statement = "SELECT count(*) FROM named WHERE origin = ? AND looked IS ?"
        return {told: self._table.number(statement, (origin, told)) for told in (True, False, None)}

    def row(self, path: str) -> tuple[str, Row] | None:
        """The table that names a file, and the row; None for a stranger."""
        statement = "SELECT origin, number, sha256, kind, looked FROM named WHERE path = ?"
        found = self._table.one(statement, (os.fsencode(path),))
        return None if found is None else _row(path, *found)

    def rows(self, kinds: Iterable[str] = ()) -> Iterator[tuple[str, Row]]:
        """The table and the row of every file that is named, or those of these ``kinds``, in the
        order of their paths."""
        wanted = ", ".join(f"'{kind}'" for kind in kinds)
        table = f"named WHERE kind IN ({wanted})" if wanted else "named"
        columns = "path, origin, number, sha256, kind, looked"
        for path, *told in self._table.each(columns, table, "path"):
            yield _row(os.fsdecode(path), *told)

    def there(self, path: str) -> Found | None:
        found = self._table.one("SELECT refusal FROM there WHERE path = ?", (os.fsencode(path),))
        return None if found is None else _found(path, found[0])

    def all_there(self) -> Iterator[Found]:
        rows = self._table.each("path, refusal", "there", "path")
        return (_found(os.fsdecode(path), refusal) for path, refusal in rows)


def _row(
    path: str, origin: str, number: int, sha256: str, kind: str, looked: int | None
) -> tuple[str, Row]:
    return origin, Row(number, path, sha256, kind, None if looked is None else bool(looked))


def _found(path: str, refusal: str | None) -> Found:
    return Found(path, None if refusal is None else Reason(refusal))
