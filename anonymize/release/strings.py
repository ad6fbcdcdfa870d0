"""Words of an input that identify somebody, and the search for them in an output.

A word is a run of at least six printable bytes, or characters of UTF-16, outside the pixels:
shorter ones occur in any compressed data. The allow-list of :mod:`containers` leaves no place for
words; this looks for them all the same.
"""

import os
import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

import numpy as np

from anonymize.release.raster import containers
from anonymize.release.reasons import Reason, Refused

LENGTH = 6
DISTINCT = 4  # fewer different characters are padding, and occur in flat pixels
MAX_INFLATED = 1 << 24  # bytes of compressed text in a file
WINDOW = 1 << 24  # bytes that are searched at a time
WORD = re.compile(rb"[^\x00-\x20\"',;:/\\=^<>()\[\]{}\x7f]{%d,}" % LENGTH)
PLAIN = re.compile(rb"[0-9A-Za-z]")
WIDE = re.compile(rb"(?:[\x21-\x7e]\0){%d,}" % LENGTH)
WIDE_BIG = re.compile(rb"(?:\0[\x21-\x7e]){%d,}" % LENGTH)
PNG_PIXELS = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
PNG_DEFLATED = {b"zTXt": 2, b"iCCP": 2, b"iTXt": 5}  # least bytes before the stream
JPEG_PIXELS = frozenset({0xD8, 0xD9, 0xDA, 0xDB, 0xC4, 0xDD, *range(0xC0, 0xC4)})
JPEG_TABLES = frozenset({0xDB, 0xC4})  # DQT, DHT
TIFF_PIXELS = ((273, 279), (324, 325))  # strips, tiles: offsets and lengths
TIFF_TABLES = (320, 347)  # ColorMap, JPEGTables


def of_file(format: str, data: bytes) -> frozenset[bytes]:
    """The words of a file that was decoded: of every byte that is no pixel. Raises Refused: its
    compressed text is a bomb."""
    parts = {"PNG": _png, "JPEG": _jpeg, "TIFF": _tiff}[format](data)
    return frozenset().union(*(of_text(part) for part in parts))


def of_name(path: str) -> frozenset[bytes]:
    """The words of a file's path; none of an extension."""
    return of_text(os.fsencode(PurePosixPath(path).with_suffix("")))


def of_text(data: bytes) -> frozenset[bytes]:
    """The words in ``data``, those of UTF-16 as plain text too."""
    found = set(WORD.findall(data))
    for pattern, encoding in ((WIDE, "utf-16-le"), (WIDE_BIG, "utf-16-be")):
        for wide in pattern.findall(data):
            plain = wide.decode(encoding, "replace").encode("ascii", "ignore")
            found |= {wide, *WORD.findall(plain)}
    return frozenset(word for word in found if _telling(word))


def found_in(format: str, data: bytes, words: frozenset[bytes]) -> bool:
    """True where any of ``words`` occurs in the file ``data``.

    JPEG's tables are not looked at: a thumbnail among the metadata of the input may share them.
    """
    if not words:
        return False
    if format == "JPEG":
        searched = bytearray(data)
        for marker, content, end in containers.jpeg_segments(data):
            if marker in JPEG_TABLES:
                searched[end - len(content) : end] = bytes(len(content))
        data = bytes(searched)
    by_start: dict[int, list[bytes]] = {}
    for word in words:
        by_start.setdefault(int.from_bytes(word[:LENGTH], "little"), []).append(word)
    starts = np.array(list(by_start), np.uint64)
    # For each of the first bytes of a word: which values it has in any of them.
    known = [{word[k] for word in words} for k in range(LENGTH)]
    tables = [bytes(value in values for value in range(256)) for values in known]
    for at in range(0, len(data) - LENGTH + 1, WINDOW):
        window = data[at : at + WINDOW + LENGTH - 1]
        places, codes = _beginnings(window, tables)
        for hit in np.flatnonzero(np.isin(codes, starts)):
            start = at + int(places[hit])
            if any(data.startswith(word, start) for word in by_start[int(codes[hit])]):
                return True
    return False


def _beginnings(window: bytes, tables: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Where each of the following bytes is one of its table's (1), and these bytes as one number.

    A table is looked up for all bytes at once, which costs a tenth of a number for each.
    """
    count = len(window) - len(tables) + 1
    may = np.ones(count, np.uint8)
    for k, table in enumerate(tables):
        may &= np.frombuffer(window.translate(table), np.uint8)[k : k + count]
    places, values = np.flatnonzero(may), np.frombuffer(window, np.uint8)
    codes = np.zeros(len(places), np.uint64)
    for k in range(len(tables)):
        codes |= values[places + k].astype(np.uint64) << np.uint64(8 * k)
    return places, codes


def _telling(word: bytes) -> bool:
    """False for padding and ramps, which pixels hold as well, and for what looks like noise."""
    steps = {b - a for a, b in pairwise(word)}
    plain = len(PLAIN.findall(word))
    return len(set(word)) >= DISTINCT and len(steps) > 1 and 2 * plain >= len(word)


def _png(data: bytes) -> Iterator[bytes]:
    chunks = containers.png_chunks(data)
    left = MAX_INFLATED
    for kind, content in chunks:
        if kind in PNG_PIXELS:
            continue
        yield content
        if kind in PNG_DEFLATED:
            text = _inflated(content, PNG_DEFLATED[kind], left + 1)
            left -= len(text)
            if left < 0:
                raise Refused(Reason.DAMAGED, "text that inflates beyond bounds")
            yield text
    yield data[containers.png_size(chunks) :]


def _inflated(content: bytes, earliest: int, most: int) -> bytes:
    """The deflate stream somewhere behind the keyword of a chunk, as far as it can be read."""
    for match in re.finditer(rb"\0", content[: 1 << 10]):
        for start in (match.end(), match.end() + 1):
            if start < earliest:
                continue
            try:
                return zlib.decompressobj().decompress(content[start:], most)
            except zlib.error:
                continue
    return b""


def _jpeg(data: bytes) -> Iterator[bytes]:
    end = 0
    for marker, content, end in containers.jpeg_segments(data):  # noqa: B007 (the last end)
        if marker not in JPEG_PIXELS:
            yield content
    yield data[end:]


def _tiff(data: bytes) -> Iterator[bytes]:
    directory = containers.tiff_directory(data)
    pixels = [directory.tags[tag].place for tag in TIFF_TABLES if tag in directory.tags]
    for offsets, lengths in TIFF_PIXELS:
        pixels += zip(directory.values(offsets, ()), directory.values(lengths, ()), strict=False)
    at = 0
    for start, length in sorted(pixels):
        yield data[at:start]
        at = max(at, start + length)
    yield data[at:]
