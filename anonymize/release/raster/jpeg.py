"""A baseline JPEG file as libjpeg writes it with optimized tables (ITU-T T.81): every byte told
by the coefficients.

The quantisation tables are those of a quality, the Huffman tables follow from how often the
symbols of the scan occur, and nothing lies between the last block and EOI.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image

from anonymize.release.raster import containers, jpeg_edges
from anonymize.release.raster.containers import ADOBE, JFIF
from anonymize.release.raster.jpeg_edges import EdgeBlock
from anonymize.release.reasons import ContainerError

SOI, EOI, APP0, APP14, DQT, SOF0, DHT, SOS = 0xD8, 0xD9, 0xE0, 0xEE, 0xDB, 0xC0, 0xC4, 0xDA
GRAY = (0x11,)
COLOURS = ((0x11, 0x11, 0x11), (0x21, 0x11, 0x11), (0x22, 0x11, 0x11))  # 4:4:4, 4:2:2, 4:2:0
SPECTRUM = b"\0\x3f\0"  # of the scan: all coefficients, no approximation
ZERO_RUN, BLOCK_END, NONE = 0xF0, 0x00, 0x100  # symbols; NONE: bits that are no code


def check(data: bytes) -> None:
    """Raises ContainerError unless ``data`` is a file that libjpeg would write of its own."""
    if data[-2:] != bytes((0xFF, EOI)):
        raise ContainerError("bytes behind EOI")
    found: dict[int, list[bytes]] = {}
    begin = 0
    for marker, content, begin in containers.jpeg_segments(data):  # noqa: B007 (the last is used)
        found.setdefault(marker, []).append(content)
        if marker == SOS:
            break
    try:
        [frame] = found[SOF0]
        quantisation = b"".join(found[DQT])
        shape = _Shape(frame, quantisation)
        tables = {content[0]: content for content in found[DHT]}
        counts, edges = _counted(data[begin:-2], shape, tables)
    except (KeyError, ValueError, IndexError, struct.error):
        raise ContainerError("a JPEG file that is not as libjpeg writes it") from None
    best = {number: optimal(used) for number, used in counts.items()}
    if data[:begin] != b"".join(_head(shape, frame, quantisation, best)):
        raise ContainerError("a JPEG header with more than its scan needs")
    if not jpeg_edges.repeated(edges):
        raise ContainerError("a JPEG file with more than its picture beyond an edge")


class _Shape:
    """Components and size, as far as this package writes them."""

    def __init__(self, frame: bytes, quantisation: bytes) -> None:
        bits, self.height, self.width, components = struct.unpack(">BHHB", frame[:6])
        parts = [tuple(frame[6 + 3 * i : 9 + 3 * i]) for i in range(components)]
        self.ids, self.sampling, _ = zip(*parts, strict=True)
        self.inks = components == 4
        # Luminance has the first tables, chrominance the second.
        self.steps = [quantisation[at + 1 : at + 65] for at in range(0, len(quantisation), 65)]
        self.tables = (0, 1, 1) if components == 3 else (0,) * components
        names = b"CMYK" if self.inks else bytes(range(1, components + 1))
        allowed = {1: (GRAY,), 3: COLOURS, 4: (4 * GRAY,)}[components]
        tables = [bytes(part) for part in quantisations(max(self.tables) + 1)]
        if (
            bits != 8
            or bytes(self.ids) != names
            or self.sampling not in allowed
            or quantisation not in tables
        ):
            raise ContainerError("a JPEG file of no quality, or of another layout")

    @property
    def units(self) -> tuple[int, int]:
        """How many minimum coded units there are down and across."""
        across, down = self.sampling[0] >> 4, self.sampling[0] & 15
        return -(-self.height // (8 * down)), -(-self.width // (8 * across))

    @property
    def blocks(self) -> list[_Block]:
        """The blocks of a unit."""
        most = self.sampling[0] >> 4, self.sampling[0] & 15
        found = []
        for table, sampling in zip(self.tables, self.sampling, strict=True):
            across, down = sampling >> 4, sampling & 15
            # Of fewer samples than pixels, the next is the mean of the last pixel repeated.
            width = self.width // 2 + 1 if across < most[0] else self.width
            height = -(-self.height * down // most[1])
            found += [
                _Block(table, x, y, across, down, width, height)
                for y in range(down)
                for x in range(across)
            ]
        return found


class _Block(NamedTuple):
    """A block of each unit: its table, its place among those of its component, how many they are
    in a unit, and the component's samples that the picture tells."""

    table: int
    x: int
    y: int
    across: int
    down: int
    width: int
    height: int

    def seen(self, row: int, column: int) -> tuple[int, int]:
        """Samples (across, down) that the picture tells, in the unit at a place."""
        columns = self.width - 8 * (column * self.across + self.x)
        rows = self.height - 8 * (row * self.down + self.y)
        return min(max(columns, 0), 8), min(max(rows, 0), 8)


