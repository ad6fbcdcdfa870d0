"""PNG, JPEG and TIFF as sequences of chunks, segments and tags: strict parsers and allow-lists.

``check(format, data)`` admits only what the encoders of this package write: pixels, and what is
needed to decode them. One unknown chunk, marker, tag, or unaccounted byte and the file is refused.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from anonymize.release.reasons import ContainerError

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
JFIF = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
ADOBE = b"Adobe\0\x64\0\0\0\0\0"
ADAM7 = (  # x, y, steps of x and y in each pass
    *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4)),
    *((0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)),
)
MAX_PARTS = 100_000  # chunks, segments: a radiograph of the largest size needs a fifth
MOST_PACKED = 4096  # times smaller than its pixels a strip can be: LZW's longest word
MAX_VALUES = 1 << 20  # of a TIFF tag
PIECE = 1 << 20
FILL = re.compile(rb"\xff+")
NEXT_MARKER = re.compile(rb"\xff+([^\x00\xd0-\xd7\xff])")
TIFF_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
# ImageWidth, ImageLength, BitsPerSample, Compression, PhotometricInterpretation, StripOffsets,
# SamplesPerPixel, RowsPerStrip, StripByteCounts, PlanarConfiguration, ColorMap, ExtraSamples
TIFF_TAGS = frozenset({256, 257, 258, 259, 262, 273, 277, 278, 279, 284, 320, 338})

# … besides Orientation, Predictor, TileWidth, TileLength, TileOffsets, TileByteCounts, SampleFormat
TIFF_READ = TIFF_TAGS | {274, 317, 322, 323, 324, 325, 339}


def check(format: str, data: bytes) -> None:
    """Raises ContainerError unless ``data`` is a file of pixels and nothing else."""
    {"PNG": _check_png, "JPEG": _check_jpeg, "TIFF": _check_tiff}[format](data)


def png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """(type, content) up to IEND; bytes behind it are not looked at. Checksums must be right."""
    if not data.startswith(PNG_SIGNATURE):
        raise ContainerError("no PNG signature")
    chunks: list[tuple[bytes, bytes]] = []
    at = len(PNG_SIGNATURE)
    while not chunks or chunks[-1][0] != b"IEND":
        if at + 12 > len(data):
            raise ContainerError("PNG ends before IEND")
        (length,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if len(content) != length or at + 12 + length > len(data):
            raise ContainerError("PNG chunk runs past the end")
        if struct.unpack_from(">I", data, at + 8 + length)[0] != zlib.crc32(kind + content):
            raise ContainerError("PNG checksum is wrong")
        chunks.append((kind, content))
        at += 12 + length
        if len(chunks) > MAX_PARTS:
            raise ContainerError("PNG of too many chunks")
    if chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
        raise ContainerError("PNG does not begin with IHDR")
    return chunks


def png_size(chunks: list[tuple[bytes, bytes]]) -> int:
    """Length in bytes of a PNG of these chunks."""
    return len(PNG_SIGNATURE) + sum(12 + len(content) for _, content in chunks)


def png_join(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """The PNG file of these chunks."""
    parts = [PNG_SIGNATURE]
    for kind, content in chunks:
        body = kind + content
        parts += [struct.pack(">I", len(content)), body, struct.pack(">I", zlib.crc32(body))]
    return b"".join(parts)


def _check_png(data: bytes) -> None:
    chunks = png_chunks(data)
    if png_size(chunks) != len(data):
        raise ContainerError("bytes behind IEND")
    colour, *rest = struct.unpack(">BBBB", chunks[0][1][9:])
    if rest != [0, 0, 0] or colour not in PNG_CHANNELS:
        raise ContainerError("unexpected IHDR")
    order = [kind for kind, _ in chunks]
    images = order.count(b"IDAT")
    if order != [b"IHDR"] + [b"PLTE"] * (colour == 3) + [b"IDAT"] * images + [b"IEND"]:
        raise ContainerError("a PNG chunk that is not IHDR, PLTE, IDAT or IEND")
    if png_excess(chunks) != 0 or chunks[-1][1]:
        raise ContainerError("PNG holds more or less than its pixels")


def png_excess(chunks: list[tuple[bytes, bytes]]) -> int:
    """Bytes of the pixels' stream beyond those that the header asks for; negative: too few.

    Counts no further than the first bytes in excess.
    """
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    depth = bits * PNG_CHANNELS.get(colour, 1)
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    missing = 0
    for left, top, x, y in passes:
        columns, rows = (width - left + x - 1) // x, (height - top + y - 1) // y
        missing += rows * ((columns * depth + 7) // 8 + 1) if columns > 0 and rows > 0 else 0
    stream = zlib.decompressobj()
    for rest in (content for kind, content in chunks if kind == b"IDAT"):
        while rest and missing >= 0:
            missing -= len(stream.decompress(rest, PIECE))
            if stream.eof:
                rest, missing = b"", missing - len(stream.unused_data)
            else:
                rest = stream.unconsumed_tail
    if not stream.eof and missing >= 0:
        missing -= len(stream.flush())
    return -missing if stream.eof or missing < 0 else min(-missing, -1)


def jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """(marker, content, offset behind it) from SOI to EOI; the scan's bits are skipped."""
    if data[:3] != b"\xff\xd8\xff":
        raise ContainerError("no JPEG start")
    yield 0xD8, b"", 2
    at = 2
    for number in count():
        if number > MAX_PARTS:
            raise ContainerError("JPEG of too many segments")
        fill = FILL.match(data, at)
        if fill is None:
            raise ContainerError("JPEG marker expected")
        at = fill.end() - 1
        if at + 2 > len(data):
            raise ContainerError("JPEG ends before EOI")
        marker = data[at + 1]
        if marker == 0xD9:
            yield marker, b"", at + 2
            return
        if at + 4 > len(data):
            raise ContainerError("JPEG ends before EOI")
        (length,) = struct.unpack_from(">H", data, at + 2)
        content = data[at + 4 : at + 2 + length]
        if length < 2 or len(content) != length - 2:
            raise ContainerError("JPEG segment runs past the end")
        at += 2 + length
        yield marker, content, at
        if marker == 0xDA:
            found = NEXT_MARKER.search(data, at)
            if not found:
                raise ContainerError("JPEG ends before EOI")
            at = found.start()


