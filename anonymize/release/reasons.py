"""Why a file is not released: one code each, the same in the journal, the list and the summary."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Self


class Code(Enum):
    """``value`` is what lists and reports hold, ``meaning`` one line for people."""

    meaning: str

    def __new__(cls, code: str, meaning: str = "") -> Self:  # Reason(code) finds a member
        member = object.__new__(cls)
        member._value_, member.meaning = code, meaning
        return member


class Reason(Code):
    """Why a file is not released."""

    SYMLINK = "symlink", "a symbolic link; links are never followed"
    NOT_A_REGULAR_FILE = "not-a-regular-file", "a pipe, socket or device"
    UNREADABLE = "unreadable", "a file or folder that cannot be opened or read"
    VANISHED = "vanished", "the file was listed, or named in a list, and is not there"
    CHANGING = "changing", "the file changed while it was read"
    NAME_COLLISION = (
        "name-collision",
        "its output path differs from another's only in upper and lower case, is reserved, begins "
        "like a formula or holds control characters; use --names hashed",
    )
    NOT_AN_IMAGE = "not-an-image", "text or a system file; left out, and no failure"
    DICOM = (
        "dicom",
        "a DICOM object that is no CR, DX or secondary capture radiograph: a report, a document, "
        "another modality",
    )
    DICOM_METADATA = "dicom-metadata", "DICOM without the UIDs that its release needs"
    INSTANCE = (
        "instance",
        "received under a SOP Instance UID that is not its own, or under which other content came "
        "before (`anonymize receive` only)",
    )
    DICOM_STRUCTURE = "dicom-structure", "DICOM nested deeper, or longer, than any radiograph is"
    TRANSFER_SYNTAX = "transfer-syntax", "DICOM in a transfer syntax that is not read"
    BURNED_IN_ANNOTATION = (
        "burned-in-annotation",
        "DICOM says that identifying text is burned in, and none was found and removed",
    )
    IDENTIFYING_NAME = (
        "identifying-name",
        "its path may hold what a DICOM header, its own or another file's, or --table, knows of "
        "somebody; use --names hashed",
    )
    DICOMDIR = "dicomdir", "an index of DICOM files; never followed, left out, and no failure"
    ARCHIVE = (
        "archive",
        "a ZIP archive, or an entry of one, that is damaged, encrypted, nested, oddly named or "
        "expands beyond its bounds",
    )
    UNSUPPORTED_FORMAT = (
        "unsupported-format",
        "an image, document or archive that is neither DICOM, PNG, JPEG nor TIFF",
    )
    UNRECOGNISED = "unrecognised", "binary content of no known format"
    DAMAGED = "damaged", "truncated, corrupt, or not what its extension says and no other image"
    MULTI_FRAME = "multi-frame", "several pictures in one file: pages, frames, animation, MPO"
    UNSUPPORTED_PIXELS = (
        "unsupported-pixels",
        "float, 32-bit, signed TIFF, 12-bit JPEG, coloured DICOM or otherwise rare samples that "
        "could not be kept exactly",
    )
    TOO_LARGE = "too-large", "more than 64 megapixels or 1 GiB"
    TOO_SMALL = "too-small", "fewer than 16 pixels on a side, or than the common size asked for"
    NO_CONTENT = "no-content", "one gray value everywhere, in the picture or in what came of it"
    BURNED_IN_TEXT = (
        "burned-in-text",
        "text burned into the picture that --text detect found, or --text remove may have left",
    )
    LABELS = "labels", "its labels cannot be carried over; why is in the private list"
    UNKNOWN_PATIENT = (
        "unknown-patient",
        "whose it is must be known, and neither --patients nor its header says so, or they "
        "contradict each other",
    )
    NOT_GROUPED = (
        "not-grouped",
        "nothing was made of it: the method found too few other patients to put it together with, "
        "or needed no further image",
    )
    UNCHANGED = "unchanged", "the method left the picture, or much of it, as it was"
    TONE = (
        "tone",
        "the method changes gray levels, and what that means for DICOM (values behind a window) or "
        "CMYK is not known; use a model without generator.tone",
    )
    INVALID_RESULT = "invalid-result", "the method gave NaN, infinity or another shape"
    UNFIT_SIZE = (
        "unfit-size",
        "the method's strength was not made for an image of its size (with --strict only)",
    )
    UNREVIEWED = (
        "unreviewed",
        "it waits for somebody to look at it: `anonymize review OUT` (with --require-review only)",
    )
    REVIEW = "review", "somebody looked at it and sent it to quarantine, or the very same file"
    VERIFICATION = (
        "verification",
        "the written file, opened again, was not exactly what was meant to be written",
    )
    TIMEOUT = "timeout", "decoding, writing or checking it took longer than --time-limit allows"
    MEMORY = "memory", "it takes more memory than --memory-limit allows"
    CRASHED = "crashed", "the process that decoded, wrote or checked it crashed"
    FAILED = "failed", "an unexpected error; its type is in the private list"

    @property
    def left_out(self) -> bool:
        """True where the file is no radiograph at all, so that leaving it out is no failure."""
        return self in (Reason.NOT_AN_IMAGE, Reason.DICOMDIR)


TELLING_FOLDER = re.compile(r"folder (\d+)")  # detail: of its path, from the top


class Refused(Exception):
    """A file that is not released. ``detail`` goes to the private list only."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason.value)
        self.reason, self.detail = reason, detail


def as_refusal(error: Exception) -> Refused:
    """``error`` itself, or that for one that nobody foresaw. Its text may quote the file: type
    only."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, MemoryError):
        return Refused(Reason.MEMORY)
    return Refused(Reason.FAILED, type(error).__name__)


class ContainerError(ValueError):
    """A container that breaks its format, or holds more than pixels."""


@contextmanager
def damage_refused() -> Iterator[None]:
    """Refuses as damaged whatever a decoder complains about."""
    try:
        yield
    except (Refused, MemoryError):
        raise
    except ContainerError as error:
        raise Refused(Reason.DAMAGED, str(error)) from None
    except Exception as error:
        # The text of a decoder's error may quote the file.
        raise Refused(Reason.DAMAGED, type(error).__name__) from None
