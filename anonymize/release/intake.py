"""One file under IN → Candidate: a radiograph, one that is released already, or a refusal.

The file is read here; what is in it is looked at by a worker (:mod:`decode`).
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonymize import csv_cells
from anonymize.release import archives, decode, formats, storage
from anonymize.release.archives import Found
from anonymize.release.burned_in.options import TextReport
from anonymize.release.dicom import known as people
from anonymize.release.dicom import paths
from anonymize.release.labels import account
from anonymize.release.labels.carry import Job, Spared, spared
from anonymize.release.machines.object_store import State, StoreError
from anonymize.release.metadata import table
from anonymize.release.places import Places
from anonymize.release.radiograph import MAX_BYTES, Radiograph
from anonymize.release.reasons import Reason, Refused, as_refusal
from anonymize.release.records.entries import Entry
from anonymize.release.workers.worker_pool import WorkerPool, WorkerPoolError

if TYPE_CHECKING:
    from anonymize.release.preparation import Release

TELLING_FINDING = "the name of a label of --patients that tells the patient"
DISPLACEMENT = 8  # bytes a pixel, which labels wait for


@dataclass(frozen=True)
class Candidate:
    """A file under IN that was looked at. Exactly one of radiograph, refusal and done is set."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    sha256: str = ""
    radiograph: Radiograph | None = None
    words: frozenset[bytes] = frozenset()  # that must not be found in the output
    text: TextReport | None = None  # what was done about burned-in text
    sheet: bytes | None = None  # PNG of it, private
    patient: str = ""  # pseudonym of whom its header names
    labels: Job | None = None
    metadata: dict[str, Any] | None = None  # of its row of --table
    spared: Spared | None = None  # what the method is to leave as it is
    refusal: Refused | None = None
    done: bool = False
    known: tuple[str, ...] | None = None  # that its header says of people, where paths are kept

    @property
    def note(self) -> str:
        """What the private map says of it."""
        format = self.radiograph.format if self.radiograph else ""
        wrong = format and formats.misnamed(self.path, format)
        return f"the content is {format}, other than the extension says" if wrong else ""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width; none without a radiograph."""
        return (0, 0) if self.radiograph is None else self.radiograph.pixels.shape[:2]

    @property
    def memory(self) -> int:
        """Bytes that it and what is made of it take while they wait."""
        if self.radiograph is None:
            return 0
        return 2 * self.radiograph.pixels.nbytes + DISPLACEMENT * prod(self.shape)

    @property
    def entry(self) -> Entry:
        """The journal's entry of it, to which its outcome is to be added."""
        known = None if self.known is None else list(self.known)
        return Entry(
            self.path, size=self.size, mtime_ns=self.mtime_ns, sha256=self.sha256, known=known
        )


def read_candidate(
    found: Found,
    release: Release,
    pool: WorkerPool,
    known_before: Callable[[str, str], bool] = lambda path, sha256: False,
) -> Candidate:
    """Reads and decodes one file; never raises because of its content. It is done where the journal
    says so, or ``known_before`` of its path and sha256.

    Raises:
        WorkerPoolError: no worker can be started.
        StoreError: IN are objects, and their store does not answer.
    """
    known = Candidate(found.path)
    try:
        if found.refusal not in (None, Reason.NAME_COLLISION):
            raise Refused(found.refusal, found.detail)
        try:
            data, status = contents(found, release.places, pool)
        except storage.Partial as partial:
            known = replace(known, known=_known(found, "", partial.head, release, pool))
            raise
        sha256 = hashlib.sha256(data).hexdigest()
        known = replace(known, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=sha256)
        known = replace(known, known=_known(found, sha256, data, release, pool))
        job = release.labels.job(found.path)
        done = _is_done(found, sha256, job, release)
        if done or known_before(found.path, sha256):
            return replace(known, done=True)
        if release.journal.entries.is_rejected(sha256):
            raise Refused(Reason.REVIEW, "the same file, at another path")
        if found.refusal and not release.naming.hashed:
            formats.recognise(found.path, data)  # what is no image collides with nothing
            raise Refused(found.refusal)
        rules = release.deidentifier, release.options.text, release.options.uniform
        decoded = pool.call(decode.decode, found.path, data, *rules, found.instance)
        dicom = formats.is_dicom(found.path, data)  # whatever it is released as
        metadata = None
        if release.metadata is not None:
            metadata = release.metadata.entry(found.path, decoded.patient)
        if dicom:
            _check_what_is_said(found.path, job, metadata, data, release, pool)
        if not release.naming.hashed and (flaw := csv_cells.flaw_of_name(found.path)):
            raise Refused(Reason.NAME_COLLISION, flaw)
        height, width = decoded.radiograph.pixels.shape[:2]
        kept = spared(job, (width, height), release.options.labels.spare)
        return replace(known, **vars(decoded), labels=job, metadata=metadata, spared=kept)
    except (WorkerPoolError, StoreError):
        raise
    except Exception as error:
        return replace(known, refusal=as_refusal(error))


