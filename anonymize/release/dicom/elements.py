"""A DICOM file as elements: a parser that is strict, bounded and without recursion.

No length in the file is believed before it is compared with the bytes that are there, nesting and
number of elements are limited, and what does not fit the encoding is an error. Values stay bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from pydicom.datadict import dictionary_VR

from anonymize.release.dicom.syntax import EXPLICIT_LITTLE, IMPLICIT_LITTLE, SYNTAXES, Syntax
from anonymize.release.reasons import ContainerError

MAX_DEPTH = 32  # sequences in one another
MAX_ELEMENTS = 50_000
MAX_INFLATED = 256 << 20
PIXEL_DATA = 0x7FE00010
TRANSFER_SYNTAX = 0x00020010
ITEM, ITEM_END, SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
ITEM_BEGINS = b"\xfe\xff\x00\xe0"
UNDEFINED = 0xFFFFFFFF
FRAME_END = b"\xfe\xff\xdd\xe0\0\0\0\0"  # behind the fragments of compressed pixels
SHORT = frozenset(
    b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split()
)  # 16-bit length; the others have two reserved bytes and a 32-bit length (PS3.5 7.1.2)
LONG = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())


class DicomError(ContainerError):
    """A file that breaks the encoding of PS3.5 or PS3.10."""


class TooMuch(DicomError):
    """Deeper, or of more elements, than any radiograph is."""


class UnknownSyntax(DicomError):
    """A transfer syntax that is not read here."""


@dataclass(slots=True)
class Element:
    """One data element. ``vr`` is the dictionary's where the encoding has none, "UN" if unknown.

    A sequence has ``items``, compressed pixels have ``fragments`` (the first is the offset table);
    ``value`` is empty then.
    """

    tag: int
    vr: str
    value: bytes | memoryview = b""
    items: list[list[Element]] | None = None
    fragments: list[memoryview] | None = None


@dataclass(frozen=True)
class File:
    """The parts of a file."""

    meta: list[Element]
    syntax: Syntax
    elements: list[Element]


@dataclass
class _Level:
    """What is being read: a data set, the items of a sequence, or fragments."""

    kind: str  # "data set", "items" or "fragments"
    into: list
    end: int | None  # None: a delimiter ends it
    limit: int  # nothing in it may pass this
    explicit: bool
    tags: set[int] = field(default_factory=set)


def read_file(data: bytes) -> File:
    """The elements of a file with or without preamble and meta information. Raises DicomError:
    anything else than a whole DICOM file."""
    meta, syntax, at = begun(data)
    if syntax.deflated:
        data, at = inflated(data[at:]), 0
    return File(meta, syntax, parse(data, at, syntax)[0])


def begun(data: bytes) -> tuple[list[Element], Syntax, int]:
    """The meta information of a file, its transfer syntax, and where its data set begins. Raises
    DicomError: these are damaged, or the syntax is not read."""
    at = 132 if data[128:132] == b"DICM" else 0
    meta: list[Element] = []
    if data[at : at + 2] == b"\x02\0":
        meta, at = parse(data, at, SYNTAXES[EXPLICIT_LITTLE], group=2)
    uid = next((text(e) for e in meta if e.tag == TRANSFER_SYNTAX), None)
    if uid is None:
        uid = EXPLICIT_LITTLE if data[at + 4 : at + 6] in SHORT | LONG else IMPLICIT_LITTLE
    if uid not in SYNTAXES:
        raise UnknownSyntax("a transfer syntax that is not read")
    return meta, SYNTAXES[uid], at


def inflated(data: bytes) -> bytes:
    """A deflated data set (RFC 1951) unpacked, up to ``MAX_INFLATED`` bytes."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        whole = stream.decompress(data, MAX_INFLATED)
    except zlib.error:
        raise DicomError("a damaged deflated data set") from None
    if stream.unconsumed_tail:
        raise TooMuch("a deflated data set expands beyond its bound")
    if not stream.eof:
        raise DicomError("a deflated data set ends too early")
    return whole


def parse(
    data: bytes, at: int, syntax: Syntax, *, group: int | None = None, unknown: bool = False
) -> tuple[list[Element], int]:
    """Elements from offset ``at`` on, and the offset behind them; up to another group, if given.

    ``unknown``: values without representation that begin as an item does are sequences.

    Raises:
        DicomError: an element that does not fit its surroundings, or occurs twice.
        TooMuch: nested deeper than ``MAX_DEPTH``, or more than ``MAX_ELEMENTS``.
    """
    view, order = memoryview(data), syntax.order
    root: list[Element] = []
    stack = [_Level("data set", root, len(data), len(data), syntax.explicit)]
    elements = 0
    while stack:
        level = stack[-1]
        if at == level.end:
            stack.pop()
            continue
        if at + 8 > level.limit:
            if len(stack) == 1 and not any(view[at:]):
                break
            raise DicomError("an element runs past the end")
        first, second, length = struct.unpack_from(order + "HHI", view, at)
        tag = first << 16 | second
        if len(stack) == 1 and ((group is not None and first != group) or _padding(view, at, tag)):
            break
        elements += 1
        if elements > MAX_ELEMENTS:
            raise TooMuch("too many elements")
        if level.kind != "data set":
            at = _inside(view, at + 8, tag, length, level, stack)
            continue
        if tag == ITEM_END and level.end is None:
            stack.pop()
            at += 8
            continue
        if first == 0xFFFE or tag in level.tags:
            raise DicomError("a delimiter out of place, or an element given twice")
        level.tags.add(tag)
        vr, length, at = _head(view, at, tag, length, level, order)
        element = Element(tag, vr)
        level.into.append(element)
        if length == UNDEFINED:
            _open(element, None, level, stack)
            continue
        if length > level.limit - at:
            raise DicomError("a length beyond the end")
        if vr == "SQ" or (unknown and vr == "UN" and view[at : at + 4] == ITEM_BEGINS):
            _open(element, at + length, level, stack)
            continue
        element.value = view[at : at + length]
        at += length
    return root, at


