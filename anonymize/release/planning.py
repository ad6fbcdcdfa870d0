"""What a release would do with each file, before it does anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anonymize.anonymizer import Anonymizer
from anonymize.release import worker_pool
from anonymize.release.intake import Candidate, read_candidate
from anonymize.release.labels.carry import carry
from anonymize.release.listing import Found
from anonymize.release.options import Progress, ReleaseOptions
from anonymize.release.preparation import Release, prepare
from anonymize.release.reasons import Refused
from anonymize.release.worker_pool import WorkerPool


@dataclass(frozen=True)
class Planned:
    """What would happen to one file: "anonymize", "done", "quarantine" or "leave out"."""

    input: str
    action: str
    reason: str = ""


def plan(
    source: Path,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions | None = None,
    *,
    progress: Progress = lambda done, total: None,
) -> list[Planned]:
    """What :func:`pipeline.apply` would do. Every file is decoded, nothing is written.

    Only what the method and the encoders do is not tried: an image may still be refused as
    "unchanged", "invalid-result", "verification", or for text that is left in it.

    Raises:
        UsageError, WorkerPoolError: as ``apply``.
    """
    options = options or ReleaseOptions()
    with worker_pool.WorkerPool(options.workers, options.limits) as pool:
        release = prepare(source, out, model, options, pool)
        reads = (partial(_read, found, release, pool) for found in release.files)
        planned = []
        for candidate in pool.in_order(reads, window=options.workers):
            action, reason = "anonymize", ""
            if candidate.done:
                action = "done"
            elif candidate.refusal:
                reason = candidate.refusal.reason.value
                action = "leave out" if candidate.refusal.reason.left_out else "quarantine"
            planned.append(Planned(candidate.path, action, reason))
            progress(len(planned), len(release.files))
    return planned


def _read(found: Found, release: Release, pool: WorkerPool) -> Candidate:
    """A candidate whose labels can be carried over, as far as that is known without a warp."""
    candidate = read_candidate(found, release, pool)
    if candidate.radiograph is None or candidate.labels is None:
        return candidate
    try:
        pool.call(carry, candidate.labels, None, candidate.radiograph)
    except Refused as refusal:
        return replace(candidate, radiograph=None, refusal=refusal)
    return candidate