@cache
def quantisations(tables: int) -> tuple[bytes, ...]:
    """At each quality from 1 to 100, the content of the file's quantisation segments: of each
    of ``tables`` its number, and 64 steps."""
    found = []
    for quality in range(1, 101):
        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "JPEG", quality=quality)
        parts = [c for m, c, _ in containers.jpeg_segments(file.getvalue()) if m == DQT]
        found.append(b"".join(parts[:tables]))
    return tuple(found)


def _head(
    shape: _Shape, frame: bytes, quantisation: bytes, tables: dict[int, bytes]
) -> Iterator[bytes]:
    """The segments up to the scan."""
    yield bytes((0xFF, SOI))
    yield _segment(APP14, ADOBE) if shape.inks else _segment(APP0, JFIF)
    for at in range(0, len(quantisation), 65):
        yield _segment(DQT, quantisation[at : at + 65])
    described = b"".join(map(bytes, zip(shape.ids, shape.sampling, shape.tables, strict=True)))
    yield _segment(SOF0, frame[:6] + described)
    for number in range(max(shape.tables) + 1):
        for kind in (number, 0x10 | number):
            yield _segment(DHT, bytes((kind,)) + tables[kind])
    chosen = b"".join(bytes((i, t << 4 | t)) for i, t in zip(shape.ids, shape.tables, strict=True))
    yield _segment(SOS, bytes((len(shape.ids),)) + chosen + SPECTRUM)


def _segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _counted(
    scan: bytes, shape: _Shape, tables: dict[int, bytes]
) -> tuple[dict[int, list[int]], list[EdgeBlock]]:
    """How often each symbol of each table occurs in the scan, and the blocks at its edges. Raises
    ContainerError: more, or less, than the blocks; bits that mean nothing."""
    if scan.count(b"\xff") != scan.count(b"\xff\0"):
        raise ContainerError("a marker in a JPEG scan")
    scan = scan.replace(b"\xff\0", b"\xff")
    octets = np.frombuffer(scan + bytes(3), np.uint8).astype(np.uint32)
    words = (octets[:-2] << 16 | octets[1:-1] << 8 | octets[2:]).data
    (down, across), blocks = shape.units, shape.blocks
    lookups = {kind: _lookup(content) for kind, content in tables.items()}
    counts = {kind: [0] * (NONE + 1) for kind in tables}
    chosen = [
        (b, lookups[b.table], lookups[0x10 | b.table], counts[b.table], counts[0x10 | b.table])
        for b in blocks
    ]
    at = idle = 0
    outer: list[tuple[int, int, int, _Block]] = []  # where blocks at an edge begin
    for unit in range(down * across):
        row, column = divmod(unit, across)
        last = row == down - 1 or column == across - 1
        for block, first, others, first_counts, other_counts in chosen:
            if last:
                outer.append((at, row, column, block))
            entry = first[words[at >> 3] >> (8 - (at & 7)) & 0xFFFF]
            at += entry & 31
            first_counts[entry >> 13] += 1
            place, before = 1, 0
            while place < 64:
                before = entry
                entry = others[words[at >> 3] >> (8 - (at & 7)) & 0xFFFF]
                at += entry & 31
                other_counts[entry >> 13] += 1
                place += entry >> 5 & 0xFF
            # A run of zeros up to the end of a block is written as its end.
            idle += place > 64 and (entry >> 13 != BLOCK_END or before >> 13 == ZERO_RUN)
            idle += entry >> 13 == ZERO_RUN and place == 64
    rest = -at % 8
    if at + rest != 8 * len(scan) or scan[-1] & ((1 << rest) - 1) != (1 << rest) - 1:
        raise ContainerError("bytes behind the last block of a JPEG scan")
    if idle or any(used[NONE] for used in counts.values()):
        raise ContainerError("a JPEG scan with codes that mean nothing")
    edges = [
        EdgeBlock(
            *block.seen(row, column),
            shape.steps[block.table],
            _coefficients(words, at, lookups[block.table], lookups[0x10 | block.table]),
        )
        for at, row, column, block in outer
        if block.seen(row, column) != (8, 8)
    ]
    return counts, edges


