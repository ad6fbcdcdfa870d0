"""The shards of a release → the release that one machine would have made, byte for byte.

Everything is looked at before anything is changed. Then the journal of the whole is written, at
once; then the files are moved into OUT, in the order of their names; then the tables are made. An
interrupted merge goes on: a file lies in its shard or in OUT, and the journal names all.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from anonymize import whole_file
from anonymize.errors import DataError, UsageError
from anonymize.fingerprint import sha256_file
from anonymize.release import storage, tables
from anonymize.release.journal import JOURNAL, Entry, Journal, read_journal
from anonymize.release.labels.collect import Labels
from anonymize.release.options import Progress
from anonymize.release.places import Naming, Places, find_naming
from anonymize.release.reasons import Reason
from anonymize.release.shards import FILE, Finished, Shard

PRIVATE = "-private"  # behind the name of a shard's folder


@dataclass(frozen=True)
class Part:
    """A finished shard: where it is, what it is of, and what became of its files."""

    out: Path
    private: Path
    header: dict
    finished: Finished
    entries: dict[str, Entry]

    @property
    def shard(self) -> Shard:
        return Shard.parse(self.finished.shard)


@dataclass(frozen=True)
class Merged:
    """What became of all files: inputs = released + quarantined + left_out."""

    shards: int
    inputs: int
    released: int
    quarantined: int
    left_out: int
    reasons: dict[str, int]
    out: str
    private: str


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
    private = (private or out.with_name(out.name + PRIVATE)).resolve()
    parts = [_part(folder) for folder in found(shards, out)]
    _check_alike(parts)
    header = {**parts[0].header, "out": str(out), "shard": ""}
    places = Places(Path(header["in"]), None, out, private)
    _check_apart(parts, places)
    naming = _signer(key_file, header, places) if sign else None
    begun = Journal(places, header).entries
    entries = _entries(parts)
    with ExitStack() as held, storage.device_errors():
        for part in parts:
            held.enter_context(storage.exclusive(part.out))
        waiting = _waiting(parts, begun, out, progress)
        for folder in (out, private):
            storage.make_folders(folder)
        places = replace(
            places,
            out=held.enter_context(storage.exclusive(out)),
            private=held.enter_context(storage.exclusive(private)),
        )
        _begin(places, header, entries)
        journal = Journal(places, header)
        journal.open()
        held.callback(journal.close)
        _move(waiting, parts, places, progress)
        journal.withdraw_below_names()
        tables.write_tables(journal, entries, Labels(), parts[0].finished.method)
        if naming is not None:
            tables.write_signature(places.out, naming)
    return _merged(journal, len(parts), out, private)


def found(given: Sequence[Path], out: Path) -> list[Path]:
    """The folders of shards: those that are ``given``, or lie in one that is.

    Raises:
        UsageError: a folder that is no shard and holds none.
    """
    folders: list[Path] = []
    for path in (p.resolve() for p in given):
        if _is_shard(path):
            folders.append(path)
            continue
        inside = [p for p in sorted(path.iterdir()) if _is_shard(p)] if path.is_dir() else []
        if not inside:
            raise UsageError(
                "a SHARD must be a folder that `anonymize apply --shard I/N` finished, with its "
                f"private folder beside it ({PRIVATE} behind its name), or a folder of such ones"
            )
        folders += inside
    return [folder for folder in dict.fromkeys(folders) if folder != out]


def _is_shard(folder: Path) -> bool:
    return (folder.with_name(folder.name + PRIVATE) / JOURNAL).is_file()


def _part(folder: Path) -> Part:
    """Raises DataError where the shard in ``folder`` is not finished, or damaged."""
    private = folder.with_name(folder.name + PRIVATE)
    try:
        finished = Finished.read(private)
        Shard.parse(finished.shard)
    except FileNotFoundError:
        raise DataError(
            f"SHARD {folder.name} is not finished (no {FILE} in its private folder); give the same "
            "`anonymize apply --shard` again"
        ) from None
    except (OSError, ValueError, TypeError, KeyError):
        raise DataError(f"{FILE} in the private folder of SHARD {folder.name} is damaged") from None
    header, entries, _ = read_journal(private / JOURNAL)
    return Part(folder, private, header, finished, entries)


def _check_alike(parts: Sequence[Part]) -> None:
    """Raises DataError unless they are all shards of one release."""
    first = parts[0]
    count = first.shard.count
    numbers = Counter(part.shard.number for part in parts if part.shard.count == count)
    if numbers.total() < len(parts):
        raise DataError("SHARDs are of different --shard I/N; N must be the same for all")
    if twice := [n for n, times in numbers.items() if times > 1]:
        raise DataError(f"shard {twice[0]}/{count} is given twice; give each once")
    if missing := sorted(set(range(1, count + 1)) - numbers.keys()):
        named = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
        raise DataError(f"shards {named} of {count} are missing; finish and give them, too")
    for part in parts:
        if part.header.get("shard") != part.finished.shard:
            raise DataError(f"SHARD {part.out.name} is damaged: its journal is of another shard")
        other = {k for k in first.header | part.header if _other(k, first.header, part.header)}
        if other or part.finished.method != first.finished.method:
            what = ", ".join(sorted(other)) or "method"
            raise DataError(
                f"shards {first.finished.shard} and {part.finished.shard} are of different "
                f"releases ({what}); make one of them again"
            )
        seen = (part.finished.files, part.finished.listing)
        if seen != (first.finished.files, first.finished.listing):
            raise DataError(
                f"shards {first.finished.shard} and {part.finished.shard} saw different files "
                "under IN; give the same `anonymize apply --shard` again for each, with IN at rest"
            )
    if sum(part.finished.inputs for part in parts) != first.finished.files:
        raise DataError("the shards' files do not add up to those under IN; make them again")


def _other(key: str, one: dict, other: dict) -> bool:
    return key not in ("out", "shard") and one.get(key) != other.get(key)


def _check_apart(parts: Sequence[Part], places: Places) -> None:
    """Raises UsageError where OUT or its private folder and IN or a shard lie in one another."""
    others = [places.root, *(part.out for part in parts), *(part.private for part in parts)]
    for one in (places.out, places.private):
        if any(one.is_relative_to(other) or other.is_relative_to(one) for other in others):
            raise UsageError(
                "OUT must not lie in IN or a SHARD, nor these in it; choose another OUT"
            )


def _signer(key_file: Path | None, header: dict, places: Places) -> Naming:
    """The secret to sign with; UsageError unless it is the shards' own."""
    folders = places.public(by_list=False)
    naming = find_naming(key_file, hashed=False, folders=folders, private=places.private)
    if key_file is None or naming.secret is None or naming.key_id != header["key"]:
        raise UsageError("--sign needs --key-file, the secret that the shards were made with")
    return naming


