"""Marked values for every row of PS3.15 Table E.1-1, at five places of a file.

Files are put together element by element, so that any tag can stand anywhere.
"""

import struct
from dataclasses import dataclass
from functools import cache

from dicom_specimens import capture, dx, file, picture, with_pixels
from pydicom.datadict import dictionary_has_tag, dictionary_VR

from anonymize.release.dicom import profile
from anonymize.release.dicom.elements import Element, read_file, written

POSITIONS = ("root", "sequence depth 1", "sequence depth 5", "private sequence", "functional group")
ANATOMY, MODIFIER = 0x00082218, 0x00082220
SHARED_GROUPS, PIXEL_MEASURES = 0x52009229, 0x00289110


@dataclass(frozen=True)
class Planted:
    """A marked attribute: its row's code, and what must not be found of it."""

    tag: int
    vr: str
    code: str
    value: bytes
    needle: bytes


def rows():
    """Every row with a marker of its own; of rows for many attributes some, and private ones."""
    listed = list(profile.rows().items())
    for first, mask, code in profile.ranges():
        listed += [(first | number << 16, code) for number in (0, 2, 0x1E)]
        if not mask & 0xFFFF:
            listed += [(first | number << 16 | 0x3000, code) for number in (0, 4)]
    listed += [(0x00091001, "X"), (0x00091002, "X"), (0x7FE10001, "X")]
    return [planted(number, tag, code) for number, (tag, code) in enumerate(listed)]


def planted(number, tag, code):
    vr = dictionary_VR(tag).split(" or ")[0] if dictionary_has_tag(tag) else "LO"
    year, month, day = 1931 + number // 336, 1 + number // 28 % 12, 1 + number % 28
    date = f"{year}{month:02}{day:02}"
    text = {
        "DA": date,
        "DT": f"{date}231507.471147",
        "TM": f"2315{number % 60:02}.{number:06}",
        "UI": f"1.2.826.0.1.3680043.8.498.4711.{number}",
        "AS": f"{number % 90 + 10:03}W",
        "DS": f"47.11{number:05}",
        "IS": f"4711{number:05}",
        "UR": f"http://mark{number:05}.example",
        "PN": f"Q{number:05}Q",  # whose letters are no part of other texts
    }.get(vr, f"MARK{number:05}Q")
    needle = text.encode()
    value = needle
    if vr in ("US", "SS"):
        value = struct.pack("<H", 0xBEE0 + number % 16)
        needle = encoded(element(tag, vr, value))
    elif vr == "SQ":
        content = encoded(element(0x00080104, "LO", needle))
        value = b"\xfe\xff\0\xe0" + struct.pack("<I", len(content)) + content
    return Planted(tag, vr, code, value, needle)


def element(tag, vr, value):
    """An element with ``value`` (bytes), padded to an even length."""
    pad = b"\0" if vr in ("UI", "OB", "UN", "SQ") else b" "
    return Element(tag, vr, value + pad * (len(value) % 2))


def sequence(tag, content):
    """A sequence of one item, which holds the elements ``content``."""
    return Element(tag, "SQ", items=[sorted(content, key=lambda e: e.tag)])


def encoded(*made):
    """Elements in Explicit VR Little Endian."""
    return b"".join(written(made))


@cache
def carrier(groups):
    """Elements and meta information by their tags, of a file with or without functional groups."""
    base = capture() if groups else dx()
    if groups:
        base.SOPClassUID, base.NumberOfFrames = "1.2.840.10008.5.1.4.1.1.7.3", 1
    opened = read_file(file(with_pixels(base, picture(), bits=12)))
    return [{e.tag: e for e in part if e.tag & 0xFFFF} for part in (opened.elements, opened.meta)]


def marked(plants, position):
    """A file with these attributes at this place, instead of its own."""
    elements, meta = map(dict, carrier(position == "functional group"))
    content = [element(p.tag, p.vr, p.value) for p in plants]
    if position == "root":
        meta |= {e.tag: e for e in content if e.tag >> 16 == 2}
    inside = [e for e in content if e.tag >> 16 != 2]
    elements |= {e.tag: e for e in (inside if position == "root" else nested(position, inside))}
    meta, body = (encoded(*(part[tag] for tag in sorted(part))) for part in (meta, elements))
    length = encoded(element(0x00020000, "UL", struct.pack("<I", len(meta))))
    return bytes(128) + b"DICM" + length + meta + body


def nested(position, inside):
    """What holds the elements ``inside`` at this place."""
    if position == "private sequence":
        deep = sequence(0x00111001, [sequence(0x00111002, inside)])
        return [element(0x00110010, "LO", b"PRIVATE MAKER"), deep]
    if position == "functional group":
        return [sequence(SHARED_GROUPS, [sequence(PIXEL_MEASURES, inside)])]
    for _ in range(0 if position.endswith("1") else 4):
        inside = [sequence(MODIFIER, coded(inside))]
    return [sequence(ANATOMY, coded(inside))]


def coded(inside):
    """The elements of an item of coded concepts, those of ``inside`` instead of its own."""
    code = [element(0x00080100, "SH", b"T-D3000"), element(0x00080102, "SH", b"SRT")]
    code.append(element(0x00080104, "LO", b"Chest"))
    return [*{e.tag: e for e in code + inside}.values()]