def _check_what_is_said(
    path: str,
    job: Job | None,
    metadata: dict[str, Any] | None,
    data: bytes,
    release: Release,
    pool: WorkerPool,
) -> None:
    """Raises Refused where what is released with a DICOM file in words tells its patient."""
    if job and pool.call(paths.tell, release.labels.texts(path), data):
        raise Refused(Reason.LABELS, "a class or a mask's name that tells the patient")
    findings = () if release.options.people is None else release.options.people.labels
    if findings and pool.call(paths.tell, list(findings), data):
        raise Refused(Reason.LABELS, TELLING_FINDING)
    if metadata and pool.call(table.tells, metadata["cells"], data):
        raise Refused(Reason.LABELS, "a value of --table that tells the patient")


def _known(
    found: Found, sha256: str, data: bytes, release: Release, pool: WorkerPool
) -> tuple[str, ...] | None:
    """What a DICOM file says of people, for the search of all paths that are kept and of labels;
    also of one that is refused, ANYBODY of one that no worker gets through. None for another file.
    """
    searched = release.labels.sources or not release.naming.hashed
    if not searched or not formats.is_dicom(found.path, data):
        return None
    entry = release.journal.entries.get(found.path)
    if sha256 and entry is not None and entry.sha256 == sha256 and entry.known is not None:
        return tuple(entry.known)
    try:
        return tuple(sorted(pool.call(people.in_header, data)))
    except Refused:
        return (people.ANYBODY,)


def _is_done(found: Found, sha256: str, job: Job | None, release: Release) -> bool:
    """True where what was made of this very file with these very labels is there, or somebody sent
    it to quarantine."""
    journal = release.journal
    entry = journal.entries.get(found.path)
    if entry is None or entry.sha256 != sha256:
        return False
    if entry.reason == Reason.REVIEW.value:
        return bool(entry.reviewed)
    if not entry.reviewed and journal.entries.is_rejected(sha256):
        return False  # of the very same file at another path
    labelled = account.is_of(entry.labels, release.labels, found.path, job)
    return labelled and journal.intact(entry)


def contents(
    found: Found, places: Places, pool: WorkerPool
) -> tuple[bytes, os.stat_result | State]:
    """The bytes of a file or of an archive's entry, and the state of what holds them. Raises
    Refused, of a file that is too large or did not stand still ``storage.Partial``."""
    if places.objects is not None:
        return places.objects.read(found.path)
    try:
        if found.member is None:
            return _file(places.root / found.path, places.root)
        packed, status = archives.packed(places.root, found.member)
    except FileNotFoundError:
        raise Refused(Reason.VANISHED) from None
    except storage.NotRegularError:
        raise Refused(Reason.NOT_A_REGULAR_FILE) from None
    except OSError as error:
        link = error.errno in (errno.ELOOP, errno.ENOTDIR)  # what a link on the way gives
        reason = Reason.SYMLINK if link else Reason.UNREADABLE
        raise Refused(reason, type(error).__name__) from None
    return pool.call(archives.inflated, packed, found.member), status


def _file(path: Path, root: Path) -> tuple[bytes, os.stat_result]:
    """A file's bytes and its state, which did not change meanwhile."""
    data, before = storage.read_regular(path, MAX_BYTES, root)
    after = path.lstat()
    same = ("st_ino", "st_size", "st_mtime_ns")
    if len(data) > MAX_BYTES:
        raise storage.Partial(Reason.TOO_LARGE, data)
    if len(data) != after.st_size or any(getattr(before, k) != getattr(after, k) for k in same):
        raise storage.Partial(Reason.CHANGING, data)
    return data, after
