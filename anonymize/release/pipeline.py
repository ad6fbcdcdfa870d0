"""A release from beginning to end: check, look, anonymize, verify, publish, account.

Files are read and written by threads; each hands what is in them to a worker process that may
fail. The network and the warp run in one thread, file by file in the order of their paths, so that
the number of workers changes nothing but the time.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from anonymize.anonymizer import Anonymizer
from anonymize.release import storage
from anonymize.release.anonymization import anonymize_all
from anonymize.release.archives import Found
from anonymize.release.burned_in import reader
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.intake import Candidate, read_candidate
from anonymize.release.labels import account
from anonymize.release.labels.carry import TOLD, carry
from anonymize.release.machines import shards
from anonymize.release.machines.object_store import Objects
from anonymize.release.machines.shards import Finished
from anonymize.release.metadata import written
from anonymize.release.method import Method
from anonymize.release.options import Progress, ReleaseOptions
from anonymize.release.places import Places
from anonymize.release.preparation import Release, prepare
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records import facts
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import PRECISION
from anonymize.release.records.tables import Tables
from anonymize.release.sets import whose
from anonymize.release.sets.pipeline import release_set
from anonymize.release.sets.spool import Spooled
from anonymize.release.staging import publish, stage
from anonymize.release.summary import Planned, Summary, Told, of_reasons
from anonymize.release.workers import worker_pool
from anonymize.release.workers.worker_pool import WorkerPool
from anonymize.set_anonymizer import SetAnonymizer

NOISE = b"anonymize release, version 1"


def apply(
    source: Path | Objects,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions | None = None,
    *,
    progress: Progress = lambda done, total: None,
) -> Summary:
    """Releases every radiograph under ``source`` to ``out``, anonymized; resumes what was begun. A
    :class:`SetAnonymizer` gives other files, each of several people (:mod:`sets.pipeline`).

    Args:
        options: by default as ``anonymize apply`` has them: text that is burned in is removed where
            the extra ``ocr`` is installed.
        progress: called with the number of files done, and of all.

    Raises:
        UsageError: nothing was touched: a model that changes nothing, folders in one another, an
            OUT of something else.
        StorageError: OUT or the private folder cannot be written; the same call resumes.
        WorkerPoolError: no worker process can be started; the same call resumes.
    """
    options = options or _usual()
    with _pool(options) as pool:
        prepared = prepare(source, out, model, options, pool)
        model = prepared.model
        # The pool ends first: whoever still writes for it fails before the journal sweeps.
        with prepared.opened() as release, closing(pool):
            if isinstance(model, SetAnonymizer):
                return release_set(release, prepared.places, model, pool, progress)
            with storage.device_errors():
                account.refuse_other_columns(release.labels, _kept_labels(release))
                facts.begin(release.places)
                storage.remove(release.places.private / shards.FILE)
                release.journal.account_for_vanished(release.files)
            counts = release_files(release, model, pool, progress)
            finish(release, model, release.files)
    return _summary(counts, release, prepared.places, model)


def _kept_labels(release: Release) -> Iterator[dict[str, Any] | None]:
    """Those in the journal that no call carries over anew."""
    for entry in release.journal.entries if release.labels.tables else ():
        if entry.files and (
            entry.reason == Reason.REVIEW.value or entry.input not in release.files
        ):
            yield entry.labels


def release_files(
    release: Release,
    model: Anonymizer,
    pool: WorkerPool,
    progress: Progress = lambda done, total: None,
) -> Counter[str]:
    """Takes every file of a release that is open to its place under OUT; counts what became of
    them: "anonymized", "already done", or the code of a reason. Raises StorageError,
    WorkerPoolError: as :func:`apply`."""
    options, secret = release.options, release.naming.secret
    assert secret is not None  # this release is open
    # Equal pictures get equal outputs in every call: different ones could be averaged.
    model = model.keyed(hmac.digest(secret, NOISE, "sha256"))
    with storage.device_errors():
        facts.begin(release.places)
    reads = (partial(read_candidate, found, release, pool) for found in release.files)
    most = options.limits.memory // 2  # for each of the queues, before and behind the network
    candidates = pool.in_order(
        reads,
        window=options.workers + options.batch_size,
        weight=lambda candidate: candidate.memory,
        most=most,
    )
    outcomes = anonymize_all(candidates, model, options, pool)
    stages = (partial(stage, *outcome, release, pool) for outcome in outcomes)
    counts: Counter[str] = Counter()
    before: set[str] = set()  # inputs that were done
    written = pool.in_order(
        stages, window=options.workers, weight=lambda staged: staged[0].memory, most=most
    )
    for candidate, staged in written:
        if candidate.done:
            entry = release.journal.entries[candidate.path]
            code = entry.reason or "already done"
            before.add(candidate.path)
            with storage.device_errors():
                release.journal.record(replace(entry, known=candidate.entry.known))
        else:
            assert staged is not None
            code = publish(candidate, staged, release.journal).reason or "anonymized"
        counts[code] += 1
        progress(counts.total(), len(release.files))
    with storage.device_errors():
        for entry in release.journal.withdraw_telling(searched=options.paths_searched):
            if entry.input in release.files:
                made = "already done" if entry.input in before else "anonymized"
                counts[entry.reason or made] -= 1
                counts[release.journal.entries[entry.input].reason] += 1
    return counts


def finish(release: Release, model: Anonymizer, inputs: Container[str]) -> None:
    """Writes the tables of a release that is open; those of ``inputs`` that were refused are
    listed. Of a shard those that are private, and that it is finished. Raises StorageError where
    they cannot be written."""
    journal, shard = release.journal, release.options.shard
    with storage.device_errors():
        tables = Tables.of(journal, inputs, release.labels, Method.of(model))
        if shard is None:
            signed = facts.begin(release.places) or release.options.sign
            Facts(tables, str(release.naming.file), signed).publish(journal, release.naming)
            return
        facts.write_lists(release.places, tables.made(journal)[1])
        finished = Finished(
            str(shard),
            *release.whole,
            inputs=len(release.files),
            gone=tuple(sorted(tables.gone)),
            method=tables.method,
            evidence=_evidence(release, model),
            paths_searched=release.options.paths_searched,
            precision=journal.header.get(PRECISION, "unknown"),
        )
        finished.write(release.places.private)


def about(release: Release, model: Anonymizer) -> Told:
    """What is to be said of a release beside its counts."""
    evidence, text = _evidence(release, model), release.options.text.mode
    return Told.of(release.journal.entries, evidence=evidence, text=text)


def _evidence(release: Release, model: Anonymizer) -> str:
    return model.evidence + ("" if release.options.labels.spare is None else f"; {TOLD}")


def _usual() -> ReleaseOptions:
    return ReleaseOptions(text=TextOptions(reader.usual_mode()))


def _pool(options: ReleaseOptions) -> WorkerPool:
    """The workers of ``options.engine``. Raises UsageError where there is no such cluster."""
    if options.engine == "ray":
        from anonymize.release.workers.ray_pool import RayPool

        return RayPool(options.workers, options.limits, options.address)
    return worker_pool.WorkerPool(options.workers, options.limits)


def _summary(counts: Counter[str], release: Release, places: Places, model: Anonymizer) -> Summary:
    entries, inputs, options = release.journal.entries, release.files, release.options
    rows = release.rows
    told = None if rows is None else written.summary(rows.columns, rows.total, entries.released())
    summary = Summary(
        inputs=len(release.files),
        anonymized=counts["anonymized"],
        already_done=counts["already done"],
        **of_reasons(counts),
        input_gone=sum(e.input not in inputs for e in entries.released()),
        out=str(places.out),
        private=str(places.private),
        method=model.name,
        model_sha256=model.fingerprint,
        mu=model.mu,
        shard="" if options.shard is None else str(options.shard),
        names="hashed" if release.naming.hashed else "keep",
        telling=sum(1 for _ in release.journal.telling()),
        **vars(about(release, model)),
        labels=account.summary(release.labels, {e.input for e in entries.refused()}),
        metadata=told,
    )
    accounted = summary.anonymized + summary.already_done + summary.quarantined + summary.left_out
    if accounted != summary.inputs:
        raise RuntimeError(f"{summary.inputs} files were listed, {accounted} accounted for")
    return summary


def plan(
    source: Path | Objects,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions | None = None,
    *,
    progress: Progress = lambda done, total: None,
) -> list[Planned]:
    """What :func:`apply` would do. Every file is decoded, nothing is written.

    Only what the method and the encoders do is not tried: an image may still be refused as
    "unchanged", "invalid-result", "verification", "not-grouped", or for text that is left in it.

    Raises UsageError, WorkerPoolError: as ``apply``."""
    options = options or _usual()
    with _pool(options) as pool:
        release = prepare(source, out, model, options, pool)
        release.tell(release.journal)
        reads = (partial(_read, found, release, pool) for found in release.files)
        planned, seen = [], []
        for candidate in pool.in_order(reads, window=options.workers):
            release.journal.entries.know(candidate.known or ())
            action, reason = "anonymize", ""
            if candidate.done:
                reason = release.journal.entries[candidate.path].reason
                action = "quarantine" if reason else "done"
            elif candidate.refusal:
                reason = candidate.refusal.reason.value
                action = "leave out" if candidate.refusal.reason.left_out else "quarantine"
            elif isinstance(model, SetAnonymizer):
                seen.append(Spooled.of(candidate))
            elif options.strict and model.unfit(*candidate.shape):
                action, reason = "quarantine", Reason.UNFIT_SIZE.value
            planned.append(Planned(candidate.path, action, reason))
            progress(len(planned), len(release.files))
    unknown = whose.known(seen, options.people, release.deidentifier.secret)[1] if seen else {}
    why = {path: refusal.reason for path, refusal in unknown.items()}
    if options.paths_searched and not release.naming.hashed:
        told = (p.input for p in planned if p.action in ("anonymize", "done"))
        why |= {p: Reason.IDENTIFYING_NAME for p in told if release.journal.entries.tell(p)}
    return [
        replace(p, action="quarantine", reason=why[p.input].value) if p.input in why else p
        for p in planned
    ]


def _read(found: Found, release: Release, pool: WorkerPool) -> Candidate:
    """A candidate whose labels can be carried over, as far as that is known without a warp."""
    candidate = read_candidate(found, release, pool)
    if candidate.radiograph is None or candidate.labels is None:
        return candidate
    try:
        pool.call(carry, candidate.labels, None, candidate.radiograph, release.options.text)
    except Refused as refusal:
        return replace(candidate, radiograph=None, refusal=refusal)
    return candidate
