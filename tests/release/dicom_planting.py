"""Marked values for every row of PS3.15 Table E.1-1, at five places of a file.

Files are put together by an encoder of a few lines, so that any tag can stand anywhere.
"""

import struct
from dataclasses import dataclass
from functools import cache

from dicom_specimens import capture, dx, file, picture, with_pixels
from pydicom.datadict import dictionary_has_tag, dictionary_VR

from anonymize.release.dicom import profile
from anonymize.release.dicom.elements import Element, read_file

POSITIONS = ("root", "sequence depth 1", "sequence depth 5", "private sequence", "functional group")
SHORT = "AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split()  # noqa: SIM905
ANATOMY, MODIFIER = 0x00082218, 0x00082220
SHARED_GROUPS, PIXEL_MEASURES = 0x52009229, 0x00289110
MEDIA_INSTANCE = 0x00020003


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
    }.get(vr, f"MARK{number:05}Q")
    needle = text.encode()
    value = needle
    if vr in ("US", "SS"):
        value = struct.pack("<H", 0xBEE0 + number % 16)
        needle = element(tag, vr, value)
    elif vr == "SQ":
        content = element(0x00080104, "LO", needle)
        value = b"\xfe\xff\0\xe0" + struct.pack("<I", len(content)) + content
    return Planted(tag, vr, code, value, needle)


def element(tag, vr, value):
    """One explicit little-endian element."""
    value += (b"\0" if vr in ("UI", "OB", "UN", "SQ") else b" ") * (len(value) % 2)
    head = struct.pack("<HH", tag >> 16, tag & 0xFFFF) + vr.encode()
    if vr in SHORT:
        return head + struct.pack("<H", len(value)) + value
    return head + b"\0\0" + struct.pack("<I", len(value)) + value


def sequence(tag, content):
    """A sequence of one item."""
    return element(tag, "SQ", b"\xfe\xff\0\xe0" + struct.pack("<I", len(content)) + content)


@cache
def carrier(groups):
    """Encoded elements and meta information of a file with or without functional groups."""
    base = capture() if groups else dx()
    if groups:
        base.SOPClassUID, base.NumberOfFrames = "1.2.840.10008.5.1.4.1.1.7.3", 1
    opened = read_file(file(with_pixels(base, picture(), bits=12)))
    elements = {e.tag: encoded(e) for e in opened.elements}
    return elements, {e.tag: encoded(e) for e in opened.meta if e.tag & 0xFFFF}


def marked(plants, position):
    """A file with these attributes at this place, instead of its own."""
    elements, meta = map(dict, carrier(position == "functional group"))
    content = {p.tag: element(p.tag, p.vr, p.value) for p in plants}
    if position == "root":
        own = {tag: content.pop(tag) for tag in list(content) if tag >> 16 == 2}
        meta |= own
        elements |= content
    else:
        inside = b"".join(content[tag] for tag in sorted(content) if tag >> 16 != 2)
        for tag, made in nested(position, inside):
            elements[tag] = made
    body = b"".join(meta[tag] for tag in sorted(meta))
    length = element(0x00020000, "UL", struct.pack("<I", len(body)))
    return bytes(128) + b"DICM" + length + body + b"".join(elements[t] for t in sorted(elements))


def nested(position, inside):
    """(tag, element) of what holds ``inside`` at this place."""
    code = element(0x00080100, "SH", b"T-D3000") + element(0x00080102, "SH", b"SRT")
    code += element(0x00080104, "LO", b"Chest")
    if position == "private sequence":
        return [
            (0x00110010, element(0x00110010, "LO", b"PRIVATE MAKER")),
            (0x00111001, sequence(0x00111001, sequence(0x00111002, inside))),
        ]
    if position == "functional group":
        return [(SHARED_GROUPS, sequence(SHARED_GROUPS, sequence(PIXEL_MEASURES, inside)))]
    for _ in range(0 if position.endswith("1") else 4):
        inside = code_item(code, sequence(MODIFIER, code_item(code, inside)))
    return [(ANATOMY, sequence(ANATOMY, code_item(code, inside)))]


def code_item(code, inside):
    """The content of an item of coded concepts: elements before and behind the code are sorted."""
    opened = {e[:4]: e for e in split(code) + split(inside)}
    return b"".join(opened[key] for key in sorted(opened, key=lambda k: struct.unpack("<HH", k)))


def split(content):
    """The elements of an encoded data set."""
    parts, at = [], 0
    while at < len(content):
        vr = content[at + 4 : at + 6].decode()
        if vr in SHORT:
            end = at + 8 + struct.unpack_from("<H", content, at + 6)[0]
        else:
            end = at + 12 + struct.unpack_from("<I", content, at + 8)[0]
        parts.append(content[at:end])
        at = end
    return parts


def encoded(found: Element):
    """An element of a file as it was."""
    if found.items is None:
        return element(found.tag, found.vr, bytes(found.value))
    items = b""
    for item in found.items:
        content = b"".join(map(encoded, item))
        items += b"\xfe\xff\0\xe0" + struct.pack("<I", len(content)) + content
    return element(found.tag, "SQ", items)
