"""What a damaged DICOM file says of people: attributes wherever their tags stand in its bytes.

One wrong length, or a few bytes too many, and no parser finds what comes behind.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

import numpy as np
from pydicom.datadict import DicomDictionary, dictionary_VR

from anonymize.release.dicom import paths
from anonymize.release.dicom.elements import LONG, SHORT, DicomError, Element, begun
from anonymize.release.dicom.header import CHARACTER_SET, Header
from anonymize.release.storage import HEAD

LONGEST = 1024  # bytes of a value
PIECE = 1 << 12
VALUE = re.compile(rb"[^\0-\x1a\x1c-\x1f]*")  # a text up to what no text holds


def headers(data: bytes) -> Iterator[Header]:
    """Each name, number of a person, visit or order, and day of birth in the bytes of a file, as a
    header of its own, in the character set that the file says first."""
    data = _plain(data)
    for order in "<>":
        found = [_element(data, *place, order) for place in _places(data, order)]
        named = [e for e in found if e.tag == CHARACTER_SET][:1]
        yield from (Header([*named, e], order) for e in found if e.tag != CHARACTER_SET)


@cache
def _wanted() -> tuple[frozenset[int], np.ndarray, np.ndarray, np.ndarray]:
    """Tags; of all words of 16 bits, which are a group, an element, and a representation."""
    people = {tag for tag, (vr, *_) in DicomDictionary.items() if vr == "PN"}
    wanted = frozenset(people | paths.NUMBERS | paths.BIRTH | {CHARACTER_SET})
    word = np.arange(1 << 16)
    letters = [(ord("A") <= byte) & (byte <= ord("Z")) for byte in (word >> 8, word & 0xFF)]
    groups, elements = {t >> 16 for t in wanted}, {t & 0xFFFF for t in wanted}
    return wanted, np.isin(word, [*groups]), np.isin(word, [*elements]), letters[0] & letters[1]


def _places(data: bytes, order: str) -> Iterator[tuple[int, int]]:
    """Each tag that is wanted, before a representation or a length below 65,536, and the offset
    behind it. All at once: flat pixels are millions of the same tag."""
    wanted, groups, elements, representations = _wanted()
    for shift in (0, 1):
        words = np.frombuffer(data[shift : len(data) - (len(data) - shift) % 2], f"{order}u2")
        if len(words) < 4:
            return
        behind = representations[words[2:-1]]
        if order == "<":  # big endian is always explicit
            behind |= words[3:] == 0
        for at in np.flatnonzero(groups[words[:-3]] & elements[words[1:-2]] & behind).tolist():
            tag = int(words[at]) << 16 | int(words[at + 1])
            if tag in wanted:
                yield tag, shift + 2 * at + 4


def _element(data: bytes, tag: int, at: int, order: str) -> Element:
    representation = data[at : at + 2]
    if representation in SHORT:
        length, at = data[at + 2 : at + 4], at + 4
    elif representation in LONG:
        length, at = data[at + 4 : at + 8], at + 8
    else:
        length, at = data[at : at + 4], at + 4
    size = int.from_bytes(length, "little" if order == "<" else "big")
    value = VALUE.match(data, at, at + min(size, LONGEST))
    return Element(tag, dictionary_VR(tag), b"" if value is None else value[0])


def _plain(data: bytes) -> bytes:
    """The beginning of a file, unpacked as far as it goes where it is deflated."""
    with suppress(DicomError):
        _, syntax, at = begun(data)
        if syntax.deflated:
            return _unpacked(data[at:])
    return data[:HEAD]


def _unpacked(data: bytes) -> bytes:
    stream, found = zlib.decompressobj(-zlib.MAX_WBITS), bytearray()
    with suppress(zlib.error):
        for at in range(0, len(data), PIECE):
            found += stream.decompress(data[at : at + PIECE], PIECE << 10)
            if len(found) > HEAD or stream.unconsumed_tail:
                break
    return bytes(found[:HEAD])
