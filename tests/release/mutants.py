"""Damaged and hostile variants of good files, each made from a seed alone."""

import random
import struct

import dicom_specimens as dicom
import shaped_mutants
from release_specimens import KINDS, chunk

LARGE = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, (1 << 31) - 1]
LARGE += [(1 << 32) - 2, (1 << 32) - 1]
SYNTAXES = ("EXPLICIT", "IMPLICIT", "BIG_ENDIAN", "DEFLATED", "BASELINE", "LOSSLESS_FIRST")
SYNTAXES += ("JPEG_LS", "JPEG_2000", "RLE")


def originals():
    """{format: [content]} of files that are released."""
    made = {
        "PNG": [c for n, c in KINDS.items() if n.endswith("png")],
        "JPEG": [c for n, c in KINDS.items() if n.endswith(("jpg", "jpeg"))],
        "TIFF": [c for n, c in KINDS.items() if ".tif" in n],
        "DICOM": [],
    }
    for maker, bits in ((dicom.cr, 12), (dicom.dx, 14), (dicom.capture, 8)):
        for name in SYNTAXES:
            if name == "BASELINE" and bits != 8:
                continue
            image = dicom.with_pixels(maker(), dicom.picture(bits), bits=bits)
            made["DICOM"].append(dicom.file(image, getattr(dicom, name)))
    return made


def mutant(seed, format, parents):
    """A variant of one of ``parents`` (files of ``format``) after 1 to 6 changes.

    Of bytes, wherever they are, where ``seed`` is even; else of parts of the file, as they are
    meant by its format.
    """
    rng = random.Random(f"{format}-{seed}")
    if seed % 2:
        return shaped_mutants.reshaped(rng, format, rng.choice(parents))
    data = bytearray(rng.choice(parents))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change = rng.choice(CHANGES)
        data = bytearray(change(rng, data, parents)) or bytearray(b"\0")
    if format == "PNG" and rng.random() < 0.8:
        data = bytearray(with_checksums(bytes(data)))
    return bytes(data)


def _place(rng, data):
    """Somewhere, more often near the beginning, where headers are."""
    if rng.random() < 0.5:
        return rng.randrange(min(len(data), 600))
    return rng.randrange(len(data))


def _flip(rng, data, parents):
    data[_place(rng, data)] ^= 1 << rng.randrange(8)
    return data


def _noise(rng, data, parents):
    at = _place(rng, data)
    data[at : at + rng.randint(1, 16)] = rng.randbytes(rng.randint(1, 16))
    return data


def _number(rng, data, parents):
    kind = rng.choice(("<H", ">H", "<I", ">I", "B"))
    value = rng.choice(LARGE) & ((1 << 8 * struct.calcsize(kind)) - 1)
    at = _place(rng, data)
    data[at : at + struct.calcsize(kind)] = struct.pack(kind, value)
    return data


def _truncate(rng, data, parents):
    return data[: _place(rng, data)]


def _delete(rng, data, parents):
    at = _place(rng, data)
    del data[at : at + rng.choice((1, 2, 4, 8, 100))]
    return data


def _repeat(rng, data, parents):
    at = _place(rng, data)
    part = data[at : at + rng.choice((4, 12, 64, 512))]
    return data[:at] + part * rng.choice((2, 3, 50)) + data[at:]


def _insert(rng, data, parents):
    at = _place(rng, data)
    return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 1000))) + data[at:]


def _zero(rng, data, parents):
    at = _place(rng, data)
    length = len(data[at : at + rng.choice((4, 64, 2000))])
    data[at : at + length] = bytes([rng.choice((0, 255))]) * length
    return data


def _splice(rng, data, parents):
    other = rng.choice(parents)
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def _swap(rng, data, parents):
    a, b, size = _place(rng, data), _place(rng, data), rng.choice((2, 12, 40))
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    return data


CHANGES = (_flip, _noise, _number, _number, _truncate, _delete, _repeat)
CHANGES += (_insert, _zero, _splice, _swap)


def with_checksums(data):
    """A PNG whose chunks, as far as they can be told, have right checksums."""
    made, at = [data[:8]], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if at + 12 + length > len(data):
            break
        made.append(chunk(data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    return b"".join(made) + data[at:]
