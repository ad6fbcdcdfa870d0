"""Pixel Data (PS3.3 C.7.6.3): what the header says of it, stored values out, stored values in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from imagecodecs import jpeg8_decode
from pydicom.encaps import encapsulate
from pydicom.pixels import get_decoder, get_encoder
from pydicom.pixels.processing import convert_color_space
from pydicom.uid import UID

from anonymize.release.dicom import codestream
from anonymize.release.dicom.codestream import Frame
from anonymize.release.dicom.elements import PIXEL_DATA, DicomError
from anonymize.release.dicom.header import Header
from anonymize.release.dicom.syntax import JPEG, JPEG_2000_LOSSLESS, JPEG_LS, RLE, Syntax
from anonymize.release.reasons import Reason, Refused

GRAY = ("MONOCHROME1", "MONOCHROME2")
COLOUR = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")


@dataclass(frozen=True)
class Layout:
    """How pixels are stored, as the attributes of (0028) say.

    ``samples`` 1 (gray) or 3 (colour); ``bits`` stored of ``allocated``, the highest being
    ``high``; ``signed``: two's complement.
    """

    rows: int
    columns: int
    samples: int
    photometric: str
    allocated: int
    bits: int
    high: int
    signed: bool
    planar: bool

    @property
    def offset(self) -> int:
        """What is added to a stored value to make it unsigned in the same order."""
        return 1 << (self.bits - 1) if self.signed else 0

    @property
    def size(self) -> int:
        """Bytes of the uncompressed pixels."""
        return self.rows * self.columns * self.samples * self.allocated // 8

    @property
    def written(self) -> Layout:
        """How the same pixels are written: the bits stored at the low end, colours by pixel."""
        colour = "RGB" if self.samples == 3 else self.photometric
        return replace(self, photometric=colour, high=self.bits - 1, planar=False)


def layout(header: Header) -> Layout:
    """The layout of the one frame that a header describes. Raises Refused: several frames, colours
    of a palette, or a depth that is not kept exactly."""
    if header.whole("NumberOfFrames", 1) != 1:
        raise Refused(Reason.MULTI_FRAME, "frames")
    found = Layout(
        rows=header.whole("Rows", 0),
        columns=header.whole("Columns", 0),
        samples=header.whole("SamplesPerPixel", 1),
        photometric=header.text("PhotometricInterpretation"),
        allocated=header.whole("BitsAllocated", 0),
        bits=header.whole("BitsStored", 0),
        high=header.whole("HighBit", header.whole("BitsStored", 0) - 1),
        signed=header.whole("PixelRepresentation", 0) == 1,
        planar=header.whole("PlanarConfiguration", 0) == 1,
    )
    known = GRAY if found.samples == 1 else COLOUR if found.samples == 3 else ()
    deep = found.allocated in (8, 16) and 8 <= found.bits <= found.allocated
    if (
        found.photometric not in known
        or not deep
        or not found.bits - 1 <= found.high < found.allocated
        or (found.samples == 3 and (found.allocated != 8 or found.signed))
    ):
        raise Refused(Reason.UNSUPPORTED_PIXELS, "photometric interpretation or depth")
    return found


def stored(header: Header, layout: Layout, syntax: Syntax) -> tuple[np.ndarray, int]:
    """Stored values (H, W, C) uint8 or uint16, signed ones raised by ``layout.offset``, and the
    number of bytes that they took.

    Only the bits stored are looked at: others may hold an overlay. Colours are red, green, blue.

    Raises:
        DicomError: more or fewer pixels than announced.
        Refused: values beyond the bits stored.
    """
    element = header.elements.get(PIXEL_DATA)
    if element is None or (element.fragments is None) == syntax.compressed:
        raise DicomError("no pixel data as the transfer syntax says")
    if element.fragments is None:
        data = element.value
        if layout.allocated == 8 and syntax.order == ">" and element.vr == "OW":  # PS3.5 A.3
            data = np.frombuffer(data, "u2").byteswap().tobytes()
        if layout.photometric == "YBR_FULL_422":
            raise Refused(Reason.UNSUPPORTED_PIXELS, "native YBR_FULL_422")
        if not layout.size <= len(data) <= layout.size + layout.size % 2:
            raise DicomError("more or fewer pixels than announced")
        kind = np.dtype(f"u{layout.allocated // 8}").newbyteorder(syntax.order)
        values = np.frombuffer(data, kind, layout.size // kind.itemsize)
        return _colours(_extracted(_shaped(values, layout), layout), layout), len(data)
    data = b"".join(element.fragments[1:])
    if syntax.method == "RLE":
        values = _rle(data, layout)
    else:
        values, layout = _decoded(data, layout, syntax)
    values = _in_range(values, layout, lossy=syntax.lossy)
    return _colours(values, layout), len(data)


def _shaped(values: np.ndarray, layout: Layout) -> np.ndarray:
    if layout.samples == 3 and layout.planar:
        return np.moveaxis(values.reshape(3, layout.rows, layout.columns), 0, 2)
    return values.reshape(layout.rows, layout.columns, layout.samples)


def _extracted(values: np.ndarray, layout: Layout) -> np.ndarray:
    """The bits stored, moved down to bit 0; two's complement as excess."""
    values = values.astype(values.dtype.newbyteorder("="))
    values = values >> (layout.high + 1 - layout.bits)
    values = values & ((1 << layout.bits) - 1)
    return np.ascontiguousarray(values ^ layout.offset)


