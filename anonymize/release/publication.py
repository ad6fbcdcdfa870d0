"""An anonymized radiograph → a verified file under OUT and its entry in the journal."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from skimage.metrics import structural_similarity

from anonymize.release import containers, read, storage, write
from anonymize.release.batches import Moved
from anonymize.release.containers import ContainerError
from anonymize.release.intake import Specimen, unexpected
from anonymize.release.ledger import Entry, Ledger
from anonymize.release.places import Places
from anonymize.release.read import Radiograph
from anonymize.release.reasons import Reason, Refused

# A JPEG's pixels differ from what was meant; by more than this mean it is another picture.
JPEG_TOLERANCE = 32


@dataclass(frozen=True)
class Staged:
    """A verified file under a temporary name, and the entry that it will have."""

    temporary: Path
    entry: Entry


def stage(specimen: Specimen, moved: Moved, output: str, places: Places) -> Staged:
    """Writes what was made of ``specimen`` beside its place, and looks at every byte of it.

    Raises:
        Refused: the file is not exactly what was meant, or shows the input's pixels.
        StorageError: OUT cannot be written.
    """
    meant = write.representable(moved.radiograph)
    data = write.encode(meant)
    with storage.device_errors():
        temporary = storage.write_temporary((places.out / output).parent, data)
    try:
        again = temporary.read_bytes()
        released = verify(again, meant=meant, original=specimen.radiograph)
        ssim = structural_similarity(specimen.radiograph.gray(), released.gray(), data_range=1.0)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    entry = Entry(
        specimen.path,
        size=specimen.size,
        mtime_ns=specimen.mtime_ns,
        sha256=specimen.sha256,
        output=output,
        output_sha256=hashlib.sha256(again).hexdigest(),
        note=specimen.note,
        figures={**asdict(moved.figures), "ssim": float(ssim)},
    )
    return Staged(temporary, entry)


def verify(data: bytes, *, meant: Radiograph, original: Radiograph) -> Radiograph:
    """The radiograph in the finished file ``data``.

    Raises:
        Refused: anything in it besides pixels, another kind, size or pixels than ``meant``, or
            the pixels of ``original``.
    """
    try:
        containers.check(meant.format, data)
        released = read.decode(meant.format, data)
    except (ContainerError, Refused) as error:
        raise Refused(Reason.VERIFICATION, str(error)) from None
    if released.kind != meant.kind or released.pixels.shape[:2] != meant.pixels.shape[:2]:
        raise Refused(Reason.VERIFICATION, "another kind or size")
    if released.format == "JPEG":
        difference = np.abs(released.pixels.astype(np.int16) - meant.pixels)
        same = difference.mean() <= JPEG_TOLERANCE
        same = same and released.gray_as_colour >= meant.gray_as_colour
    else:  # a colour palette may have become one of grays
        same = (released.pixels == meant.pixels).all()
    if not same:
        raise Refused(Reason.VERIFICATION, "other pixels")
    if np.array_equal(*np.broadcast_arrays(released.pixels, original.pixels)):
        raise Refused(Reason.UNCHANGED)
    return released


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
