"""A released header and anonymized pixels → the bytes of a DICOM file.

What the file says of its own de-identification is written here, when all of it has happened.
"""

from __future__ import annotations

import copyreg
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.multival import MultiValue
from pydicom.uid import UID

from anonymize import __version__
from anonymize.release.dicom import pixels, profile
from anonymize.release.dicom.attributes import CR, SECONDARY_CAPTURE
from anonymize.release.dicom.elements import PIXEL_DATA
from anonymize.release.dicom.identifiers import Identifiers
from anonymize.release.dicom.options import CLEAN_PIXELS, DATES, DicomOptions
from anonymize.release.dicom.pixels import Layout
from anonymize.release.dicom.syntax import EXPLICIT_LITTLE
from anonymize.release.reasons import Reason, Refused

IMPLEMENTATION = "2.25.101811708427489784695672815438854257720"
IMPLEMENTATION_NAME = "ANONYMIZE_CXR"
METHOD = [f"anonymize-cxr {__version__}", f"PS3.15 {profile.EDITION} Table E.1-1"]
DERIVATION = "Pixels changed so that the patient is harder to recognize"


def _unchanged(value: Any) -> Any:
    return value


# An outline travels between processes. pydicom gives the values of a LUT descriptor (US or SS) a
# function that no pickle takes.
copyreg.pickle(MultiValue, lambda values: (MultiValue, (_unchanged, list(values))))


@dataclass(frozen=True, repr=False)
class Outline:
    """All of a file but its pixels.

    ``header``: the released attributes; ``syntax``: UID of the transfer syntax that is written;
    ``identifiers``: what must not be found in the file; ``burned_in``: what the input says of
    text in its pixels; ``text_method``: how that was looked for and removed, "" if it was not;
    ``text_removed``: there was some; ``patient``: the pseudonym, "" where the input names nobody.
    """

    header: Dataset
    layout: Layout
    syntax: str
    options: DicomOptions
    identifiers: Identifiers
    burned_in: bool = False
    text_method: str = ""
    text_removed: bool = False
    patient: str = ""

    def check(self) -> None:
        """Raises Refused where the input says that text is burned in, and none was removed."""
        if self.burned_in and not self.text_removed:
            looked = "and none was found" if self.text_method else "and nobody looked for it"
            raise Refused(Reason.BURNED_IN_ANNOTATION, looked)


def encode(values: np.ndarray, outline: Outline) -> bytes:
    """The file with pixels ``values`` (H, W, C), unsigned as :func:`pixels.stored` gives them.
    Raises Refused: the input says that text is burned in, and none was removed."""
    outline.check()
    made = Dataset()
    made.update(outline.header)
    _describe_pixels(made, outline.layout)
    _describe_release(made, outline)
    data = pixels.encoded(values, outline.layout, outline.syntax)
    compressed = outline.syntax != EXPLICIT_LITTLE
    wide = outline.layout.allocated == 16 and not compressed
    made.add_new(PIXEL_DATA, "OW" if wide else "OB", data)
    made[PIXEL_DATA].is_undefined_length = compressed
    made.file_meta = file_meta(made.SOPClassUID, made.SOPInstanceUID, outline.syntax)
    file = io.BytesIO()
    pydicom.dcmwrite(file, made, enforce_file_format=True)
    return file.getvalue()


def _describe_pixels(made: Dataset, layout: Layout) -> None:
    """The Image Pixel Module (PS3.3 C.7.6.3)."""
    made.SamplesPerPixel = layout.samples
    made.PhotometricInterpretation = layout.photometric
    made.Rows, made.Columns = layout.rows, layout.columns
    made.BitsAllocated, made.BitsStored = layout.allocated, layout.bits
    made.HighBit, made.PixelRepresentation = layout.high, int(layout.signed)
    made.pop("PlanarConfiguration", None)
    if layout.samples == 3:
        made.PlanarConfiguration = 0


def _describe_release(made: Dataset, outline: Outline) -> None:
    """What was done to the file (PS3.3 C.7.1.1, C.7.6.1, C.12.1)."""
    made.ImageType = made.get("ImageType") or ["DERIVED", "PRIMARY"]
    made.DerivationDescription = DERIVATION
    made.pop("BurnedInAnnotation", None)
    if outline.text_method:
        made.BurnedInAnnotation = "NO"
    elif made.SOPClassUID not in (CR, SECONDARY_CAPTURE):  # the others must say one or the other
        made.BurnedInAnnotation = "YES"
    made.PatientIdentityRemoved = "YES"
    made.DeidentificationMethod = METHOD + [outline.text_method] * bool(outline.text_method)
    codes = outline.options.codes + [CLEAN_PIXELS] * bool(outline.text_method)
    made.DeidentificationMethodCodeSequence = [_code(*code) for code in sorted(codes)]
    made.LongitudinalTemporalInformationModified = (
        "MODIFIED" if DATES in outline.options.retain else "REMOVED"
    )


def _code(value: str, meaning: str) -> Dataset:
    made = Dataset()
    made.CodeValue, made.CodingSchemeDesignator, made.CodeMeaning = value, "DCM", meaning
    return made


def file_meta(sop_class: str, instance: str, syntax: str) -> FileMetaDataset:
    """The file meta information of a file of ours (PS3.10 7.1); UIDs as text."""
    meta = FileMetaDataset()
    meta.FileMetaInformationVersion = b"\0\1"
    meta.MediaStorageSOPClassUID = UID(sop_class)
    meta.MediaStorageSOPInstanceUID = UID(instance)
    meta.TransferSyntaxUID = UID(syntax)
    meta.ImplementationClassUID = UID(IMPLEMENTATION)
    meta.ImplementationVersionName = IMPLEMENTATION_NAME
    return meta
