"""Variants of good files that keep their containers whole, so that what lies deeper is reached.

Most changes of single bytes break a checksum or a length, and are refused at the door. Here a file
is taken apart, a part is changed, and lengths and checksums are made anew.
"""

import itertools
import random
import struct
import warnings
import zlib
from contextlib import suppress

import dicom_specimens as dicom
from pydicom.config import IGNORE
from pydicom.dataelem import DataElement
from pydicom.sequence import Sequence
from release_specimens import chunk, segment

from anonymize.release.raster.containers import jpeg_segments, png_chunks

NUMBERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 255, 256, 1000, 32767, 65535)
TEXTS = ("", " ", "0", "-1", "1e300", "nan", "\\", "a\\b\\c")
TEXTS += ("Müller", "x" * 70, "2021", "ISO_IR 192")


def reshaped(rng: random.Random, format: str, data: bytes) -> bytes:
    """``data``, a good file of ``format``, with one to three of its parts changed."""
    return {"PNG": _png, "JPEG": _jpeg, "TIFF": _tiff, "DICOM": _dicom}[format](rng, data)


def _noisy(rng, content, *, most=8):
    """Some bytes of ``content`` replaced."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, most) if changed else 0):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    return bytes(changed)


def _shuffled(rng, parts):
    """A list with one of its inner parts removed, given twice, or exchanged with another."""
    parts = list(parts)
    at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    change = rng.randrange(3)
    if change == 0:
        del parts[at]
    elif change == 1:
        parts.insert(other, parts[at])
    else:
        parts[at], parts[other] = parts[other], parts[at]
    return parts


def _png(rng, data):
    chunks = png_chunks(data)
    for _ in range(rng.randint(1, 3)):
        change = rng.randrange(5)
        number = rng.randrange(len(chunks))
        if change == 0:
            chunks = _shuffled(rng, chunks) or chunks
        elif change == 1:
            kind = rng.choice((b"tEXt", b"zTXt", b"iCCP", b"tRNS", b"PLTE", b"eXIf", b"sBIT"))
            chunks.insert(number, (kind, rng.randbytes(rng.choice((0, 1, 2, 6, 30, 768)))))
        elif change == 2:
            kind, content = chunks[number]
            chunks[number] = (kind, _noisy(rng, content, most=2))
        else:
            chunks = _other_samples(rng, chunks)
    return data[:8] + b"".join(chunk(kind, content) for kind, content in chunks)


def _other_samples(rng, chunks):
    """The pixels' stream inflated, changed, and deflated again, in one part or several."""
    stream = b"".join(content for kind, content in chunks if kind == b"IDAT")
    try:
        samples = zlib.decompress(stream)
    except zlib.error:
        return chunks
    change = rng.randrange(4)
    if change == 0:
        samples = samples[: rng.randrange(len(samples) + 1)]
    elif change == 1:
        samples += rng.randbytes(rng.choice((1, 50)))
    else:
        samples = _noisy(rng, samples, most=60)
    packed = zlib.compress(samples, rng.randrange(10))
    cut = rng.randrange(len(packed))
    parts = [packed[:cut], packed[cut:]] if rng.random() < 0.3 else [packed]
    others = [c for c in chunks if c[0] != b"IDAT"]
    end = next((i for i, c in enumerate(others) if c[0] == b"IEND"), len(others))
    return [*others[:end], *((b"IDAT", part) for part in parts), *others[end:]]


