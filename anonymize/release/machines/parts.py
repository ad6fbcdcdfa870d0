"""Finished shards, and whether they are the shards of one release."""

import heapq
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from anonymize.errors import DataError, UsageError, printable
from anonymize.release.machines.shards import FILE, Finished, Shard
from anonymize.release.places import private_beside
from anonymize.release.records.entries import Entries, Entry
from anonymize.release.records.journal import JOURNAL, PRECISION, read_journal
from anonymize.release.records.json_lines import JsonLines


@dataclass(frozen=True)
class Part:
    """A finished shard: where it is, what it is of, and what became of its files."""

    out: Path
    private: Path
    header: dict[str, Any]
    finished: Finished
    entries: Entries

    @property
    def shard(self) -> Shard:
        return Shard.parse(self.finished.shard)


def found(given: Sequence[Path], out: Path) -> list[Path]:
    """The folders of shards: those that are ``given``, or lie in one that is. Raises UsageError: a
    folder that is no shard and holds none."""
    folders: list[Path] = []
    for path in (p.resolve() for p in given):
        if not path.is_dir():
            raise UsageError(f"SHARD {printable(path.name)} must be a folder; there is none")
        if _is_shard(path):
            folders.append(path)
            continue
        inside = [p for p in sorted(path.iterdir()) if _is_shard(p)]
        if not inside:
            raise UsageError(
                "a SHARD must be a folder that `anonymize apply --shard I/N` finished, with its "
                "private folder beside it (-private behind its name), or a folder of such ones"
            )
        folders += inside
    return [folder for folder in dict.fromkeys(folders) if folder != out]


def _is_shard(folder: Path) -> bool:
    return (private_beside(folder) / JOURNAL).is_file()


def read_part(folder: Path) -> Part:
    """Raises DataError where the shard in ``folder`` is not finished, or damaged."""
    private = private_beside(folder)
    try:
        finished = Finished.read(private)
        Shard.parse(finished.shard)
    except FileNotFoundError:
        raise DataError(
            f"SHARD {folder.name} is not finished, or no shard (no {FILE} in its private folder); "
            "give the same `anonymize apply --shard I/N` again; a release without --shard is whole"
        ) from None
    except (OSError, ValueError, TypeError, KeyError):
        raise DataError(
            f"{FILE} in the private folder of SHARD {folder.name} is damaged or of another "
            "version; give the same `anonymize apply --shard I/N` again"
        ) from None
    header, entries = read_journal(JsonLines(private / JOURNAL))
    if header is None:
        raise DataError(f"the journal of SHARD {folder.name} is damaged")
    return Part(folder, private, header, finished, entries)


def check_alike(parts: Sequence[Part]) -> None:
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
        raise DataError(
            f"of shards 1 to {count}, there is no {named}; finish and give what is missing, too"
        )
    for part in parts:
        if part.header.get("shard") != part.finished.shard:
            raise DataError(f"SHARD {part.out.name} is damaged: its journal is of another shard")
        keys = (first.header | part.header).keys() - {"out", "shard", PRECISION}
        other = {key for key in keys if first.header.get(key) != part.header.get(key)}
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
    _check_precision(parts)
    if sum(part.finished.inputs for part in parts) != first.finished.files:
        raise DataError("the shards' files do not add up to those under IN; make them again")


def _check_precision(parts: Sequence[Part]) -> None:
    """Raises DataError where two are computed differently, or may be."""
    first = parts[0].finished
    for one in (part.finished for part in parts):
        if one.precision != first.precision:
            raise DataError(
                f"shards {first.shard} and {one.shard} are computed in different precision "
                f"({first.precision}, {one.precision}); remove one of them with its private "
                "folder, and make it again on a machine that computes as the other's"
            )


def entries_of(parts: Sequence[Part]) -> Iterator[Entry]:
    """All entries that count, in the order of their inputs. Raises DataError: a file of another
    shard."""
    every = (zip(repeat(part), part.entries) for part in parts)
    for part, entry in heapq.merge(*every, key=lambda item: os.fsencode(item[1].input)):
        if entry.input in part.finished.gone:
            continue
        if not part.shard.takes(entry.input):
            raise DataError(
                f"shard {part.finished.shard} holds a file of another shard; make it again under "
                "another OUT"
            )
        yield entry


def files_of(parts: Sequence[Part]) -> Iterator[tuple[Part, Entry, str, str]]:
    """Each released file: its shard, entry, path and sha256; images in the order of their paths.
    Raises DataError: an output of two inputs."""
    every = (zip(repeat(part), part.entries.released()) for part in parts)
    last = None
    for part, entry in heapq.merge(*every, key=lambda item: os.fsencode(item[1].output)):
        if entry.output == last:
            raise DataError("two shards hold the same output; make one again under another OUT")
        last = entry.output
        for path, sha256 in entry.files.items():
            yield part, entry, path, sha256
