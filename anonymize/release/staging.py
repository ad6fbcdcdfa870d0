"""An anonymized radiograph → a file beside its place under OUT, every byte of it looked at; then
it is journalled, and OUT made to agree with the journal.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from anonymize import flow
from anonymize.release import encode, movement, storage
from anonymize.release.anonymization import AnonymizedImage
from anonymize.release.checking import verification
from anonymize.release.formats import EXTENSIONS
from anonymize.release.intake import Candidate
from anonymize.release.labels import account
from anonymize.release.labels.carry import carry
from anonymize.release.preparation import Release
from anonymize.release.reasons import Reason, Refused, as_refusal
from anonymize.release.records.entries import Entry
from anonymize.release.records.journal import Journal
from anonymize.release.records.tables import sheet_of
from anonymize.release.storage import StorageError
from anonymize.release.workers.worker_pool import WorkerPool, WorkerPoolError


@dataclass(frozen=True)
class Staged:
    """A verified file under a temporary name, and the entry that it will have.

    ``masks`` are those that belong to it, each under a temporary name, and their paths under OUT.
    """

    temporary: Path
    entry: Entry
    masks: dict[Path, str]

    def discard(self) -> None:
        """Removes what was not published."""
        for temporary in (self.temporary, *self.masks):
            storage.remove(temporary)


def stage(
    candidate: Candidate,
    outcome: AnonymizedImage | Refused | None,
    release: Release,
    pool: WorkerPool,
) -> tuple[Candidate, Staged | Refused | None]:
    """Writes what was made of ``candidate``, and gives both; what was refused stays refused.

    Raises:
        StorageError: OUT cannot be written.
        WorkerPoolError: no worker can be started.
    """
    if not isinstance(outcome, AnonymizedImage):
        return candidate, outcome
    return candidate, attempted(_write, candidate, outcome, release, pool)


def attempted(write: Callable[..., Staged], *arguments: Any) -> Staged | Refused:
    """What ``write`` makes of an image, or why it makes nothing. Raises StorageError,
    WorkerPoolError: nothing can be made of any."""
    try:
        return write(*arguments)
    except (StorageError, WorkerPoolError):
        raise
    except Exception as error:
        return as_refusal(error)


def _write(
    candidate: Candidate, image: AnonymizedImage, release: Release, pool: WorkerPool
) -> Staged:
    """Raises Refused where the file is not exactly what was meant, or shows the input's pixels, or
    text; or where its labels cannot be carried over.
    """
    made, original = image.radiograph, candidate.radiograph
    assert original is not None
    output, note = release.naming.name(candidate.path, original.format), candidate.note
    if release.options.uniform is not None:
        output, note = PurePosixPath(output).stem + EXTENSIONS[original.format][0], ""
    share, masks = _labels(candidate, image, output, release, pool)
    entry = begun(candidate, release)
    data = pool.call(encode.encode, made)
    written: list[Path] = []
    try:
        with storage.device_errors():
            for path, content in ((output, data), *masks.items()):
                place = release.journal.folder(entry) / path
                written.append(storage.write_temporary(place.parent, content))
            again = written[0].read_bytes()
        expected = made, original, candidate.words, image.probe, release.options.text
        ssim = pool.call(verification.verify, again, *expected)
        if candidate.sheet is not None:
            with storage.device_errors():
                sheet = release.places.private / sheet_of(candidate.path)
                storage.write_whole(sheet, candidate.sheet, mode=0o600)
    except BaseException:
        for temporary in written:
            temporary.unlink(missing_ok=True)
        raise
    text = candidate.text
    lost = {
        "text_regions": None if text is None else text.regions,
        "text_filled": None if text is None else text.filled,
    }
    entry = replace(
        entry,
        output=output,
        output_sha256=hashlib.sha256(again).hexdigest(),
        note=note,
        figures={**asdict(image.figures), "ssim": ssim, **lost},
        labels=share,
        metadata=candidate.metadata,
        unfit=image.unfit,
        boxes=None if text is None else [list(box) for box in text.boxes],
        moved=movement.coarse(image.probe, made.pixels.shape[:2]),
    )
    return Staged(written[0], entry, dict(zip(written[1:], masks, strict=True)))


def begun(candidate: Candidate, release: Release) -> Entry:
    """The entry of what is made of ``candidate``, which waits where somebody is to look at it."""
    waits = Reason.UNREVIEWED.value if release.options.require_review else ""
    return replace(candidate.entry, reason=waits)


def _labels(
    candidate: Candidate, image: AnonymizedImage, output: str, release: Release, pool: WorkerPool
) -> tuple[dict[str, Any] | None, dict[str, bytes]]:
    """The labels' part of the entry, and mask files by their path under OUT."""
    job, moved = candidate.labels, image.displacement
    if job is None:
        return None, {}
    field = None if moved is None else flow.pixels(moved)[0].numpy()
    carried = pool.call(carry, job, field, candidate.radiograph, release.options.text)
    return account.share(release.labels, candidate.path, job, carried, output)


def publish(candidate: Candidate, outcome: Staged | Refused, journal: Journal) -> Entry:
    """Journals the outcome, then makes OUT agree with it; gives the entry that counts. Raises
    StorageError: OUT or the journal cannot be written."""
    previous = journal.entries.get(candidate.path)
    before = _places(previous, journal)
    with storage.device_errors():
        if isinstance(outcome, Staged):
            entry = outcome.entry
            try:
                for path in before - _places(entry, journal):
                    storage.remove(path)
                journal.record(entry)
                folder = journal.folder(entry)
                for temporary, mask in outcome.masks.items():
                    storage.publish(temporary, folder / mask)
                storage.publish(outcome.temporary, folder / entry.output)
                return entry
            except OSError as error:
                if error.errno in storage.DEVICE_ERRORS:
                    raise
                outcome.discard()
                before |= _places(entry, journal)
                outcome = as_refusal(error)
        # The old outputs of an input that is refused now must go before the journal says so.
        for path in before:
            storage.remove(path)
        entry = replace(candidate.entry, reason=outcome.reason.value, detail=outcome.detail)
        journal.record(entry)
        return entry


def _places(entry: Entry | None, journal: Journal) -> set[Path]:
    """Where the files of an entry are."""
    return set() if entry is None else {journal.folder(entry) / path for path in entry.files}
