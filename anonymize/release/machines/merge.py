"""The shards of a release → the release that one machine would have made, byte for byte.

Everything is looked at before anything is changed. Then the journal of the whole is written, at
once; then the files are moved into OUT, in the order of their names, but for those whose path tells
what a header of another shard knows; then the tables are made. An interrupted merge goes on: a file
lies in its shard or in OUT, and the journal names all.
"""

import errno
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import DataError, UsageError
from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.labels.account import Written
from anonymize.release.labels.collect import Labels
from anonymize.release.machines.parts import (
    Part,
    check_alike,
    entries_of,
    files_of,
    found,
    read_part,
)
from anonymize.release.options import Progress
from anonymize.release.places import Naming, Places, find_naming, private_beside
from anonymize.release.records import facts, tables
from anonymize.release.records.entries import Entries, Entry
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import ABSENT, JOURNAL, Journal
from anonymize.release.summary import Told, of_reasons


@dataclass(frozen=True)
class Merged(Told):
    """What became of all files: inputs = released + quarantined + left_out. ``source`` is their
    folder; ``telling`` as that of :class:`summary.Summary`."""

    shards: int
    inputs: int
    released: int
    quarantined: int
    left_out: int
    reasons: dict[str, int]
    source: str
    out: str
    private: str
    method: str
    model_sha256: str
    names: str
    telling: int = 0


def merge(
    shards: Sequence[Path],
    out: Path,
    *,
    private: Path | None = None,
    key_file: Path | None = None,
    sign: bool = False,
    progress: Progress = lambda done, total: None,
) -> Merged:
    """Makes one release in ``out`` of finished ``shards``; resumes what was begun.

    Args:
        shards: the OUT of each, or folders of them.
        private: of the release; by default ``out`` with "-private" behind it.
        key_file: the secret of the shards, for ``sign``.
        progress: called with the number of files moved, and of all.

    Raises:
        UsageError, DataError: shards are missing, unfinished, given twice, of other inputs,
            options, keys or models; a file of theirs is changed or missing; an OUT of something
            else. Nothing was changed.
        StorageError: OUT or a private folder cannot be written; the same call resumes.
    """
    out = out.resolve()
    private = (private or private_beside(out)).resolve()
    parts = [read_part(folder) for folder in found(shards, out)]
    check_alike(parts)
    header = {**ABSENT, **parts[0].header, "out": str(out), "shard": ""}
    places = Places(Path(header["in"]), None, out, private)
    _check_apart(parts, places)
    signed = sign or facts.is_signed(places)
    naming = _signer(key_file, header, places) if signed else None
    begun = Journal(places, header).entries
    for _ in entries_of(parts):
        pass  # each is of its shard
    with ExitStack() as held, storage.device_errors():
        for part in parts:
            held.enter_context(storage.exclusive(part.out))
        _check_files(parts, begun, out, progress)
        for folder in (out, private):
            storage.make_folders(folder)
        places = replace(
            places,
            out=held.enter_context(storage.exclusive(out)),
            private=held.enter_context(storage.exclusive(private)),
        )
        _begin(places, header, entries_of(parts))
        journal = Journal(places, header)
        journal.open()
        held.callback(journal.close)
        facts.begin(places)
        searched = any(part.finished.paths_searched for part in parts)
        journal.withdraw_telling(searched=searched)
        _move(parts, journal, progress)
        told = tables.Tables(parts[0].finished.method, frozenset(), Written.of(Labels()))
        secret = "" if naming is None else str(naming.file)
        Facts(told, secret, signed=signed).publish(journal, naming)
    return _merged(journal, parts, out, private)


def _check_apart(parts: Sequence[Part], places: Places) -> None:
    """Raises UsageError where OUT or its private folder and IN or a shard lie in one another."""
    others = [places.root, *(part.out for part in parts), *(part.private for part in parts)]
    for one in (places.out, places.private):
        if any(one.is_relative_to(other) or other.is_relative_to(one) for other in others):
            raise UsageError(
                "OUT must not lie in IN or a SHARD, nor these in it; choose another OUT"
            )


