"""A finished release to an object storage: what was made here goes there, the manifest last.

A store has no rename, no lock and no folder that could be moved at once, so OUT is a folder on this
machine first (the staging folder), with its private folder, which never leaves it. An object is
uploaded whole when its file is released, read back, and compared. A prefix that holds no
``manifest.csv`` is no release: it goes first, before anything else there changes, and comes last,
when a new listing shows what was uploaded and nothing else.
"""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError, counted
from anonymize.release import storage
from anonymize.release.labels import account
from anonymize.release.listing import output_files
from anonymize.release.machines.object_store import AT_ONCE, Held, Objects, StoreError
from anonymize.release.options import Progress
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.records.journal import JOURNAL, read_journal
from anonymize.release.records.json_lines import JsonLines

FILE = "uploaded.jsonl"  # in the private folder
TOGETHER = 64  # objects a line of it
LONGEST = 512  # bytes of a path; a key and its prefix have 1,024
LAST = (SIGNATURE, MANIFEST)


@dataclass(frozen=True)
class Uploaded:
    """How many objects a call wrote and removed there, and of how many; 0 where a person is still
    to look at the release."""

    address: str
    objects: int
    written: int
    removed: int


class Record(JsonLines):
    """What may lie at an address because this release wrote it: {path: (sha256, ETag)}, on the disk
    before it is written, without either until it was read back."""

    def __init__(self, private: Path, objects: Objects) -> None:
        """Raises UsageError where it is of another address, or damaged."""
        super().__init__(private / FILE)
        self.known: dict[str, tuple[str, str]] = {}
        self._header = {"to": str(objects)}
        try:
            lines = self.lines()
            header = next(lines, self._header)
            for line in lines:
                self.known.update({path: tuple(told) for path, told in line.items()})
        except (ValueError, TypeError, AttributeError):
            raise UsageError(f"{FILE} in the private folder is damaged") from None
        if header != self._header:
            raise UsageError("this release was uploaded to another OUT; name that one")

    def refuse_strangers(self, there: dict[str, Held]) -> None:
        """Raises UsageError where something lies there that this release did not write."""
        if strange := len(there.keys() - self.known.keys()):
            raise UsageError(
                f"OUT holds {counted(strange, 'object')} that this release did not write; choose "
                "another OUT, or the --staging and --private that it began with"
            )

    def open(self) -> None:
        super().open()
        if not self._whole:
            self._append(self._header)

    def add(self, told: dict[str, tuple[str, str]]) -> None:
        self._append(told)
        self.known |= told

    def holds(self, path: str, digest: str, there: dict[str, Held]) -> bool:
        """Whether an object was read back as ``digest``, and is what it was then."""
        return path in there and self.known.get(path) == (digest, there[path].tag)


def check(objects: Objects, private: Path) -> None:
    """Raises UsageError where a release cannot begin or go on at an address."""
    objects.check("OUT")
    Record(private, objects).refuse_strangers(dict(objects.listing()))


def upload(
    out: Path, private: Path, objects: Objects, progress: Progress = lambda done, total: None
) -> Uploaded:
    """Makes the objects be the release in ``out``; a second time it does nothing.

    Raises:
        UsageError: something else lies there, or in ``out``.
        StorageError: a folder here cannot be written, or the store does not answer; the same call
            goes on.
    """
    with ExitStack() as stack, storage.device_errors():
        held = stack.enter_context(storage.exclusive(out))
        wanted = _wanted(held, private)
        record = stack.enter_context(closing(Record(private, objects)))
        there = dict(objects.listing())
        record.refuse_strangers(there)
        seen = MANIFEST in wanted  # by whoever is to look at it
        missing = [p for p in wanted if seen and not record.holds(p, wanted[p], there)]
        gone = [path for path in there if path not in wanted]
        if not (missing or gone):
            return Uploaded(str(objects), len(there), 0, 0)
        record.open()
        for path in (*LAST[::-1], *gone):
            if path in there:
                objects.remove(path)
        if not seen:
            return Uploaded(str(objects), len(there.keys() & wanted.keys()), 0, len(gone))
        first = [path for path in missing if path not in LAST]
        last = [path for path in LAST if path in wanted]
        total = len(first) + len(last)
        for done in _write(first, wanted, held, objects, record):
            progress(done, total)
        _check_all(set(wanted) - set(LAST), objects, record)
        for path in last:
            list(_write([path], wanted, held, objects, record))
        progress(total, total)
        _check_all(set(wanted), objects, record)
    return Uploaded(str(objects), len(wanted), total, len(gone))


def _wanted(out: Path, private: Path) -> dict[str, str]:
    """The sha256 of every file of a release by its path; MANIFEST is one of them once a person has
    seen what is to be looked at. Raises UsageError: something in ``out`` is not of the release, or
    has a name that no object has."""
    header, entries = read_journal(JsonLines(private / JOURNAL))
    assert header is not None  # the release was made
    wanted = {path: digest for e in entries.released() for path, digest in e.files.items()}
    tables = {MANIFEST, SIGNATURE, *SET_FILES, *account.known_paths(header["labels"])}
    for path in output_files(out):
        if path in tables:
            wanted[path] = hashlib.sha256(_data(out, path)).hexdigest()
        elif path not in wanted:
            raise UsageError("the staging folder holds files that this release did not write")
    if not all(path.isprintable() and len(path.encode()) < LONGEST for path in wanted):
        raise UsageError("names of files are none for objects; begin anew with --names hashed")
    return wanted


def _data(out: Path, path: str) -> bytes:
    """All of a file. Raises UsageError: it is larger than is read at once."""
    data = storage.read_regular(out / path, MAX_BYTES, out)[0]
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"a file of the staging folder has more than {MAX_BYTES >> 20} MiB, which is not "
            "uploaded; release fewer files at a time"
        )
    return data


def _write(
    paths: list[str], wanted: dict[str, str], out: Path, objects: Objects, record: Record
) -> Iterator[int]:
    """Uploads files; the number of those that are done."""

    def one(path: str) -> tuple[str, str]:
        data = _data(out, path)
        if hashlib.sha256(data).hexdigest() != wanted[path]:
            raise UsageError("a file of the staging folder was changed; call again")
        return wanted[path], objects.write(path, data)

    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for some in (paths[at : at + TOGETHER] for at in range(0, len(paths), TOGETHER)):
            record.add(dict.fromkeys(some, ("", "")))
            told: dict[str, Any] = dict(zip(some, pool.map(one, some), strict=True))
            record.add(told)
            done += len(some)
            yield done


def _check_all(wanted: set[str], objects: Objects, record: Record) -> None:
    """Raises StoreError unless these and nothing else lie there, as they were read back."""
    there = dict(objects.listing())
    known = all(record.known[path][1] == held.tag for path, held in there.items() if path in wanted)
    if there.keys() != wanted or not known:
        raise StoreError("something else wrote to OUT meanwhile")