def jpeg_size(frame: bytes, data: bytes) -> tuple[int, int]:
    """Width and height of a frame header's content (ITU-T T.81, B.2.2). Raises ContainerError: more
    blocks than ``data`` has bits, of which each takes one or more; a few hundred bytes would else
    be gigabytes of gray."""
    if len(frame) < 6:
        raise ContainerError("JPEG frame header runs past the end")
    height, width = struct.unpack(">HH", frame[1:5])
    if 8 * len(data) < -(-width // 8) * -(-height // 8):
        raise ContainerError("JPEG of a larger picture than its bytes can hold")
    return width, height


def _check_jpeg(data: bytes) -> None:
    segments = list(jpeg_segments(data))
    for marker, content, _ in segments:
        if (marker, content) in ((0xE0, JFIF), (0xEE, ADOBE)):
            continue
        if marker in (0xC0, 0xC1):
            jpeg_size(content, data)
        # SOI, EOI, DQT, SOF0, SOF1 (16-bit tables), DHT, SOS
        if marker not in (0xD8, 0xD9, 0xDB, 0xC0, 0xC1, 0xC4, 0xDA):
            raise ContainerError("a JPEG segment that is not needed to decode the pixels")
    if segments[-1][2] != len(data) or [s[0] for s in segments].count(0xDA) != 1:
        raise ContainerError("JPEG holds more than one scan, or bytes behind EOI")


@dataclass(frozen=True)
class TiffTag:
    """One directory entry; ``place`` is where its values lie, (offset, length) in bytes."""

    kind: int
    count: int
    values: tuple[int, ...]
    place: tuple[int, int]


@dataclass(frozen=True)
class TiffDirectory:
    """The first directory of a TIFF file."""

    order: str  # "<" or ">"
    tags: dict[int, TiffTag]
    place: tuple[int, int]
    following: int  # offset of the next directory, 0 where there is none

    def values(self, tag: int, default: tuple[int, ...]) -> tuple[int, ...]:
        return self.tags[tag].values if tag in self.tags else default

    def value(self, tag: int, default: int) -> int:
        values = self.values(tag, (default,))
        return values[0] if values else default


def tiff_directory(data: bytes) -> TiffDirectory:
    """The first directory of a classic TIFF file; values of TIFF_READ are read where they are
    BYTE, SHORT or LONG."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4])
    try:
        if order is None:
            raise ContainerError("no classic TIFF")
        (start,) = struct.unpack_from(order + "I", data, 4)
        (count,) = struct.unpack_from(order + "H", data, start)
        tags = {}
        for i in range(count):
            at = start + 2 + 12 * i
            tag, kind, number = struct.unpack_from(order + "HHI", data, at)
            length = TIFF_SIZES.get(kind, 1) * number
            place = at + 8
            if length > 4:
                (place,) = struct.unpack_from(order + "I", data, at + 8)
            values = ()
            if tag in TIFF_READ and number > MAX_VALUES:
                raise ContainerError("TIFF tag of too many values")
            if tag in TIFF_READ and kind in (1, 3, 4) and place + length <= len(data):
                letter = {1: "B", 3: "H", 4: "I"}[kind]
                values = struct.unpack_from(f"{order}{number}{letter}", data, place)
            if tag in tags and tag in TIFF_READ:
                raise ContainerError("TIFF tag of the pixels given twice")
            tags[tag] = TiffTag(kind, number, values, (place, length))
        (following,) = struct.unpack_from(order + "I", data, start + 2 + 12 * count)
    except struct.error:
        raise ContainerError("TIFF directory runs past the end") from None
    return TiffDirectory(order, tags, (start, 2 + 12 * count + 4), following)


def _check_tiff(data: bytes) -> None:
    directory = tiff_directory(data)
    if directory.following or not set(directory.tags) <= TIFF_TAGS:
        raise ContainerError("a second TIFF directory, or a tag not needed to decode the pixels")
    if any(tag.kind not in (3, 4) for tag in directory.tags.values()):
        raise ContainerError("TIFF tag of unexpected type")
    offsets, lengths = directory.values(273, ()), directory.values(279, ())
    if not offsets or len(offsets) != len(lengths):
        raise ContainerError("TIFF strips do not fit")
    height, planes = directory.value(257, 0), directory.value(277, 1)
    rows = directory.value(278, height) or height
    strips = -(-height // max(rows, 1)) * (planes if directory.value(284, 1) == 2 else 1)
    if len(offsets) != strips:
        raise ContainerError("TIFF of more rows than its strips hold")
    bits = height * directory.value(256, 0) * planes * directory.value(258, 1)
    if bits > 8 * MOST_PACKED * sum(lengths):
        raise ContainerError("TIFF of a larger picture than its strips can hold")
    outside = [tag.place for tag in directory.tags.values() if tag.place[1] > 4]
    places = sorted([(0, 8), directory.place, *outside, *zip(offsets, lengths, strict=True)])
    at = 0
    for start, length in places:
        # A directory begins at an even offset: one zero byte may lie before it.
        if start not in (at, at + 1) or data[at:start].strip(b"\0"):
            raise ContainerError("TIFF holds bytes that belong to no strip and no tag")
        at = start + length
    if at != len(data):
        raise ContainerError("TIFF holds bytes that belong to no strip and no tag")
    for tag in directory.tags.values():
        if tag.place[1] < 4 and data[tag.place[0] + tag.place[1] : tag.place[0] + 4].strip(b"\0"):
            raise ContainerError("TIFF tag with bytes behind its value")
