"""A release from beginning to end: check, look, anonymize, verify, publish, account.

Files are read and written by threads; each hands what is in them to a worker process that may
fail. The network and the warp run in one thread, file by file in the order of their paths, so that
the number of workers changes nothing but the time.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from anonymize.anonymizer import Anonymizer
from anonymize.release import storage
from anonymize.release.ahead import Progress, ahead
from anonymize.release.batches import Moved, anonymized
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.crew import Crew, CrewError, hands
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.intake import Specimen, take, unexpected
from anonymize.release.labels import account
from anonymize.release.labels.account import LabelSummary
from anonymize.release.ledger import Ledger
from anonymize.release.options import ReleaseOptions
from anonymize.release.preparation import Prepared, prepare
from anonymize.release.publication import Staged, settle, stage
from anonymize.release.reasons import Reason, Refused


@dataclass(frozen=True)
class Summary:
    """What became of the inputs: inputs = anonymized + already_done + quarantined + left_out.

    ``input_gone`` counts outputs of earlier calls whose input was removed since; they stay.
    ``text`` is what was done about burned-in text, ``cleaned`` counts images that lost some.
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
    text: str = "keep"
    cleaned: int = 0
    labels: LabelSummary = field(default_factory=LabelSummary)

    @property
    def complete(self) -> bool:
        """True where every radiograph is released, and there is at least one."""
        return not self.quarantined and self.anonymized + self.already_done > 0


def apply(
    source: Path,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions | None = None,
    *,
    progress: Progress = lambda done, total: None,
) -> Summary:
    """Releases every radiograph under ``source`` to ``out``, anonymized; resumes what was begun.

    Args:
        progress: called with the number of files done, and of all.

    Raises:
        UsageError: nothing was touched: a model that changes nothing, folders in one another, an
            OUT of something else.
        StorageError: OUT or the private folder cannot be written; the same call resumes.
        CrewError: no worker process can be started; the same call resumes.
    """
    options = options or ReleaseOptions()
    workers, text = options.workers, options.text
    with hands(workers, options.limits) as (crew, threads):
        prepared = prepare(source, out, model, options, crew)
        places, inputs = prepared.places, prepared.inputs
        model.to(options.device)
        with storage.device_errors():
            storage.make_folders(places.out)
            storage.make_folders(places.private)
        with storage.exclusive(places.out), storage.exclusive(places.private):
            begun = prepared.begun()
            naming, ledger = begun.naming, begun.ledger
            try:
                rules = Deidentifier(naming.secret, options.dicom, names_kept=not naming.hashed)
                with storage.device_errors():
                    ledger.account_for_vanished(inputs)
                reads = (
                    partial(
                        threads.submit, take, f, places, ledger, crew, rules, text, begun.labels
                    )
                    for f in begun.files
                )
                taken = ahead(reads, window=workers + options.batch_size)
                moved = anonymized(
                    taken, model, batch_size=options.batch_size, device=options.device
                )
                writes = (partial(_staged, threads, crew, *item, begun, text) for item in moved)
                counts: Counter[str] = Counter()
                for specimen, outcome in ahead(writes, window=workers):
                    if specimen.done:
                        counts["already done"] += 1
                    else:
                        counts[settle(specimen, outcome, ledger).reason or "anonymized"] += 1
                    progress(counts.total(), len(begun.files))
                with storage.device_errors():
                    input_gone = ledger.without_input(inputs)
                    ledger.write_tables(
                        inputs,
                        begun.labels,
                        method=model.name,
                        model_sha256=model.fingerprint,
                        mu=model.mu,
                        compared=not model.is_differentially_private,
                    )
                    ledger.remove_empty_folders()
            finally:
                crew.close()  # whoever still writes for it fails, before the ledger sweeps
                threads.shutdown(cancel_futures=True)
                ledger.close()
    return _summary(counts, input_gone, begun, ledger, model, text)


def _staged(
    threads: ThreadPoolExecutor,
    crew: Crew,
    specimen: Specimen,
    outcome: Moved | Refused | None,
    begun: Prepared,
    text: TextOptions,
) -> Future:
    """A future of the specimen and what became of it."""

    def attempt() -> tuple[Specimen, Staged | Refused | None]:
        if not isinstance(outcome, Moved):
            return specimen, outcome
        try:
            output = begun.naming.name(specimen.path, specimen.radiograph.format)
            return specimen, stage(
                specimen, outcome, output, begun.places, crew, text, begun.labels
            )
        except Refused as refusal:
            return specimen, refusal
        except (storage.StorageError, CrewError):
            raise
        except Exception as error:
            return specimen, unexpected(error)

    return threads.submit(attempt)


def _summary(
    counts: Counter[str],
    input_gone: int,
    begun: Prepared,
    ledger: Ledger,
    model: Anonymizer,
    text: TextOptions,
) -> Summary:
    reasons = {r.value: counts[r.value] for r in Reason if counts[r.value]}
    left_out = sum(counts[r.value] for r in Reason if r.left_out)
    summary = Summary(
        inputs=len(begun.files),
        anonymized=counts["anonymized"],
        already_done=counts["already done"],
        quarantined=sum(reasons.values()) - left_out,
        left_out=left_out,
        input_gone=input_gone,
        reasons=reasons,
        out=str(begun.places.out),
        private=str(begun.places.private),
        method=model.name,
        model_sha256=model.fingerprint,
        mu=model.mu,
        text=text.mode,
        cleaned=sum(bool((e.figures or {}).get("text_regions")) for e in ledger.entries.values()),
        labels=account.summary(
            begun.labels, {e.input for e in ledger.entries.values() if e.reason}
        ),
    )
    accounted = summary.anonymized + summary.already_done + summary.quarantined + summary.left_out
    if accounted != summary.inputs:
        raise RuntimeError(f"{summary.inputs} files were listed, {accounted} accounted for")
    return summary
