"""The files of a release, listed on the disk (:mod:`on_disk`): memory does not grow with them."""

import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Self

from anonymize.release.archives import Found, Member
from anonymize.release.reasons import Reason
from anonymize.release.records.on_disk import OnDisk

COLLISION = Reason.NAME_COLLISION.value
# Not two files on every file system: the same but for upper and lower case or Unicode's
# composition; or one is a file where another has a folder.
COLLIDES = """UPDATE files SET refusal = ? WHERE refusal = '' AND (form IN folders OR form IN
    (SELECT form FROM files WHERE refusal = '' GROUP BY form HAVING count(*) > 1))"""


class Listed:
    """Files by their paths, in the order of these, or of the names that they get.

    Args:
        files: a path that comes twice counts once.
        reserved: whether a path, in :func:`form`, is none that a release may write.
    """

    def __init__(
        self, files: Iterable[Found], reserved: Callable[[str], bool] = lambda path: False
    ) -> None:
        self._table = OnDisk(
            "CREATE TABLE files (path BLOB PRIMARY KEY, form BLOB, place BLOB, refusal TEXT,"
            " detail TEXT, member TEXT, instance TEXT)",
            "CREATE TABLE folders (form BLOB PRIMARY KEY)",
        )
        add = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._table.fill(add, (_row(found, reserved) for found in files))
        self._table.fill("INSERT OR IGNORE INTO folders VALUES (?)", self._folders())
        self._table.run(COLLIDES, (COLLISION,))
        self._order = "path"
        self._length = self._counted()

    def __len__(self) -> int:
        return self._length

    def __contains__(self, path: object) -> bool:
        key = (os.fsencode(str(path)),)
        return self._table.one("SELECT 1 FROM files WHERE path = ?", key) is not None

    def __iter__(self) -> Iterator[Found]:
        rows = self._table.each("path, refusal, detail, member, instance", "files", self._order)
        for path, refusal, detail, member, instance in rows:
            values = json.loads(member)
            made = values and Member(**{**values, "identity": tuple(values["identity"])})
            why = Reason(refusal) if refusal else None
            yield Found(os.fsdecode(path), why, detail, made, instance)

    def paths(self) -> Iterator[str]:
        """Their paths, in the order of these."""
        return (os.fsdecode(path) for (path,) in self._table.each("path", "files", "path"))

    def only(self, takes: Callable[[str], bool]) -> Self:
        """Itself, without those that are not taken."""
        others = ((os.fsencode(path),) for path in self.paths() if not takes(path))
        self._table.fill("DELETE FROM files WHERE path = ?", others)
        self._length = self._counted()
        return self

    def by(self, name: Callable[[str], str]) -> Self:
        """Itself, in the order of the names that the paths get."""
        places = ((os.fsencode(name(path)), os.fsencode(path)) for path in self.paths())
        self._table.fill("UPDATE files SET place = ? WHERE path = ?", places)
        self._table.run("CREATE UNIQUE INDEX IF NOT EXISTS places ON files (place, path)")
        self._order = "place"
        return self

    def _counted(self) -> int:
        return self._table.number("SELECT count(*) FROM files")

    def _folders(self) -> Iterator[tuple[bytes]]:
        """Every folder of a file, as often as there are runs of files in it."""
        above = b""
        for (form,) in self._table.each("form", "files WHERE refusal = ''", "path"):
            folder = form.rpartition(b"/")[0]
            if folder and folder != above:
                above, parts = folder, folder.split(b"/")
                yield from ((b"/".join(parts[: n + 1]),) for n in range(len(parts)))


def form(path: str) -> str:
    """What file systems that know no case or composition make of a path."""
    return unicodedata.normalize("NFC", path).casefold()


def _row(found: Found, reserved: Callable[[str], bool]) -> tuple:
    refusal = "" if found.refusal is None else found.refusal.value
    if not refusal and reserved(form(found.path)):
        refusal = COLLISION
    path, member = os.fsencode(found.path), found.member
    told = json.dumps(None if member is None else asdict(member))
    made = os.fsencode(form(found.path))
    return path, made, path, refusal, found.detail, told, found.instance