def _entries(parts: Sequence[Part]) -> dict[str, Entry]:
    """All entries that count, by input, in the order of their paths.

    Raises:
        DataError: a file of another shard, or an output of two.
    """
    entries: dict[str, Entry] = {}
    outputs: set[str] = set()
    for part in parts:
        for path, entry in part.entries.items():
            if path in part.finished.gone:
                continue
            if not part.shard.takes(path) or not outputs.isdisjoint(entry.outputs):
                raise DataError(
                    f"shard {part.finished.shard} holds a file of another shard, or an output of "
                    "two; make it again under another OUT"
                )
            entries[path] = entry
            outputs.update(entry.outputs)
    return dict(sorted(entries.items(), key=lambda item: os.fsencode(item[0])))


def _waiting(
    parts: Sequence[Part], begun: dict[str, Entry], out: Path, progress: Progress
) -> list[tuple[Path, str]]:
    """The shard and path of each file that is to be moved, in the order of the paths.

    ``begun`` are the entries of an interrupted merge, which may have withdrawn some.

    Raises:
        DataError: a file is neither in its shard nor in ``out``, as the journal has it.
    """
    files = sorted(
        (
            (part, path, sha256)
            for part in parts
            for entry in part.entries.values()
            if begun.get(entry.input, entry).released
            for path, sha256 in entry.outputs.items()
        ),
        key=lambda file: os.fsencode(file[1]),
    )
    waiting = []
    for number, (part, path, sha256) in enumerate(files, 1):
        if _is(part.out / path, sha256):
            waiting.append((part.out, path))
        elif not _is(out / path, sha256):
            raise DataError(
                f"a file of shard {part.finished.shard} is missing or changed; give the same "
                "`anonymize apply --shard` again, which makes it anew"
            )
        progress(number, len(files))
    return waiting


def _is(path: Path, sha256: str) -> bool:
    try:
        return not path.is_symlink() and sha256_file(path) == sha256
    except OSError:
        return False


def _begin(places: Places, header: dict, entries: dict[str, Entry]) -> None:
    """Writes the journal of the whole, at once, where there is none; one that is there must begin
    with it."""
    path = places.private / JOURNAL
    lines: Iterable[dict] = (header, *map(asdict, entries.values()))
    data = b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in lines)
    if not path.exists():
        storage.write_whole(path, data, mode=0o600)
        return
    with path.open("rb") as stream:
        if stream.read(len(data)) != data:
            raise UsageError(
                "the shards changed since this merge was begun; choose another OUT for them"
            )


def _move(
    waiting: Sequence[tuple[Path, str]], parts: Sequence[Part], places: Places, progress: Progress
) -> None:
    """Moves what waits, and the pictures of text that was removed; then all is on the disk."""
    moves = [(shard / path, places.out / path) for shard, path in waiting]
    for part in parts:
        sheets = sorted((part.private / tables.SHEETS).glob("*.png"))
        moves += [(sheet, places.private / tables.SHEETS / sheet.name) for sheet in sheets]
    folders: set[Path] = set()
    for number, (file, target) in enumerate(moves, 1):
        if target.parent not in folders:
            storage.make_folders(target.parent)
        _give(file, target)
        folders |= {target.parent, file.parent}
        progress(number, len(moves))
    for folder in folders:
        with storage.held(folder) as place:
            whole_file.sync_folder(place)


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


def _merged(journal: Journal, shards: int, out: Path, private: Path) -> Merged:
    counts = Counter(entry.reason for entry in journal.entries.values())
    reasons = {r.value: counts[r.value] for r in Reason if counts[r.value]}
    left_out = sum(counts[r.value] for r in Reason if r.left_out)
    return Merged(
        shards=shards,
        inputs=counts.total(),
        released=counts[""],
        quarantined=sum(reasons.values()) - left_out,
        left_out=left_out,
        reasons=reasons,
        out=str(out),
        private=str(private),
    )