def _signer(key_file: Path | None, header: dict[str, Any], places: Places) -> Naming:
    """The secret to sign with; UsageError unless it is the shards' own."""
    folders = places.public(by_list=False)
    naming = find_naming(key_file, hashed=False, folders=folders, private=places.private)
    if key_file is None or naming.secret is None or naming.key_id != header["key"]:
        raise UsageError(
            "--sign, or a signed OUT, needs --key-file, the secret that the shards were made with"
        )
    return naming


def _check_files(parts: Sequence[Part], begun: Entries, out: Path, progress: Progress) -> None:
    """Looks at every file; ``begun`` are the entries of an interrupted merge, which may have
    withdrawn some.

    Raises DataError: one is neither in its shard nor in ``out``, as the journal has it."""
    total = sum(part.finished.inputs for part in parts)
    for number, (part, entry, path, sha256) in enumerate(files_of(parts), 1):
        now = begun.get(entry.input) or entry
        if now.released and not (_is(part.out / path, sha256) or _is(out / path, sha256)):
            raise DataError(
                f"a file of shard {part.finished.shard} is missing or changed; give the same "
                "`anonymize apply --shard` again, which makes it anew"
            )
        progress(min(number, total), total)


def _is(path: Path, sha256: str) -> bool:
    try:
        return not path.is_symlink() and sha256_file(path) == sha256
    except OSError:
        return False


def _begin(places: Places, header: dict[str, Any], entries: Iterable[Entry]) -> None:
    """Writes the journal of the whole, at once, where there is none; one that is there must begin
    with it."""
    path = places.private / JOURNAL
    contents = chain((header,), map(asdict, entries))
    lines = (json.dumps(content, sort_keys=True).encode() + b"\n" for content in contents)
    if not path.exists():
        storage.write_whole(path, lines, mode=0o600)
        return
    with path.open("rb") as stream:
        if any(stream.readline() != line for line in lines):
            raise UsageError(
                "the shards changed since this merge was begun; choose another OUT for them"
            )


def _move(parts: Sequence[Part], journal: Journal, progress: Progress) -> None:
    """Moves what is still in its shard, and the pictures of text that was removed; then all is on
    the disk. What the release withdrew before, or a person sent to quarantine, stays there, where a
    call that goes on finds it."""
    total = sum(part.finished.inputs for part in parts)
    folders: set[Path] = set()
    for number, (file, target) in enumerate(_moves(parts, journal), 1):
        if target.parent not in folders:
            storage.make_folders(target.parent)
        if file.exists():
            _give(file, target)
        folders |= {target.parent, file.parent}
        progress(min(number, total), total)
    for folder in folders:
        if folder.exists():
            with storage.held(folder) as place:
                whole_file.sync_folder(place)


def _moves(parts: Sequence[Part], journal: Journal) -> Iterator[tuple[Path, Path]]:
    places = journal.places
    for part, entry, path, _ in files_of(parts):
        if journal.entries[entry.input].released:
            yield part.out / path, places.out / path
    for part in parts:
        for sheet in sorted((part.private / tables.SHEETS).glob("*.png")):
            yield sheet, places.private / tables.SHEETS / sheet.name


def _give(file: Path, target: Path) -> None:
    """Moves a file, at once; to another file system by a copy."""
    try:
        with storage.held(target.parent) as folder:
            os.replace(file, folder / target.name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        storage.write_whole(target, file.read_bytes(), mode=file.stat().st_mode & 0o777)
        storage.remove(file)


def _merged(journal: Journal, parts: Sequence[Part], out: Path, private: Path) -> Merged:
    counts = Counter(entry.reason for entry in journal.entries)
    header, evidence = parts[0].header, parts[0].finished.evidence
    told = Told.of(journal.entries, evidence=evidence, text=header["text"]["mode"])
    return Merged(
        **vars(told),
        shards=len(parts),
        inputs=counts.total(),
        released=counts[""],
        **of_reasons(counts),
        source=header["in"],
        out=str(out),
        private=str(private),
        method=header["method"],
        model_sha256=header["model_sha256"],
        names=header["names"],
        telling=sum(1 for _ in journal.telling()),
    )
