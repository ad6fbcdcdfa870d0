"""A finished release, looked at by somebody who has neither its inputs nor its key.

Every file must be one of the manifest's, unchanged, and pass what was asked of it before it was
published; nothing else may lie there. Findings name rows of the manifest, never files: the names of
a release may tell who it is.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.release import inspection, listing, manifests, storage, worker_pool
from anonymize.release.journal import JOURNAL
from anonymize.release.labels import account, collect
from anonymize.release.listing import Found
from anonymize.release.manifests import ManifestError, Row
from anonymize.release.names import KEY
from anonymize.release.options import Progress
from anonymize.release.places import MANIFEST
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Reason, Refused
from anonymize.release.tables import MAP, QUARANTINE
from anonymize.release.worker_pool import Limits, WorkerPool
from anonymize.whole_file import TEMPORARY

LABELS = f"{collect.FOLDER}/{collect.MANIFEST}"
PRIVATE = frozenset({JOURNAL, MAP, QUARANTINE, KEY, account.PRIVATE})


class Flaw(Enum):
    """What can be wrong with a release; ``value`` is the code, ``meaning`` one line for people."""

    MANIFEST = "manifest", "the manifest is damaged, or says what no release says"
    MISSING = "missing", "a file of the manifest is not there"
    CHANGED = "changed", "a file has another content than the manifest says"
    FOREIGN = "foreign", "a file that the manifest does not name"
    LINK = "link", "a symbolic link"
    NOT_A_FILE = "not-a-file", "a pipe, socket or device, or a folder that cannot be read"
    UNREADABLE = "unreadable", "a file that cannot be read"
    UNFINISHED = "unfinished", "a file that an interrupted run left; run `anonymize apply` again"
    EMPTY_FOLDER = "empty-folder", "a folder without files, which nothing but its name is left of"
    PRIVATE = "private", "a file of the private folder: a key, a journal or a map"
    UNFIT = "unfit", "a file that breaks its format, or holds more than its allow-list names"

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Flaw:
        member = object.__new__(cls)
        member._value_, member.meaning = code, meaning
        return member


@dataclass(frozen=True)
class Finding:
    """One flaw: ``row`` of ``table`` ("manifest.csv" or "labels/manifest.csv"), 0 for none."""

    flaw: Flaw
    table: str = ""
    row: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What was found. ``other_times`` counts files with another time than a release gives them."""

    files: int
    findings: tuple[Finding, ...]
    other_times: int

    @property
    def sound(self) -> bool:
        return not self.findings

    @property
    def counts(self) -> dict[str, int]:
        """Findings by code."""
        return dict(Counter(finding.flaw.value for finding in self.findings))


def verify(
    out: Path,
    *,
    workers: int = 1,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    progress: Progress = lambda done, total: None,
) -> Report:
    """Looks at every file of the release in ``out``, and changes nothing.

    Raises:
        UsageError: no release is there.
        WorkerPoolError: no worker process can be started.
    """
    if not (out / MANIFEST).is_file():
        raise UsageError(f"OUT holds no {MANIFEST}; name the folder of a finished release")
    tables, findings = _tables(out)
    rows = {row.output: (table, row) for table, rows in tables.items() for row in rows}
    there = {found.path: found for found in listing.walk(out)}
    if not findings:  # else every file would be a stranger
        known = {*rows, *tables}
        findings += [_stranger(f) for path, f in there.items() if path not in known]
    findings += [Finding(Flaw.EMPTY_FOLDER)] * len(listing.empty_folders(out))
    findings += [f for table in tables if (f := _odd(there[table])) is not None]
    others = sum(_has_other_time(out / path) for path in there)
    with worker_pool.WorkerPool(workers, limits) as pool:
        checks = (
            partial(_look, pool, out, table, row, there.get(path))
            for path, (table, row) in rows.items()
        )
        for done, finding in enumerate(pool.in_order(checks, window=2 * workers), 1):
            findings += [] if finding is None else [finding]
            progress(done, len(rows))
    findings.sort(key=lambda f: (f.table, f.row, f.flaw.value))
    return Report(len(rows), tuple(findings), others)


def _tables(out: Path) -> tuple[dict[str, list[Row]], list[Finding]]:
    """The rows of each table that is there, and what is wrong with it."""
    tables, findings = {}, []
    for table, read in ((MANIFEST, manifests.images), (LABELS, manifests.labels)):
        path = out / table
        if table != MANIFEST and not path.exists():
            continue
        try:
            tables[table] = read(storage.read_regular(path, MAX_BYTES, _regular, root=out))
        except ManifestError as error:
            findings.append(Finding(Flaw.MANIFEST, table, error.row, error.problem))
            tables[table] = []
        except (OSError, Refused):
            findings.append(Finding(Flaw.UNREADABLE, table))
            tables[table] = []
    return tables, findings


def _stranger(found: Found) -> Finding:
    """The finding of a file that no table names."""
    name = found.path.rpartition("/")[2]
    if name.startswith(TEMPORARY):
        return Finding(Flaw.UNFINISHED)
    if name in PRIVATE:
        return Finding(Flaw.PRIVATE)
    return _odd(found) or Finding(Flaw.FOREIGN)


def _odd(found: Found) -> Finding | None:
    """The finding of what is no regular file."""
    if found.refusal is None:
        return None
    return Finding(Flaw.LINK if found.refusal is Reason.SYMLINK else Flaw.NOT_A_FILE)


def _look(pool: WorkerPool, out: Path, table: str, row: Row, found: Found | None) -> Finding | None:
    """What is wrong with the file of a row."""
    finding = partial(Finding, table=table, row=row.number)
    if found is None:
        return finding(Flaw.MISSING)
    if (odd := _odd(found)) is not None:
        return finding(odd.flaw)
    try:
        data = storage.read_regular(out / row.output, MAX_BYTES, _regular, root=out)
    except (OSError, Refused) as error:
        return finding(Flaw.UNREADABLE, detail=type(error).__name__)
    if hashlib.sha256(data).hexdigest() != row.sha256:
        return finding(Flaw.CHANGED)
    try:
        if row.kind == "image":
            pool.call(inspection.image, row.output, data)
        else:
            pool.call(inspection.label, row.kind, row.output, data)
    except Refused as refusal:
        return finding(Flaw.UNFIT, detail=f"{refusal.reason.value}: {refusal.detail}".rstrip(": "))
    return None


def _regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refused(Reason.NOT_A_REGULAR_FILE)


def _has_other_time(path: Path) -> bool:
    try:
        return path.lstat().st_mtime != storage.CONSTANT_TIME
    except OSError:
        return True
