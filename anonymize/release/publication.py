"""An anonymized radiograph → a verified file under OUT and its entry in the journal."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anonymize import flow
from anonymize.release import isolated, storage
from anonymize.release.batches import Moved
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.crew import Crew
from anonymize.release.intake import Specimen, unexpected
from anonymize.release.labels import account
from anonymize.release.labels.carry import carry
from anonymize.release.labels.collect import Labels
from anonymize.release.ledger import Entry, Ledger
from anonymize.release.places import Places
from anonymize.release.reasons import Refused


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
    specimen: Specimen,
    moved: Moved,
    output: str,
    places: Places,
    crew: Crew,
    text: TextOptions,
    labels: Labels,
) -> Staged:
    """Writes what was made of ``specimen`` beside its place, and looks at every byte of it.

    Raises:
        Refused: the file is not exactly what was meant, or shows the input's pixels, or text; or
            its labels cannot be carried over.
        StorageError: OUT cannot be written.
        CrewError: no worker can be started.
    """
    made, original = moved.radiograph, specimen.radiograph
    share, masks = _labels(specimen, moved, output, crew, labels)
    data = crew.call(isolated.encode, made)
    written: list[Path] = []
    try:
        with storage.device_errors():
            for path, content in ((output, data), *masks.items()):
                written.append(storage.write_temporary((places.out / path).parent, content))
            again = written[0].read_bytes()
        ssim = crew.call(isolated.verify, again, made, original, specimen.words, text)
    except BaseException:
        for temporary in written:
            temporary.unlink(missing_ok=True)
        raise
    regions = None if specimen.text is None else specimen.text.regions
    entry = Entry(
        specimen.path,
        size=specimen.size,
        mtime_ns=specimen.mtime_ns,
        sha256=specimen.sha256,
        output=output,
        output_sha256=hashlib.sha256(again).hexdigest(),
        note=specimen.note,
        figures={**asdict(moved.figures), "ssim": ssim, "text_regions": regions},
        labels=share,
    )
    return Staged(written[0], entry, dict(zip(written[1:], masks, strict=True)))


def _labels(
    specimen: Specimen, moved: Moved, output: str, crew: Crew, labels: Labels
) -> tuple[dict[str, Any] | None, dict[str, bytes]]:
    """The labels' part of the entry, and mask files by their path under OUT."""
    job, image = specimen.labels, specimen.radiograph
    if job is None:
        return None, {}
    field = moved.displacement
    if field is not None:
        field = flow.pixels(field)[0].numpy()
    height, width = image.pixels.shape[:2]
    carried = crew.call(carry, job, field, (width, height), image.turned)
    share, masks = account.share(labels, job, carried, output)
    return asdict(share), masks


def settle(specimen: Specimen, outcome: Staged | Refused, ledger: Ledger) -> Entry:
    """Journals the outcome, then makes OUT agree with it; gives the entry that counts.

    Raises:
        StorageError: OUT or the journal cannot be written.
    """
    out = ledger.places.out
    previous = ledger.entries.get(specimen.path)
    before = {} if previous is None else previous.outputs
    with storage.device_errors():
        if isinstance(outcome, Staged):
            try:
                for path in before.keys() - outcome.entry.outputs.keys():
                    storage.remove(out / path)
                ledger.record(outcome.entry)
                for temporary, path in outcome.masks.items():
                    storage.publish(temporary, out / path)
                storage.publish(outcome.temporary, out / outcome.entry.output)
                return outcome.entry
            except OSError as error:
                if error.errno in storage.DEVICE_ERRORS:
                    raise
                outcome.discard()
                before |= outcome.entry.outputs
                outcome = unexpected(error)
        # The old outputs of an input that is refused now must go before the journal says so.
        for path in before:
            storage.remove(out / path)
        entry = specimen.refused(outcome)
        ledger.record(entry)
        return entry