def _rle(data: bytes, layout: Layout) -> np.ndarray:
    count = layout.samples * layout.allocated // 8
    planes = codestream.unpacked_rle(data, layout.rows * layout.columns, count)
    parts = np.stack([np.frombuffer(p, np.uint8) for p in planes], -1)
    shape = (layout.rows, layout.columns, layout.samples)
    if layout.allocated == 16:  # the high byte comes first
        return parts.reshape(*shape, 2).view(">u2")[..., 0]
    return parts.reshape(shape)


def _decoded(data: bytes, layout: Layout, syntax: Syntax) -> tuple[np.ndarray, Layout]:
    found = codestream.frame(data, syntax.method)
    same = (found.rows, found.columns, found.components)
    if same != (layout.rows, layout.columns, layout.samples) or not found.bits <= layout.allocated:
        raise DicomError("another image than the data set announces")
    colour = "RGB"
    if syntax.method == JPEG and layout.samples == 1:
        values = jpeg8_decode(data)
    elif syntax.method == JPEG:
        space = "YCBCR" if layout.photometric.startswith("YBR") else "RGB"
        values = jpeg8_decode(data, colorspace=space, outcolorspace="RGB")
    else:
        values, about = get_decoder(syntax.uid).as_array(
            encapsulate([data]),
            raw=True,
            # Always the same decoder: those of lossy images differ.
            decoding_plugin="pyjpegls" if syntax.method == JPEG_LS else "pylibjpeg",
            **_named(layout, transfer_syntax_uid=UID(syntax.uid), pixel_keyword="PixelData"),
        )
        colour = str(about.get("photometric_interpretation", layout.photometric))
    values = values.reshape(layout.rows, layout.columns, layout.samples)
    return values, replace(layout, photometric=colour, planar=False)


def _in_range(values: np.ndarray, layout: Layout, *, lossy: bool) -> np.ndarray:
    """Decoded values as unsigned ones of the bits stored; lossy compression may overshoot them."""
    if layout.high != layout.bits - 1:
        raise Refused(Reason.UNSUPPORTED_PIXELS, "compressed, with a high bit of its own")
    if layout.signed:
        values = values.astype(values.dtype.newbyteorder("="))
        values = values.view(np.dtype(f"i{values.itemsize}")).astype(np.int32) + layout.offset
    if lossy:
        values = values.clip(0, (1 << layout.bits) - 1)
    if not 0 <= values.min() <= values.max() < 1 << layout.bits:
        raise Refused(Reason.UNSUPPORTED_PIXELS, "values beyond the bits stored")
    return np.ascontiguousarray(values.astype(np.uint8 if layout.bits <= 8 else np.uint16))


def _colours(values: np.ndarray, layout: Layout) -> np.ndarray:
    if layout.bits <= 8:
        values = values.astype(np.uint8)
    if layout.samples == 1 or layout.photometric == "RGB":
        return values
    return convert_color_space(values, "YBR_FULL", "RGB")


def _named(layout: Layout, **others: Any) -> dict[str, Any]:
    """Arguments of pydicom's encoders and decoders, which annotate each as all of them."""
    return {
        "rows": layout.rows,
        "columns": layout.columns,
        "number_of_frames": 1,
        "samples_per_pixel": layout.samples,
        "photometric_interpretation": layout.photometric,
        "bits_allocated": layout.allocated,
        "bits_stored": layout.bits,
        "pixel_representation": int(layout.signed),
        **({"planar_configuration": 0} if layout.samples == 3 else {}),
        **others,
    }


def encoded(pixels: np.ndarray, layout: Layout, uid: str) -> bytes:
    """The value of PixelData for unsigned ``pixels`` (H, W, C), in the transfer syntax ``uid``.

    The same pixels always give the same bytes. Bits above those stored repeat the sign.
    """
    kind = np.dtype(f"{'i' if layout.signed else 'u'}{layout.allocated // 8}")
    values = (pixels.astype(np.int32) - layout.offset).astype(kind)
    values = values[..., 0] if layout.samples == 1 else values
    if uid not in (JPEG_2000_LOSSLESS, RLE):
        data = values.astype(kind.newbyteorder("<")).tobytes()
        return data + b"\0" * (len(data) % 2)
    rle = uid == RLE
    plugin = "pydicom" if rle else "pylibjpeg"
    options: dict[str, Any] = {} if rle or layout.samples == 1 else {"use_mct": False}
    data = get_encoder(uid).encode(values, encoding_plugin=plugin, **_named(layout, **options))
    return encapsulate([data if rle else codestream.without_comment(data)], has_bot=False)


def check_fragments(data: bytes, layout: Layout, uid: str) -> None:
    """Raises DicomError unless a compressed frame holds these pixels and nothing else."""
    if uid == RLE:
        _rle(data, layout)
        return
    expected = Frame(layout.rows, layout.columns, layout.bits, layout.samples)
    codestream.check_jpeg_2000(data, expected)
