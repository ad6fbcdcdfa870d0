"""More words in a header than the search for identifiers can hold, beside a name to hide."""

from functools import partial

from corpus import Case, apply
from dicom_specimens import changed, file

from anonymize.release.dicom.options import DicomOptions

NAME = "HERNIA"  # which --clean-descriptors lets through where nobody is called so


def flooded(vr: str, words: int) -> bytes:
    """A DICOM file with so many words in a private element."""
    made = changed()
    made.PatientName, made.StudyDescription = f"{NAME}^Anna", f"Thorax {NAME}"
    block = made.private_block(0x11, "FLOOD", create=True)
    block.add_new(1, vr, " ".join(f"word{n:06d}" for n in range(words)))
    return file(made)


def leak(folder, *, vr, words):
    cleaned = DicomOptions(clean_descriptors=True)
    outcome = apply(folder, {"a.dcm": flooded(vr, words)}, dicom=cleaned)
    return outcome.holds(NAME.encode())


CASES = [
    Case(
        "flood of words",
        f"{words} in {vr}",
        partial(leak, vr=vr, words=words),
        fast=words < 60_000,  # more than are held are 20,100, too
    )
    for vr in ("UT", "LT", "UC")
    for words in (2_000, 20_100, 60_000)
]