def _coefficients(words: memoryview, at: int, first: memoryview, others: memoryview) -> list[int]:
    """The 64 values of the block whose codes begin at a bit; of the mean, the difference."""

    def bits() -> int:
        return words[at >> 3] >> (8 - (at & 7)) & 0xFFFF

    found, table = [0] * 64, first
    place = 0
    while place < 64:
        entry = table[bits()]
        symbol, step, length = entry >> 13, entry >> 5 & 0xFF, entry & 31
        size = symbol & 15
        at += length - size
        value = bits() >> (16 - size)
        at += size
        place += step
        if size and place <= 64:
            found[place - 1] = value if value >> (size - 1) else value - (1 << size) + 1
        table = others
    return found


def _lookup(table: bytes) -> memoryview:
    """For each 16 bits the code that they begin with: symbol << 13 | coefficients << 5 | bits."""
    number, lengths, symbols = table[0], table[1:17], table[17:]
    if sum(lengths) != len(symbols):
        raise ContainerError("a JPEG table of another length than it says")
    # What is no code ends the block.
    entries = np.full(1 << 16, NONE << 13 | 64 << 5 | 1, np.uint32)
    at, rest = 0, iter(symbols)
    for length, count in enumerate(lengths, 1):
        for symbol in [next(rest) for _ in range(count)]:
            size, run = symbol & 15, symbol >> 4
            step = 1 if number < 16 else 64 if symbol == BLOCK_END else run + 1
            known = symbol <= 11 if number < 16 else 1 <= size <= 10 or symbol in (0, ZERO_RUN)
            wide = 1 << (16 - length)
            if known:
                entries[at : at + wide] = symbol << 13 | step << 5 | length + size
            at += wide
    if at > 1 << 16:
        raise ContainerError("a JPEG table of too many codes")
    return entries.data


def optimal(counts: list[int]) -> bytes:
    """Lengths (16 bytes) and symbols of the table for symbols that occur so often: T.81 K.2, where
    of equal counts the last symbol comes first, as in libjpeg."""
    # One symbol more, so that no code is all ones.
    groups = [(count, -symbol, [symbol]) for symbol, count in enumerate(counts[:256]) if count]
    groups.append((1, -256, [256]))
    sizes = dict.fromkeys([symbol for *_, [symbol] in groups], 0)
    while len(groups) > 1:
        groups.sort(key=lambda group: group[:2])
        (count, name, one), (other_count, _, other), *groups = groups
        groups.append((count + other_count, name, one + other))
        for symbol in one + other:
            sizes[symbol] += 1
    lengths = [0] * 258
    for size in sizes.values():
        lengths[size] += 1
    for size in range(257, 16, -1):
        while lengths[size] > 0:
            shorter = next(s for s in range(size - 2, 0, -1) if lengths[s])
            lengths[size] -= 2
            lengths[size - 1] += 1
            lengths[shorter + 1] += 2
            lengths[shorter] -= 1
    lengths[max(size for size in range(17) if lengths[size])] -= 1
    del sizes[256]
    symbols = sorted(sizes, key=lambda symbol: (sizes[symbol], symbol))
    return bytes(lengths[1:17]) + bytes(symbols)
