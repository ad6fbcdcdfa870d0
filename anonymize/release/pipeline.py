"""A release from beginning to end: check, look, anonymize, verify, publish, account.

Files are read and written by threads; each hands what is in them to a worker process that may
fail. The network and the warp run in one thread, file by file in the order of their paths, so that
the number of workers changes nothing but the time.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.key_files import SECRET_BYTES
from anonymize.release import storage
from anonymize.release.batches import Moved, anonymized
from anonymize.release.crew import Crew, CrewError, Limits
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.intake import Specimen, take, unexpected
from anonymize.release.ledger import Ledger
from anonymize.release.names import Naming, find_naming
from anonymize.release.places import Found, Places, find_places, scan
from anonymize.release.publication import Staged, settle, stage
from anonymize.release.reasons import Reason, Refused

VERSION = 1
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Summary:
    """What became of the inputs: inputs = anonymized + already_done + quarantined + left_out.

    ``input_gone`` counts outputs of earlier calls whose input was removed since; they stay.
    """

    inputs: int
    anonymized: int
    already_done: int
    quarantined: int
    left_out: int
    input_gone: int
    reasons: dict[str, int]
    out: str
    private: str
    method: str
    model_sha256: str
    mu: float | None

    @property
    def complete(self) -> bool:
        """True where every radiograph is released, and there is at least one."""
        return not self.quarantined and self.anonymized + self.already_done > 0


@dataclass(frozen=True)
class Planned:
    """What would happen to one file: "anonymize", "done", "quarantine" or "leave out"."""

    input: str
    action: str
    reason: str = ""


def apply(
    source: Path,
    out: Path,
    model: Anonymizer,
    *,
    private: Path | None = None,
    names: str = "keep",
    key_file: Path | None = None,
    workers: int = 1,
    batch_size: int = 1,
    device: torch.device | str = "cpu",
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    dicom: DicomOptions = DicomOptions(),  # noqa: B008 (frozen)
    progress: Progress = lambda done, total: None,
) -> Summary:
    """Releases every radiograph under ``source`` to ``out``, anonymized; resumes what was begun.

    Args:
        private: folder (0700) for the map, the journal and the quarantine list; by default
            ``out`` with "-private" behind it.
        names: "keep" the relative paths, or "hashed" with the secret.
        key_file: the secret of names and DICOM pseudonyms, created where it does not exist; by
            default in ``private``.
        workers: processes that decode, encode and check, and threads that read and write.
        batch_size: consecutive images of one size that the network sees at once.
        limits: what decoding, encoding or checking one file may take.
        dicom: what of DICOM headers is retained, and how pixels are written.
        progress: called with the number of files done, and of all.

    Raises:
        UsageError: nothing was touched: a model that changes nothing, folders in one another, an
            OUT of something else.
        StorageError: OUT or ``private`` cannot be written; the same call resumes.
        CrewError: no worker process can be started; the same call resumes.
    """
    files, places, naming, _ = _prepare(source, out, model, private, names, key_file, dicom)
    inputs = {f.path for f in files}
    model.to(device)
    with storage.device_errors():
        storage.make_folders(places.out)
        storage.make_folders(places.private)
    with storage.exclusive(places.out), storage.exclusive(places.private):
        places.private.chmod(0o700)
        with storage.device_errors():
            naming = naming.with_secret()
            # Read anew: another run may have ended between the check and the lock.
            ledger = Ledger(places, _header(places, naming, model, dicom))
            ledger.open()
        rules = Deidentifier(naming.secret, dicom, names_kept=not naming.hashed)
        pool, crew = ThreadPoolExecutor(workers), Crew(workers, limits)
        try:
            with storage.device_errors():
                ledger.account_for_vanished(inputs)
            reads = (partial(pool.submit, take, f, places, ledger, crew, rules) for f in files)
            taken = _ahead(reads, window=workers + batch_size)
            moved = anonymized(taken, model, batch_size=batch_size, device=device)
            writes = (partial(_staged, pool, crew, *item, naming, places) for item in moved)
            counts: Counter[str] = Counter()
            for specimen, outcome in _ahead(writes, window=workers):
                if specimen.done:
                    counts["already done"] += 1
                else:
                    counts[settle(specimen, outcome, ledger).reason or "anonymized"] += 1
                progress(counts.total(), len(files))
            with storage.device_errors():
                input_gone = ledger.without_input(inputs)
                ledger.write_tables(
                    inputs, method=model.name, model_sha256=model.fingerprint, mu=model.mu
                )
        finally:
            crew.close()
            pool.shutdown(cancel_futures=True)
            ledger.close()
    return _summary(counts, len(files), input_gone, places, model)


def plan(
    source: Path,
    out: Path,
    model: Anonymizer,
    *,
    private: Path | None = None,
    names: str = "keep",
    key_file: Path | None = None,
    workers: int = 1,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    dicom: DicomOptions = DicomOptions(),  # noqa: B008 (frozen)
    progress: Progress = lambda done, total: None,
) -> list[Planned]:
    """What :func:`apply` would do with each file. Every file is decoded, nothing is written.

    Only what the method and the encoders do is not tried: an image may still be refused as
    "unchanged", "invalid-result" or "verification".

    Raises:
        UsageError, CrewError: as ``apply``.
    """
    files, places, naming, ledger = _prepare(source, out, model, private, names, key_file, dicom)
    secret = naming.secret or os.urandom(SECRET_BYTES)  # nothing that it makes is kept
    rules = Deidentifier(secret, dicom, names_kept=not naming.hashed)
    planned = []
    with Crew(workers, limits) as crew, ThreadPoolExecutor(workers) as pool:
        reads = (partial(pool.submit, take, f, places, ledger, crew, rules) for f in files)
        for specimen in _ahead(reads, window=workers):
            action, reason = "anonymize", ""
            if specimen.done:
                action = "done"
            elif specimen.refusal:
                reason = specimen.refusal.reason.value
                action = "leave out" if specimen.refusal.reason.left_out else "quarantine"
            planned.append(Planned(specimen.path, action, reason))
            progress(len(planned), len(files))
    return planned


def _prepare(
    source: Path,
    out: Path,
    model: Anonymizer,
    private: Path | None,
    names: str,
    key_file: Path | None,
    dicom: DicomOptions,
) -> tuple[list[Found], Places, Naming, Ledger]:
    """All that can be refused before anything is written."""
    if model.changes_nothing or model.mu == 0:
        raise UsageError(
            f"the method {model.name} changes nothing (identity, or mu = 0): its output would be "
            "the real images; use a model with mu > 0 (`anonymize train --mu 0.01`)"
        )
    if model.noise_is_known:
        raise UsageError(
            f"the noise of {model.name} follows from its seed: whoever knows it takes the noise "
            "off again; leave the seed out"
        )
    places = find_places(source, out, private)
    folders = {"IN": places.source, "OUT": places.out}
    naming = find_naming(names, key_file, folders=folders, private=places.private)
    ledger = Ledger(places, _header(places, naming, model, dicom))
    files = scan(places)
    if not files:
        raise UsageError("IN holds no files; give the folder that holds the radiographs")
    return files, places, naming, ledger


def _header(
    places: Places, naming: Naming, model: Anonymizer, dicom: DicomOptions
) -> dict[str, Any]:
    return {
        "release": VERSION,
        "in": str(places.source),
        "out": str(places.out),
        "names": "hashed" if naming.hashed else "keep",
        "key": naming.key_id,
        "dicom": dicom.plain,
        "method": model.name,
        "options": model.options,
        "model_sha256": model.fingerprint,
    }


def _ahead(submissions: Iterable[Callable[[], Future]], *, window: int) -> Iterator[Any]:
    """Results in order, while at most ``window`` further ones are under way."""
    pending: deque[Future] = deque()
    for submit in submissions:
        pending.append(submit())
        if len(pending) > window:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _staged(
    pool: ThreadPoolExecutor,
    crew: Crew,
    specimen: Specimen,
    outcome: Moved | Refused | None,
    naming: Naming,
    places: Places,
) -> Future:
    """A future of the specimen and what became of it."""

    def attempt() -> tuple[Specimen, Staged | Refused | None]:
        if not isinstance(outcome, Moved):
            return specimen, outcome
        try:
            output = naming.name(specimen.path, specimen.radiograph.format)
            return specimen, stage(specimen, outcome, output, places, crew)
        except Refused as refusal:
            return specimen, refusal
        except (storage.StorageError, CrewError):
            raise
        except Exception as error:
            return specimen, unexpected(error)

    return pool.submit(attempt)


def _summary(
    counts: Counter[str], inputs: int, input_gone: int, places: Places, model: Anonymizer
) -> Summary:
    reasons = {r.value: counts[r.value] for r in Reason if counts[r.value]}
    left_out = sum(counts[r.value] for r in Reason if r.left_out)
    summary = Summary(
        inputs=inputs,
        anonymized=counts["anonymized"],
        already_done=counts["already done"],
        quarantined=sum(reasons.values()) - left_out,
        left_out=left_out,
        input_gone=input_gone,
        reasons=reasons,
        out=str(places.out),
        private=str(places.private),
        method=model.name,
        model_sha256=model.fingerprint,
        mu=model.mu,
    )
    accounted = summary.anonymized + summary.already_done + summary.quarantined + summary.left_out
    if accounted != inputs:
        raise RuntimeError(f"{inputs} files were listed and {accounted} accounted for")
    return summary
