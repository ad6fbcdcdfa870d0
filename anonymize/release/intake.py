"""One file under IN → Specimen: a radiograph, one that is released already, or a refusal.

The file is read here; what is in it is looked at by a worker (:mod:`isolated`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from anonymize.release import archives, formats, isolated, read, storage
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.burned_in.policy import TextReport
from anonymize.release.crew import Crew, CrewError
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.labels.carry import Job
from anonymize.release.labels.collect import Labels
from anonymize.release.ledger import Entry, Ledger
from anonymize.release.listing import Found
from anonymize.release.places import Places
from anonymize.release.read import Radiograph
from anonymize.release.reasons import Reason, Refused


@dataclass(frozen=True)
class Specimen:
    """A file that was looked at. Exactly one of radiograph, refusal and done is set."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    sha256: str = ""
    radiograph: Radiograph | None = None
    words: frozenset[bytes] = frozenset()  # that must not be found in the output
    text: TextReport | None = None  # what was done about burned-in text
    labels: Job | None = None
    refusal: Refused | None = None
    done: bool = False

    @property
    def note(self) -> str:
        """What the private map says of it."""
        format = self.radiograph.format if self.radiograph else ""
        wrong = format and formats.misnamed(self.path, format)
        return f"the content is {format}, other than the extension says" if wrong else ""

    def refused(self, refusal: Refused) -> Entry:
        """The journal's entry of a file that is not released."""
        return Entry(
            self.path,
            refusal.reason.value,
            refusal.detail,
            size=self.size,
            mtime_ns=self.mtime_ns,
            sha256=self.sha256,
        )


def unexpected(error: Exception) -> Refused:
    """The refusal for an error that nobody foresaw. Its text may quote the file: type only."""
    if isinstance(error, MemoryError):
        return Refused(Reason.MEMORY)
    return Refused(Reason.FAILED, type(error).__name__)


def take(
    found: Found,
    places: Places,
    ledger: Ledger,
    crew: Crew,
    deidentifier: Deidentifier,
    text: TextOptions,
    labels: Labels,
) -> Specimen:
    """Reads and decodes one file; never raises because of its content.

    Raises:
        CrewError: no worker can be started.
    """
    known = {}
    try:
        if found.refusal not in (None, Reason.NAME_COLLISION):
            raise Refused(found.refusal, found.detail)
        data, status = _bytes(found, places, crew)
        known = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
        known["sha256"] = hashlib.sha256(data).hexdigest()
        job = labels.job(found.path)
        if _is_done(ledger.entries.get(found.path), known["sha256"], job, ledger):
            return Specimen(found.path, **known, done=True)
        if found.refusal:
            formats.recognise(found.path, data)  # what is no image collides with nothing
            raise Refused(found.refusal)
        decoded = crew.call(isolated.decode, found.path, data, deidentifier, text)
        seen = {"radiograph": decoded.radiograph, "words": decoded.words, "text": decoded.text}
        return Specimen(found.path, **known, **seen, labels=job)
    except Refused as refusal:
        return Specimen(found.path, **known, refusal=refusal)
    except CrewError:
        raise
    except Exception as error:
        return Specimen(found.path, **known, refusal=unexpected(error))


def _is_done(entry: Entry | None, sha256: str, job: Job | None, ledger: Ledger) -> bool:
    """True where this very file was released with these very labels, and all of it is there."""
    if entry is None or entry.sha256 != sha256:
        return False
    labelled = (entry.labels or {}).get("key") == (None if job is None else job.key)
    return labelled and ledger.intact(entry)


def _bytes(found: Found, places: Places, crew: Crew) -> tuple[bytes, os.stat_result]:
    """The bytes of a file or of an archive's entry; the state of what holds them."""
    try:
        if found.member is None:
            return _file(places.root / found.path, places.root)
        packed, status = archives.packed(places.root, found.member)
    except FileNotFoundError:
        raise Refused(Reason.VANISHED) from None
    except OSError as error:
        link = error.errno in (errno.ELOOP, errno.ENOTDIR)  # what a link on the way gives
        reason = Reason.SYMLINK if link else Reason.UNREADABLE
        raise Refused(reason, type(error).__name__) from None
    return crew.call(archives.inflated, packed, found.member), status


def _file(path: Path, root: Path) -> tuple[bytes, os.stat_result]:
    """A file's bytes and its state, which did not change meanwhile."""

    opened = []

    def regular(status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise Refused(Reason.NOT_A_REGULAR_FILE)
        opened.append(status)

    data = storage.read_regular(path, read.MAX_BYTES, regular, root=root)
    [before], after = opened, path.lstat()
    same = ("st_ino", "st_size", "st_mtime_ns")
    if len(data) > read.MAX_BYTES:
        raise Refused(Reason.TOO_LARGE)
    if len(data) != after.st_size or any(getattr(before, k) != getattr(after, k) for k in same):
        raise Refused(Reason.CHANGING)
    return data, after