def _jpeg(rng, data):
    segments, at = [], 2
    for marker, content, end in itertools.islice(jpeg_segments(data), 1, None):
        if marker == 0xDA:
            break
        segments.append((marker, content))
        at = end
    scan = data[at:-2]
    for _ in range(rng.randint(1, 3)):
        change = rng.randrange(5)
        number = rng.randrange(len(segments))
        if change == 0:
            segments = _shuffled(rng, segments) or segments
        elif change == 1:
            marker = rng.choice((0xFE, 0xE0, 0xE1, 0xE2, 0xED, 0xEE, 0xDD, 0xDB, 0xC4))
            segments.insert(number, (marker, rng.randbytes(rng.choice((2, 12, 65, 700)))))
        elif change == 2:
            marker, content = segments[number]
            segments[number] = (marker, _noisy(rng, content, most=2))
        elif change == 3:
            scan = scan[:14] + _noisy(rng, scan[14:], most=20)
        else:
            scan = scan[: rng.randrange(14, len(scan) + 1)] if len(scan) > 14 else scan
    parts = (segment(*one) for one in segments)
    return data[:2] + b"".join(parts) + scan + data[-2:]


def _tiff(rng, data):
    order = "<" if data[:2] == b"II" else ">"
    (start,) = struct.unpack_from(order + "I", data, 4)
    (count,) = struct.unpack_from(order + "H", data, start)
    entries = [
        list(struct.unpack_from(order + "HHII", data, start + 2 + 12 * i)) for i in range(count)
    ]
    body = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        change = rng.randrange(5)
        entry = rng.choice(entries)
        if change == 0:
            entry[3] = rng.choice((*NUMBERS, entry[3] + rng.randint(-2, 2))) & 0xFFFFFFFF
        elif change == 1:
            entry[rng.choice((1, 2))] = rng.choice(NUMBERS[:8])
        elif change == 2:
            entries.append([rng.choice((270, 274, 317, 338, 339, 700, 34665, 65000)), 4, 1, 8])
        elif change == 3 and len(entries) > 1:
            entries.remove(entry)
        else:
            body[8:] = _noisy(rng, body[8:], most=20)
    # At the end, where there is room for more of them.
    body += b"\0" * (len(body) % 2)
    struct.pack_into(order + "I", body, 4, len(body))
    entries.sort()
    directory = b"".join(struct.pack(order + "HHII", *entry) for entry in entries)
    return bytes(body) + struct.pack(order + "H", len(entries)) + directory + bytes(4)


def _dicom(rng, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the values are meant to be wrong
        made = dicom.opened(data)
        for _ in range(rng.randint(1, 3)):
            with suppress(ValueError, TypeError, OverflowError):  # pydicom makes no such value
                _other_element(rng, made)
        return dicom.saved(made, enforced=False)


def _other_element(rng, made):
    element = rng.choice([element for element in made if element.tag != 0x7FE00010])
    change = rng.randrange(6)
    if change == 0:
        del made[element.tag]
    elif change == 1:
        value = _value(rng, element.VR)
        made.add(DataElement(element.tag, element.VR, value, validation_mode=IGNORE))
    elif change == 2:
        tag = (rng.choice((0x0009, 0x0011, 0x0029, 0x5401)) << 16) | rng.choice((0x10, 0x1001))
        representation = rng.choice(("LO", "UN", "OB", "UT"))
        made.add_new(tag, representation, "Jane" if representation in ("LO", "UT") else b"Jane")
    elif change == 3:
        made.add_new(0x00081140, "SQ", Sequence([dicom.code("1", "2", "3")] * rng.randint(0, 3)))
    elif change == 4:
        key = rng.choice(("Rows", "Columns", "BitsStored", "HighBit", "PixelRepresentation"))
        setattr(made, key, rng.choice((*NUMBERS, made.get(key, 0))))
    else:
        pixels = made.PixelData
        made["PixelData"].value = pixels[:16] + _noisy(rng, pixels[16:], most=20)


def _value(rng, representation):
    """Another value of this representation, right or wrong."""
    if representation == "SQ":
        return Sequence([])
    if representation in ("US", "SS", "UL", "SL"):
        return rng.choice(NUMBERS)
    if representation in ("OB", "OW", "UN"):
        return rng.randbytes(rng.choice((0, 2, 64)))
    return rng.choice(TEXTS)
