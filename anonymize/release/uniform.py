"""One size and one format for every file of a release, so that neither tells which image it was.

What is shown is squeezed to a square: without its window, its depth, its proportions and its pixel
spacing. DICOM files are secondary captures whose headers differ in their pseudonyms alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image
from pydicom.dataset import Dataset

from anonymize.errors import UsageError, printable
from anonymize.release.dicom.attributes import SECONDARY_CAPTURE
from anonymize.release.dicom.deidentify import NEEDED, Deidentifier
from anonymize.release.dicom.identifiers import Identifiers
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.dicom.pixels import Layout
from anonymize.release.dicom.pseudonyms import Pseudonyms
from anonymize.release.dicom.syntax import EXPLICIT_LITTLE
from anonymize.release.dicom.write import Outline
from anonymize.release.radiograph import MIN_SIDE, Radiograph
from anonymize.release.reasons import Reason, Refused

FORMATS = {"png": "PNG", "dicom": "DICOM"}
LARGEST = 8000
LEVELS = 256
NOBODY = Identifiers(frozenset(), frozenset(), frozenset())
# Attributes that a secondary capture must have, empty (Type 2), in PS3.3 A.8.1.
EMPTY = (
    *("PatientName", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime"),
    *("ReferringPhysicianName", "StudyID", "AccessionNumber", "SeriesNumber", "InstanceNumber"),
    *("PatientOrientation", "Manufacturer"),
)
FORM = f"SIZE or SIZE,png or SIZE,dicom, SIZE from {MIN_SIDE} to {LARGEST} pixels"


@dataclass(frozen=True)
class Uniform:
    """Every file is a gray image of 8 bits, ``size`` pixels wide and high, "png" or "dicom"; of 16
    where it is not to be released as it is. Raises UsageError: another format, or no size."""

    size: int
    format: str = "png"
    bits: int = 8

    def __post_init__(self) -> None:
        if self.format not in FORMATS or not MIN_SIDE <= self.size <= LARGEST:
            raise UsageError(f"--canonical must be {FORM}; got {self}")

    def __str__(self) -> str:
        return f"{self.size},{self.format}"

    @property
    def shape(self) -> tuple[str, int, int]:
        """Format, height and width of every file."""
        return FORMATS[self.format], self.size, self.size


def parse(text: str) -> Uniform:
    """SIZE or SIZE,FORMAT. Raises UsageError: another text."""
    size, _, format = text.partition(",")
    known = size.isascii() and size.isdigit() and len(size) < 6
    try:
        return Uniform(int(size) if known else 0, format or "png")
    except UsageError:
        raise UsageError(f"--canonical must be {FORM}; got {printable(text)}") from None


def made_uniform(
    radiograph: Radiograph, wanted: Uniform, name: str, deidentifier: Deidentifier | None
) -> Radiograph:
    """What ``radiograph``, a file called ``name``, shows, as one of the files of ``wanted``. Raises
    Refused: it is smaller than they are; it would be known by its blur."""
    shown = radiograph.gray()
    if min(shown.shape) < wanted.size:
        raise Refused(Reason.TOO_SMALL, "smaller than --canonical")
    # Pillow's bilinear filter is wider for what shrinks.
    size = (wanted.size, wanted.size)
    squeezed = np.asarray(Image.fromarray(shown).resize(size, Image.Resampling.BILINEAR))
    return of_gray(squeezed, wanted, name, deidentifier, radiograph.source)


def of_gray(
    gray: np.ndarray,
    wanted: Uniform,
    name: str,
    deidentifier: Deidentifier | None,
    source: Outline | None = None,
) -> Radiograph:
    """One of the files of ``wanted``, called ``name``, that shows ``gray`` (H, W) in [0, 1].

    ``source`` is the outline of the file that it was made of; None: it is of nobody alone, and its
    pseudonyms follow from its name.
    """
    top, kind = (1 << wanted.bits) - 1, np.uint8 if wanted.bits == 8 else np.uint16
    pixels = np.round(gray.clip(0, 1) * top).astype(kind)[..., None]
    made = Radiograph(FORMATS[wanted.format], "gray", wanted.bits, pixels)
    if made.format == "PNG":
        return made
    assert deidentifier is not None  # a release has one
    outline = _outline(source, wanted, name, deidentifier)
    return replace(made, brightness=np.linspace(0, 1, LEVELS, dtype=np.float32), source=outline)


def _outline(
    source: Outline | None, wanted: Uniform, name: str, deidentifier: Deidentifier
) -> Outline:
    """The header of a secondary capture, with the pseudonyms of the input or of its name."""
    header = Dataset()
    header.SOPClassUID, header.Modality, header.ConversionType = SECONDARY_CAPTURE, "OT", "WSD"
    header.ImageType = ["DERIVED", "SECONDARY"]
    for keyword in EMPTY:
        setattr(header, keyword, None)
    pseudonyms = Pseudonyms(deidentifier.secret)
    for keyword in NEEDED:
        own = None if source is None else source.header[keyword].value
        setattr(header, keyword, own or pseudonyms.uid(f"{keyword} of {name}"))
    own = None if source is None else source.header.PatientID
    header.PatientID = own or pseudonyms.patient(f"file {name}")
    layout = Layout(
        rows=wanted.size,
        columns=wanted.size,
        samples=1,
        photometric="MONOCHROME2",
        allocated=8,
        bits=8,
        high=7,
        signed=False,
        planar=False,
    )
    identifiers = NOBODY if source is None else source.identifiers
    return Outline(header, layout, EXPLICIT_LITTLE, DicomOptions(), identifiers)
