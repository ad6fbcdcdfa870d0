"""One output of several images → a verified file beside its place under OUT."""

import hashlib
from dataclasses import replace

import numpy as np

from anonymize.release import encode, storage
from anonymize.release.burned_in.options import TextReport
from anonymize.release.checking import verification
from anonymize.release.decode import said
from anonymize.release.intake import Candidate
from anonymize.release.preparation import Release
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Refused
from anonymize.release.sets.mixing import Mixed, Output
from anonymize.release.sets.spool import TOP, Spool
from anonymize.release.staging import Staged, attempted, begun
from anonymize.release.uniform import of_gray
from anonymize.release.workers.worker_pool import WorkerPool

MOST_REGIONS = 999  # that a file says were filled


def stage(
    output: Output, mixed: Mixed, spool: Spool, release: Release, pool: WorkerPool
) -> tuple[Candidate, Staged | Refused | None]:
    """Writes an output, and gives it as a candidate of its own; None: it is there from before.

    Raises:
        StorageError: OUT cannot be written.
        WorkerPoolError: no worker can be started.
    """
    candidate = Candidate(output.name)
    entry = release.journal.entries.get(output.name)
    if release.journal.intact(entry) or (entry is not None and entry.reviewed and entry.reason):
        return candidate, None  # somebody sent it to quarantine
    return candidate, attempted(_write, candidate, output, mixed, spool, release, pool)


def _write(
    candidate: Candidate,
    output: Output,
    mixed: Mixed,
    spool: Spool,
    release: Release,
    pool: WorkerPool,
) -> Staged:
    """Raises Refused where the file is not exactly what was meant, or shows a member as it was."""
    options = release.options
    assert options.uniform is not None
    images = [mixed.images[row] for row in output.rows.tolist()]
    report = _report([image.text for image in images])
    made = of_gray(mixed.gray[output.place], options.uniform, output.name, release.deidentifier)
    if made.source is not None:
        made = replace(made, source=said(made.source, report))
    with storage.device_errors():
        members = [_member(spool.gray(image.path)) for image in images]
    data = pool.call(encode.encode, made)
    entry = begun(candidate, release)
    with storage.device_errors():
        temporary = storage.write_temporary(release.journal.folder(entry), data)
        again = temporary.read_bytes()
    words = frozenset().union(*(image.words for image in images))
    try:
        pool.call(verification.verify_mixed, again, made, members, words)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    entry = replace(
        entry,
        output=output.name,
        output_sha256=hashlib.sha256(again).hexdigest(),
        figures={"text_regions": None if report is None else report.regions},
    )
    return Staged(temporary, entry, {})


def _report(reports: list[TextReport | None]) -> TextReport | None:
    """What was done about text in all members together; None where nobody looked."""
    made = [report for report in reports if report is not None]
    if not made or len(made) < len(reports):
        return None
    regions = min(sum(report.regions for report in made), MOST_REGIONS)
    markers, filled = sum(r.side_markers for r in made), max(r.filled for r in made)
    return replace(made[0], regions=regions, side_markers=markers, filled=filled)


def _member(gray: np.ndarray) -> Radiograph:
    """A picture of the set as it would have been released alone."""
    pixels = np.round(gray * (255 / TOP)).astype(np.uint8)[..., None]
    return Radiograph("PNG", "gray", 8, pixels)