def unknown_items(element: Element) -> list[list[Element]]:
    """The items that a value without representation may hold: those of a private sequence, which
    implicit files do not say to be one (PS3.5 6.2.2); [] where it is anything else.

    Raises TooMuch: as :func:`parse`.
    """
    if element.vr != "UN" or element.value[:4] != ITEM_BEGINS:
        return []
    sequence = struct.pack("<HHI", 0x0008, 0x1140, len(element.value)) + element.value
    try:
        return parse(sequence, 0, SYNTAXES[IMPLICIT_LITTLE], unknown=True)[0][0].items or []
    except TooMuch:
        raise
    except DicomError:
        return []


def written(elements: list[Element]) -> Iterator[bytes]:
    """The parts of a data set in Explicit VR Little Endian, as this package writes it: every length
    is given but that of compressed pixels, and what is reserved is zero."""
    for element in elements:
        value, length = [bytes(element.value)], len(element.value)
        if element.items is not None:
            value = [_item(b"".join(written(item))) for item in element.items]
            length = sum(map(len, value))
        elif element.fragments is not None:
            value = [*map(_item, element.fragments), FRAME_END]
            length = UNDEFINED
        yield _head_of(element.tag, element.vr.encode(), length)
        yield from value


def _item(content: bytes | memoryview) -> bytes:
    return _head_of(ITEM, b"", len(content)) + bytes(content)


def _head_of(tag: int, vr: bytes, length: int) -> bytes:
    number = struct.pack("<HH", tag >> 16, tag & 0xFFFF) + vr
    if vr in SHORT:
        return number + (length & 0xFFFF).to_bytes(2, "little")
    return number + (b"\0\0" if vr else b"") + length.to_bytes(4, "little")


def text(element: Element) -> str:
    """A value in the default character repertoire, without its padding."""
    return bytes(element.value).decode("latin-1").strip(" \0")


def _padding(view: memoryview, at: int, tag: int) -> bool:
    """True for the zeros that some writers leave behind the last element."""
    return tag == 0 and not np.frombuffer(view[at:], np.uint8).any()


def _head(
    view: memoryview, at: int, tag: int, length: int, level: _Level, order: str
) -> tuple[str, int, int]:
    """VR, length and the offset of the value of the element at ``at``."""
    if not level.explicit:
        return _known(tag), length, at + 8
    letters = bytes(view[at + 4 : at + 6])
    if letters in SHORT:
        return letters.decode(), struct.unpack_from(order + "H", view, at + 6)[0], at + 8
    if letters not in LONG:
        raise DicomError("no value representation where one must be")
    if at + 12 > level.limit:
        raise DicomError("an element runs past the end")
    return letters.decode(), struct.unpack_from(order + "I", view, at + 8)[0], at + 12


def _known(tag: int) -> str:
    try:
        return dictionary_VR(tag)
    except KeyError:
        return "UN"


def _open(element: Element, end: int | None, level: _Level, stack: list[_Level]) -> None:
    """Goes into a sequence, or into the fragments of compressed pixels."""
    limit = level.limit if end is None else end
    if element.tag == PIXEL_DATA and len(stack) == 1 and element.vr in ("OB", "OW"):
        element.fragments = []
        stack.append(_Level("fragments", element.fragments, end, limit, level.explicit))
        return
    if element.vr not in ("SQ", "UN"):
        raise DicomError("an undefined length where none may be")
    if len(stack) > 2 * MAX_DEPTH:
        raise TooMuch("sequences nested too deep")
    element.items = []
    # Unknown content of undefined length is implicit (PS3.5 6.2.2).
    explicit = level.explicit and element.vr == "SQ"
    stack.append(_Level("items", element.items, end, limit, explicit))


def _inside(
    view: memoryview, at: int, tag: int, length: int, level: _Level, stack: list[_Level]
) -> int:
    """Reads the head of an item, a fragment, or the end of either; gives the offset behind it."""
    if tag == SEQUENCE_END and level.end is None:
        stack.pop()
        return at
    if tag != ITEM or (length != UNDEFINED and length > level.limit - at):
        raise DicomError("an item expected")
    if level.kind == "fragments":
        if length == UNDEFINED:
            raise DicomError("a fragment without length")
        level.into.append(view[at : at + length])
        return at + length
    end = None if length == UNDEFINED else at + length
    level.into.append([])
    limit = level.limit if end is None else end
    stack.append(_Level("data set", level.into[-1], end, limit, level.explicit))
    return at
