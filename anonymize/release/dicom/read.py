"""Bytes of a DICOM file → Radiograph; its header is de-identified before it leaves here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydicom.dataset import Dataset

from anonymize.release.dicom import pixels, view
from anonymize.release.dicom.attributes import SOP_CLASSES
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.elements import File, TooMuch, UnknownSyntax, read_file, text
from anonymize.release.dicom.header import Header
from anonymize.release.dicom.pixels import Layout
from anonymize.release.dicom.rules import Numbers
from anonymize.release.dicom.syntax import Syntax, written
from anonymize.release.dicom.terms import TERMS
from anonymize.release.dicom.write import Outline
from anonymize.release.radiograph import Radiograph, check_size
from anonymize.release.reasons import Reason, Refused, damage_refused

MEDIA_DIRECTORY = "1.2.840.10008.1.3.10"
MEDIA_SOP_CLASS = 0x00020002
ROWS = 256
LONGEST_OUTLINE = 4  # of padding, in heights and widths of the picture


@damage_refused()
def decode(data: bytes, deidentifier: Deidentifier | None = None) -> Radiograph:
    """The radiograph in ``data``, with ``source`` the outline of its release and the pixel spacing
    that is released.

    Without a ``deidentifier`` these are left out, and no file can be written of it.

    Raises Refused: damaged, no single CR, DX or secondary capture image, or one without an
    identity."""
    try:
        file = read_file(data)
    except TooMuch:
        raise Refused(Reason.DICOM_STRUCTURE) from None
    except UnknownSyntax:
        raise Refused(Reason.TRANSFER_SYNTAX) from None
    header = Header(file.elements, file.syntax.order)
    _check_kind(file, header)
    layout = pixels.layout(header)
    check_size(layout.columns, layout.rows)
    values, size = pixels.stored(header, layout, file.syntax)
    made = _radiograph(header, layout, values)
    if deidentifier is None:
        return made
    released, found = deidentifier.header(header, signed=layout.signed)
    _lossy_history(released, file.syntax, layout.size / max(size, 1))
    outline = Outline(
        released,
        layout.written,
        written(deidentifier.options.transfer_syntax, file.syntax),
        deidentifier.options,
        found,
        burned_in=header.text("BurnedInAnnotation").upper() == "YES",
        patient=released.PatientID if header.text("PatientID") else "",
    )
    return replace(made, source=outline, spacing=view.spacing(released))


def _check_kind(file: File, header: Header) -> None:
    known = header.text("SOPClassUID")
    media = next((text(e) for e in file.meta if e.tag == MEDIA_SOP_CLASS), "")
    if MEDIA_DIRECTORY in (known, media):
        raise Refused(Reason.DICOMDIR)
    if header.values("SOPClassUID") != [known] or known not in SOP_CLASSES:
        raise Refused(Reason.DICOM, "SOP class")
    if header.text("Modality").upper() not in TERMS["Modality"]:
        raise Refused(Reason.DICOM, "modality")


def _radiograph(header: Header, layout: Layout, values: np.ndarray) -> Radiograph:
    """Pixels bright where the viewer shows bright, and how bright he shows them."""
    made = Radiograph("DICOM", "gray", layout.bits, values)
    if layout.samples == 3:
        made = replace(made, layout="rgb")
        if not made.gray_as_colour:
            raise Refused(Reason.UNSUPPORTED_PIXELS, "colour")
        return made
    histogram = np.zeros(1 << layout.bits, np.int64)
    for start in range(0, layout.rows, ROWS):  # counting needs eight bytes a pixel
        part = values[start : start + ROWS].reshape(-1)
        histogram += np.bincount(part, minlength=1 << layout.bits)
    background, outside = _padding(view.padding(header, layout), values[..., 0], histogram)
    shown = view.brightness(header, layout, np.where(outside, 0, histogram))
    tables = view.tables(header, layout, histogram > 0)
    inverted = layout.photometric == "MONOCHROME1"
    shown = np.where(outside, 0, 1 - shown if inverted else shown).astype(np.float32)
    if inverted:
        values, shown = (made.top - values).astype(values.dtype), shown[::-1].copy()
        tables = tuple(255 - table[::-1] for table in tables)
    made = replace(made, pixels=values, white_is_zero=inverted, background=background)
    return replace(made, brightness=shown, tables=tables)


def _padding(
    edges: tuple[int, int] | None, values: np.ndarray, histogram: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Pixels (H, W) that are no picture, None where there are none, and their value among all.

    A header may call anything padding, the lungs too. Believed is one value, the most frequent of
    those that it names, and only where it has the outline of a collimator: nothing hides in that.
    """
    outside = np.zeros(len(histogram), bool)
    low, high = (0, 0) if edges is None else (max(edges[0], 0), max(edges[1] + 1, 0))
    named = histogram[low:high]
    if not named.any():
        return None, outside
    value = low + int(named.argmax())
    mask = values == value
    outline = (mask[1:] != mask[:-1]).sum() + (mask[:, 1:] != mask[:, :-1]).sum()
    if outline > LONGEST_OUTLINE * sum(mask.shape):
        return None, outside
    outside[value] = True
    return mask, outside


def _lossy_history(released: Dataset, syntax: Syntax, ratio: float) -> None:
    """Whether the pixels ever went through lossy compression (PS3.3 C.7.6.1.1.5)."""
    if syntax.lossy or released.get("LossyImageCompression") == "01":
        released.LossyImageCompression = "01"
        if syntax.lossy and "LossyImageCompressionRatio" not in released:
            rule = Numbers.of("LossyImageCompressionRatio")
            released.LossyImageCompressionRatio = rule([f"{min(ratio, rule.high):.6g}"])
        if syntax.lossy and "LossyImageCompressionMethod" not in released:
            released.LossyImageCompressionMethod = syntax.method
        return
    for keyword in ("LossyImageCompressionRatio", "LossyImageCompressionMethod"):
        released.pop(keyword, None)
