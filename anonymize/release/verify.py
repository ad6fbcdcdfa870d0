"""A finished release, looked at by somebody who has neither its inputs nor its key.

Every file must be one of the manifest's, unchanged, and pass what was asked of it before it was
published; nothing else may lie there. Findings name rows of the manifest, never files: the names of
a release may tell who it is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from anonymize.errors import UsageError
from anonymize.key_files import read_secret
from anonymize.release import listing, storage
from anonymize.release.checking import inspection
from anonymize.release.checking.findings import (
    Finding,
    Flaw,
    Report,
    beside,
    has_other_time,
    odd,
    stranger,
)
from anonymize.release.early import refuse_no_release
from anonymize.release.labels import collect
from anonymize.release.labels import inspection as labels_inspection
from anonymize.release.metadata import written
from anonymize.release.metadata.written import Groups
from anonymize.release.options import Progress
from anonymize.release.places import CERTIFICATE, MANIFEST, PAGE, SET_FILES, SIGNATURE
from anonymize.release.places import LABELS as MEANS
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Refused
from anonymize.release.records import manifests, signature
from anonymize.release.records.manifests import ManifestError, Row
from anonymize.release.records.named import Named
from anonymize.release.sets import certificate
from anonymize.release.sets import inspection as together
from anonymize.release.sets.certificate import Certificate
from anonymize.release.uniform import Uniform
from anonymize.release.workers import worker_pool
from anonymize.release.workers.worker_pool import Limits, WorkerPool

LABELS = f"{collect.FOLDER}/{collect.MANIFEST}"

T = TypeVar("T")
LONGEST_LINE = 1 << 16  # bytes; what is longer is several, and no row
LONGEST_TABLE = 1 << 22  # bytes of a certificate or its page
SIGNED = re.compile(rb"[0-9a-f]{128}\n")


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
    named = Named(listing.walk(out))
    tables, told, findings = _tables(out, named)
    findings += _signature(out, tables, public_key)
    own = {MANIFEST, LABELS, SIGNATURE, *(SET_FILES if CERTIFICATE in tables else ())}
    known = all(f.flaw is not Flaw.MANIFEST for f in findings)  # else every file is a stranger
    others = 0
    for found in named.all_there():
        table, row = named.row(found.path) or ("", None)
        number = 0 if row is None else row.number
        findings += [Finding(flaw, table, number) for flaw in beside(out / found.path)]
        others += has_other_time(out / found.path)
        if found.path in own:
            findings += [flaw] if (flaw := odd(found)) is not None else []
        elif row is None and known:
            findings.append(stranger(found))
    findings += [Finding(Flaw.EMPTY)] * (known and not len(named))
    folders = (Path(place) for place, _, _ in os.walk(out))
    findings += [Finding(flaw) for folder in folders for flaw in beside(folder)]
    findings += [Finding(Flaw.EMPTY_FOLDER)] * len(listing.empty_folders(out))
    with worker_pool.WorkerPool(workers, limits) as pool:
        uniform = None if told is None else Uniform(told.size, told.format)
        look = partial(_look, pool, out, named, uniform)
        checks = (partial(look, table, row) for table, row in named.rows())
        files = len(named)  # counted on the disk, so once
        for done, finding in enumerate(pool.in_order(checks, window=2 * workers), 1):
            findings += [] if finding is None else [finding]
            progress(done, files)
        groups = (
            _groups(pool, out) if named.row(written.PATH) and named.there(written.PATH) else None
        )
    findings.sort(key=lambda f: (f.table, f.row, f.flaw.value))
    text = named.looked(MANIFEST)
    counts = others, named.count(LABELS), text[False], text[None]
    return Report(files, tuple(findings), *counts, groups)


def _tables(out: Path, named: Named) -> tuple[dict[str, str], Certificate | None, list[Finding]]:
    """The sha256 of each table that is there, the certificate if it is one, and what is wrong with
    them; what they name goes to ``named``."""
    digests: dict[str, str] = {}
    findings = []

    def looked(table: str, look: Callable[[Iterator[bytes]], T]) -> T | None:
        """What ``look`` makes of the lines of a table; None where it is not there, or wrong."""
        if table != MANIFEST and not (out / table).exists():
            return None
        digest = hashlib.sha256()
        try:
            lines = _lines(out, table, digest)
            try:
                return look(lines)
            finally:
                deque(lines, maxlen=0)  # what was not looked at is signed, too
                digests[table] = digest.hexdigest()
        except ManifestError as error:
            findings.append(Finding(Flaw.MANIFEST, table, error.row, error.problem))
        except OSError:
            findings.append(Finding(Flaw.UNREADABLE, table))
        return None

    told = looked(CERTIFICATE, lambda lines: certificate.read(_whole(lines)))
    # Of a certificate that says nothing, counts are no matter.
    counts = (lambda row, number: None) if CERTIFICATE in digests else None
    counts = counts if told is None else partial(together.check_manifest, told=told)
    looked(MANIFEST, lambda lines: named.add(MANIFEST, manifests.images(lines, counts)))
    looked(LABELS, lambda lines: named.add(LABELS, manifests.labels(lines, named)))
    outputs = (row.output for table, row in named.rows() if table == MANIFEST)
    checks: dict[str, Callable[[Iterator[bytes]], object]] = {PAGE: bool, MEANS: bool}
    if told is not None:
        checks[PAGE] = lambda lines: together.check_page(_whole(lines), told)
        checks[MEANS] = lambda lines: together.check_labels(lines, told, outputs)
        missing = (t for t in (PAGE, *[MEANS] * bool(told.labels)) if not (out / t).exists())
        findings += [Finding(Flaw.MANIFEST, table, 0, "it is missing") for table in missing]
    for table, check in checks.items():
        looked(table, check)
    return digests, told, findings


def _lines(out: Path, table: str, digest: hashlib._Hash) -> Iterator[bytes]:
    """The lines of a table, which ``digest`` gets; OSError where it is no regular file."""
    with storage.opened_regular(out / table, out) as stream:
        while line := stream.readline(LONGEST_LINE):
            digest.update(line)
            yield line


def _whole(lines: Iterator[bytes]) -> bytes:
    """A short table; ManifestError for one that is none."""
    data = bytearray()
    for line in lines:
        data += line
        if len(data) > LONGEST_TABLE:
            raise ManifestError(0, "longer than a release writes it")
    return bytes(data)


def _signature(out: Path, tables: dict[str, str], public_key: Path | None) -> list[Finding]:
    """What is wrong with the signature of ``tables``; without a key, only with its form."""
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
    key = read_secret(public_key, "--public-key", private=False, least=1)
    if key is None:
        raise UsageError("--public-key cannot be read; name the file of a public key")
    try:
        holds = signature.holds(found, tables, key)
    except ValueError:
        raise UsageError("--public-key must be a file with an Ed25519 public key (PEM)") from None
    return [] if holds else [Finding(Flaw.SIGNATURE, detail="" if found else "it is not signed")]


def _look(
    pool: WorkerPool, out: Path, named: Named, uniform: Uniform | None, table: str, row: Row
) -> Finding | None:
    """What is wrong with the file of a row."""
    finding = partial(Finding, table=table, row=row.number)
    found = named.there(row.output)
    if found is None:
        return finding(Flaw.MISSING)
    if (flaw := odd(found)) is not None:
        return finding(flaw.flaw)
    try:
        data = storage.read_regular(out / row.output, MAX_BYTES, out)[0]
    except OSError as error:
        return finding(Flaw.UNREADABLE, detail=type(error).__name__)
    if hashlib.sha256(data).hexdigest() != row.sha256:
        return finding(Flaw.CHANGED)
    try:
        if row.kind == "image":
            pool.call(inspection.image, row.output, data, uniform, row.looked)
        else:
            of_several = () if row.kind == "mask" else named.rows(("image", "mask"))
            images = frozenset(row.output for _, row in of_several)
            pool.call(labels_inspection.label, row.kind, row.output, data, images)
    except Refused as refusal:
        return finding(Flaw.UNFIT, detail=f"{refusal.reason.value}: {refusal.detail}".rstrip(": "))
    return None


def _groups(pool: WorkerPool, out: Path) -> Groups | None:
    """Whom the metadata set apart; None where they cannot be read, which is a finding."""
    try:
        data = storage.read_regular(out / written.PATH, MAX_BYTES, out)[0]
        return pool.call(written.groups_of, data)
    except (OSError, Refused):
        return None
