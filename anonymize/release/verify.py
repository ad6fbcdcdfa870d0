"""A finished release, looked at by somebody who has neither its inputs nor its key.

Every file must be one of the manifest's, unchanged, and pass what was asked of it before it was
published; nothing else may lie there. Findings name rows of the manifest, never files: the names of
a release may tell who it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from anonymize.errors import UsageError
from anonymize.release import (
    facts,
    inspection,
    listing,
    manifests,
    signature,
    storage,
    worker_pool,
)
from anonymize.release.archives import Found
from anonymize.release.early import refuse_no_release
from anonymize.release.journal import JOURNAL
from anonymize.release.labels import account, collect
from anonymize.release.labels import inspection as labels_inspection
from anonymize.release.manifests import ManifestError, Row
from anonymize.release.options import Progress
from anonymize.release.places import KEY, MANIFEST, SET_FILES, SIGNATURE
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Code, Reason, Refused
from anonymize.release.sets import inspection as together
from anonymize.release.sets import state
from anonymize.release.sets.inspection import CERTIFICATE, PAGE
from anonymize.release.sets.inspection import LABELS as MEANS
from anonymize.release.tables import MAP, QUARANTINE
from anonymize.release.worker_pool import Limits, WorkerPool
from anonymize.whole_file import TEMPORARY

LABELS = f"{collect.FOLDER}/{collect.MANIFEST}"
PRIVATE = frozenset({JOURNAL, MAP, QUARANTINE, KEY, account.PRIVATE, state.FILE, facts.FILE})

T = TypeVar("T")
SIGNED = re.compile(rb"[0-9a-f]{128}\n")


class Flaw(Code):
    """What can be wrong with a release."""

    MANIFEST = "manifest", "the manifest is damaged, or says what no release says"
    MISSING = "missing", "a file of the manifest is not there"
    CHANGED = "changed", "a file has another content than the manifest says"
    FOREIGN = "foreign", "a file that is no output of manifest.csv (its name may tell something)"
    LINK = "link", "a symbolic link"
    HARD_LINK = "hard-link", "a file that has a second name somewhere"
    ATTRIBUTES = "attributes", "a file or folder with extended attributes"
    SIGNATURE = "signature", "no signature by the owner of --public-key of what the manifests say"
    NOT_A_FILE = "not-a-file", "a pipe, socket or device, or a folder that cannot be read"
    UNREADABLE = "unreadable", "a file that cannot be read"
    UNFINISHED = "unfinished", "a file that an interrupted run left; run `anonymize apply` again"
    EMPTY_FOLDER = "empty-folder", "a folder without files, which nothing but its name is left of"
    PRIVATE = "private", "a file of the private folder: a key, a journal or a map"
    UNFIT = "unfit", "a file that breaks its format, or holds more than its allow-list names"


@dataclass(frozen=True)
class Finding:
    """One flaw: ``row`` of ``table`` ("manifest.csv" or "labels/manifest.csv"), 0 for none."""

    flaw: Flaw
    table: str = ""
    row: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What was found. ``files`` counts images and files of labels, ``labels`` the latter;
    ``other_times`` files with another time than a release gives them. ``text_not_looked_for``
    counts images in which nobody looked for burned-in text, ``text_not_told`` those of which the
    manifest does not say."""

    files: int
    findings: tuple[Finding, ...]
    other_times: int
    labels: int = 0
    text_not_looked_for: int = 0
    text_not_told: int = 0

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
    public_key: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Looks at every file of the release in ``out``, and changes nothing.

    Args:
        public_key: of whom the release must be signed by (PEM).

    Raises:
        UsageError: no release is there, or no public key.
        WorkerPoolError: no worker process can be started.
    """
    refuse_no_release(out)
    contents, tables, findings = _tables(out)
    findings += _signature(out, contents, public_key)
    beside = SET_FILES if CERTIFICATE in contents else ()
    rows = {row.output: (table, row) for table, rows in tables.items() for row in rows}
    there = {found.path: found for found in listing.walk(out)}
    if all(f.flaw is not Flaw.MANIFEST for f in findings):  # else every file would be a stranger
        known = {*rows, *tables, *beside, SIGNATURE}
        findings += [_stranger(f) for path, f in there.items() if path not in known]
    findings += [Finding(Flaw.EMPTY_FOLDER)] * len(listing.empty_folders(out))
    own = [there[path] for path in (*tables, *beside, SIGNATURE) if path in there]
    findings += [f for found in own if (f := _odd(found)) is not None]
    folders = {str(above) for path in there for above in PurePosixPath(path).parents}
    for path in (*there, *folders):
        table, row = rows.get(path, ("", None))
        number = 0 if row is None else row.number
        findings += [Finding(flaw, table, number) for flaw in _beside(out / path)]
    images = frozenset(path for path, (_, row) in rows.items() if row.kind in ("image", "mask"))
    others = sum(_has_other_time(out / path) for path in there)
    with worker_pool.WorkerPool(workers, limits) as pool:
        checks = (
            partial(_look, pool, out, table, row, there.get(path), images)
            for path, (table, row) in rows.items()
        )
        for done, finding in enumerate(pool.in_order(checks, window=2 * workers), 1):
            findings += [] if finding is None else [finding]
            progress(done, len(rows))
    findings.sort(key=lambda f: (f.table, f.row, f.flaw.value))
    looked = Counter(row.looked for row in tables.get(MANIFEST, []))
    number = len(tables.get(LABELS, []))
    return Report(len(rows), tuple(findings), others, number, looked[False], looked[None])


def _tables(out: Path) -> tuple[dict[str, bytes], dict[str, list[Row]], list[Finding]]:
    """The content of each table that is there, the rows of those that name files, and what is
    wrong with them."""
    contents: dict[str, bytes] = {}
    tables: dict[str, list[Row]] = {}
    findings = []
    for table in (MANIFEST, LABELS, *SET_FILES):
        if table != MANIFEST and not (out / table).exists():
            continue
        try:
            contents[table] = storage.read_regular(out / table, MAX_BYTES, out)[0]
        except OSError:
            findings.append(Finding(Flaw.UNREADABLE, table))

    def looked(table: str, look: Callable[..., T], *given: Any) -> T | None:
        try:
            return look(*given)
        except ManifestError as error:
            findings.append(Finding(Flaw.MANIFEST, table, error.row, error.problem))
            return None

    told = None
    if CERTIFICATE in contents:
        told = looked(CERTIFICATE, together.read, contents[CERTIFICATE])
    if MANIFEST in contents:
        # Of a certificate that says nothing, counts are no matter.
        counts = (lambda rows: None) if told is None and CERTIFICATE in contents else None
        counts = counts if told is None else partial(together.check_manifest, told=told)
        tables[MANIFEST] = looked(MANIFEST, manifests.images, contents[MANIFEST], counts) or []
    if LABELS in contents:
        images = {row.output for row in tables.get(MANIFEST, ())}
        tables[LABELS] = looked(LABELS, manifests.labels, contents[LABELS], images) or []
    if told is not None:
        rows = tables.get(MANIFEST, [])
        looked(PAGE, together.check_page, contents.get(PAGE, b""), told)
        looked(MEANS, together.check_labels, contents.get(MEANS), told, rows)
    return contents, tables, findings


def _signature(out: Path, contents: dict[str, bytes], public_key: Path | None) -> list[Finding]:
    """What is wrong with the signature of ``contents``; without a key, only with its form."""
    path = out / SIGNATURE
    if public_key is None and not path.is_file():
        return []
    try:
        found = storage.read_regular(path, signature.LENGTH, out)[0]
    except FileNotFoundError:
        found = b""
    except OSError:
        return [Finding(Flaw.SIGNATURE)]
    if public_key is None:
        return [] if SIGNED.fullmatch(found) else [Finding(Flaw.SIGNATURE)]
    try:
        holds = signature.holds(found, contents, public_key.read_bytes())
    except OSError:
        raise UsageError("--public-key cannot be read; name the file of a public key") from None
    except ValueError:
        raise UsageError("--public-key must be a file with an Ed25519 public key (PEM)") from None
    return [] if holds else [Finding(Flaw.SIGNATURE, detail="" if found else "it is not signed")]


def _beside(path: Path) -> Iterator[Flaw]:
    """What a file or folder says beside its content."""
    try:
        status = path.lstat()
        # Not what file systems give by themselves: labels of SELinux, access lists of NFS.
        listed = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
    except OSError:
        return
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        yield Flaw.HARD_LINK
    if any(name.startswith(("user.", "trusted.", "system.posix_acl_")) for name in listed):
        yield Flaw.ATTRIBUTES


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


def _look(
    pool: WorkerPool, out: Path, table: str, row: Row, found: Found | None, images: frozenset[str]
) -> Finding | None:
    """What is wrong with the file of a row; labels may be of ``images``."""
    finding = partial(Finding, table=table, row=row.number)
    if found is None:
        return finding(Flaw.MISSING)
    if (odd := _odd(found)) is not None:
        return finding(odd.flaw)
    try:
        data = storage.read_regular(out / row.output, MAX_BYTES, out)[0]
    except OSError as error:
        return finding(Flaw.UNREADABLE, detail=type(error).__name__)
    if hashlib.sha256(data).hexdigest() != row.sha256:
        return finding(Flaw.CHANGED)
    try:
        if row.kind == "image":
            pool.call(inspection.image, row.output, data)
        else:
            pool.call(labels_inspection.label, row.kind, row.output, data, images)
    except Refused as refusal:
        return finding(Flaw.UNFIT, detail=f"{refusal.reason.value}: {refusal.detail}".rstrip(": "))
    return None


def _has_other_time(path: Path) -> bool:
    try:
        return path.lstat().st_mtime != storage.CONSTANT_TIME
    except OSError:
        return True
