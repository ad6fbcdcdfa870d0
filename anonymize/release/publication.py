"""An anonymized radiograph → a verified file under OUT and its entry in the journal."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

from anonymize.release import isolated, storage
from anonymize.release.batches import Moved
from anonymize.release.burned_in.policy import TextOptions
from anonymize.release.crew import Crew
from anonymize.release.intake import Specimen, unexpected
from anonymize.release.ledger import Entry, Ledger
from anonymize.release.places import Places
from anonymize.release.reasons import Refused


@dataclass(frozen=True)
class Staged:
    """A verified file under a temporary name, and the entry that it will have."""

    temporary: Path
    entry: Entry


def stage(
    specimen: Specimen, moved: Moved, output: str, places: Places, crew: Crew, text: TextOptions
) -> Staged:
    """Writes what was made of ``specimen`` beside its place, and looks at every byte of it.

    Raises:
        Refused: the file is not exactly what was meant, or shows the input's pixels, or text.
        StorageError: OUT cannot be written.
        CrewError: no worker can be started.
    """
    made, original = moved.radiograph, specimen.radiograph
    data = crew.call(isolated.encode, made)
    with storage.device_errors():
        temporary = storage.write_temporary((places.out / output).parent, data)
    try:
        with storage.device_errors():
            again = temporary.read_bytes()
        ssim = crew.call(isolated.verify, again, made, original, specimen.words, text)
    except BaseException:
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
    )
    return Staged(temporary, entry)


def settle(specimen: Specimen, outcome: Staged | Refused, ledger: Ledger) -> Entry:
    """Journals the outcome, then makes OUT agree with it; gives the entry that counts.

    Raises:
        StorageError: OUT or the journal cannot be written.
    """
    out = ledger.places.out
    previous = ledger.entries.get(specimen.path)
    with storage.device_errors():
        if isinstance(outcome, Staged):
            path = out / outcome.entry.output
            try:
                if previous and previous.released and previous.output != outcome.entry.output:
                    storage.remove(out / previous.output)
                ledger.record(outcome.entry)
                storage.publish(outcome.temporary, path)
                return outcome.entry
            except OSError as error:
                if error.errno in storage.DEVICE_ERRORS:
                    raise
                storage.remove(outcome.temporary)
                outcome = unexpected(error)
        # The old output of an input that is refused now must go before the journal says so.
        if previous and previous.released:
            storage.remove(out / previous.output)
        entry = specimen.refused(outcome)
        ledger.record(entry)
        return entry
