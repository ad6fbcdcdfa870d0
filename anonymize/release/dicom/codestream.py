"""What a compressed frame says of itself, read before any decoder is trusted with it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

from anonymize.release.dicom.elements import DicomError
from anonymize.release.dicom.syntax import JPEG_2000
from anonymize.release.raster.containers import jpeg_segments

START_2000 = b"\xff\x4f\xff\x51"
COMMENT = 0xFF64
# SIZ, COD, QCD, SOT, SOD: what the encoder writes and a decoder needs.
NEEDED = [0xFF51, 0xFF52, 0xFF5C]
TILE, TILE_DATA, END = 0xFF90, 0xFF93, 0xFFD9
MAX_TILES = 65535


@dataclass(frozen=True)
class Frame:
    """Size, depth and number of components of a compressed image."""

    rows: int
    columns: int
    bits: int
    components: int


def frame(data: bytes, method: str) -> Frame:
    """The frame that a codestream announces; ``method`` as of :class:`syntax.Syntax`, not RLE.
    Raises ContainerError: no such codestream."""
    try:
        return _jpeg_2000(data) if method == JPEG_2000 else _jpeg(data)
    except (struct.error, IndexError):
        raise DicomError("a codestream that ends in its header") from None


def _jpeg(data: bytes) -> Frame:
    for marker, content, _ in jpeg_segments(data):
        # SOF0 to SOF15 without DHT, JPG and DAC; SOF55 is JPEG-LS.
        if (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)) or marker == 0xF7:
            bits, rows, columns, components = struct.unpack_from(">BHHB", content)
            return Frame(rows, columns, bits, components)
        if marker == 0xDA:
            break
    raise DicomError("a JPEG scan before its frame")


def _jpeg_2000(data: bytes) -> Frame:
    at = 0 if data.startswith(START_2000) else data[:4096].find(START_2000)  # some wrap it in JP2
    if at < 0:
        raise DicomError("no JPEG 2000 codestream")
    _, _, x1, y1, x0, y0, tile_x, tile_y, *_, components, depth = struct.unpack_from(
        ">HHIIIIIIIIHB", data, at + 4
    )
    if min(tile_x, tile_y) < 1 or (x1 - x0) * (y1 - y0) > MAX_TILES * tile_x * tile_y:
        raise DicomError("too many tiles")
    return Frame(y1 - y0, x1 - x0, (depth & 0x7F) + 1, components)


def without_comment(data: bytes) -> bytes:
    """A JPEG 2000 codestream without the comments of its main header."""
    parts, at = [data[:2]], 2
    for marker, start, end in _main_header(data):
        if marker != COMMENT:
            parts.append(data[start:end])
        at = end
    return b"".join([*parts, data[at:]])


def check_jpeg_2000(data: bytes, expected: Frame) -> None:
    """Raises DicomError unless ``data`` is one frame, one tile, and nothing that is not needed."""
    if frame(data, JPEG_2000) != expected or data[:4] != START_2000:
        raise DicomError("another codestream than the data set says")
    segments = list(_main_header(data))
    if sorted(marker for marker, *_ in segments) != NEEDED:
        raise DicomError("a codestream with more than its pixels")
    at = segments[-1][2]
    marker, _, _, length, _, first = struct.unpack_from(">HHHIHH", data, at)
    even = b"\0" * ((at + length) % 2)
    if (marker, first) != (TILE, TILE_DATA) or data[at + length :] != b"\xff\xd9" + even:
        raise DicomError("a codestream with more than its pixels")


def _main_header(data: bytes):
    """(marker, offset, offset behind it) of each segment from SIZ to the first tile part."""
    at = 2
    while True:
        (marker,) = struct.unpack_from(">H", data, at)
        if marker in (TILE, END):
            return
        (length,) = struct.unpack_from(">H", data, at + 2)
        yield marker, at, at + 2 + length
        at += 2 + length


def unpacked_rle(data: bytes, size: int, segments: int) -> list[bytes]:
    """The segments of an RLE frame (PS3.5 Annex G), each of ``size`` bytes. Raises DicomError:
    another number of segments, or more or less in one."""
    if len(data) < 64:
        raise DicomError("an RLE frame without header")
    count, *offsets = struct.unpack("<16I", data[:64])
    if count != segments or offsets[0] != 64 or any(offsets[count:]):
        raise DicomError("an RLE frame with other segments than expected")
    edges = [*offsets[:count], len(data)]
    if edges != sorted(edges):
        raise DicomError("RLE segments out of order")
    return [_unpacked(data[a:b], size) for a, b in pairwise(edges)]


def _unpacked(segment: bytes, size: int) -> bytes:
    out, at, end = bytearray(), 0, len(segment)
    while at < end and len(out) < size:
        code = segment[at]
        if code < 128:
            out += segment[at + 1 : at + 2 + code]
            at += 2 + code
        elif code > 128:
            out += segment[at + 1 : at + 2] * (257 - code)
            at += 2
        else:
            at += 1
    if len(out) != size or segment[at:].strip(b"\0"):
        raise DicomError("an RLE segment of another size")
    return bytes(out)
