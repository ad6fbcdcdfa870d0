"""Bytes in released TIFF files that none of their pixels need."""

import struct
from functools import partial

import numpy as np
from raster_cases import tampered
from tampered import NOTE

from anonymize.release.raster import containers


def entries(data):
    (start,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, start)
    return start, [data[start + 2 + 12 * i : start + 14 + 12 * i] for i in range(count)]


def moved(shift, data):
    """The directory further behind: its offsets say where its values are now."""
    start, found = entries(data)
    made = []
    for entry in found:
        tag, kind, count, value = struct.unpack("<HHII", entry)
        outside = containers.TIFF_SIZES[kind] * count > 4
        made.append(struct.pack("<HHII", tag, kind, count, value + shift * outside))
    return start, made


def hole(data):
    start, made = moved(len(NOTE), data)
    head = data[:4] + struct.pack("<I", start + len(NOTE)) + data[8:start]
    behind = data[start + 2 + 12 * len(made) :]
    return head + NOTE + struct.pack("<H", len(made)) + b"".join(made) + behind


def one_more_tag(data):
    """ImageDescription, at the end of the file."""
    start, made = moved(12, data)
    behind = data[start + 2 + 12 * len(made) :]
    place = len(data) + 12
    made.append(struct.pack("<HHII", 270, 2, len(NOTE), place))
    made.sort(key=lambda e: struct.unpack_from("<H", e)[0])
    return data[:start] + struct.pack("<H", len(made)) + b"".join(made) + behind + NOTE


def changed_entry(tag, change, data):
    start, found = entries(data)
    for i, entry in enumerate(found):
        if struct.unpack_from("<H", entry)[0] == tag:
            at = start + 2 + 12 * i
            return data[:at] + change(entry) + data[at + 12 :]
    raise AssertionError


def turned_tags(data):
    start, found = entries(data)
    made = b"".join(found[::-1])
    return data[: start + 2] + made + data[start + 2 + len(made) :]


def low_bytes(data):
    """The lower byte of a palette's 16-bit colours, which nothing shows."""
    tag = containers.tiff_directory(data).tags[320]
    at, length = tag.place
    colours = np.frombuffer(data[at : at + length], "<u2").copy()
    colours[: len(NOTE)] = colours[: len(NOTE)] & 0xFF00 | np.frombuffer(NOTE, np.uint8)
    return data[:at] + colours.tobytes() + data[at + length :]


def unused_in_tiff(data):
    tag = containers.tiff_directory(data).tags[320]
    at, length = tag.place
    end = at + length // 3  # of the red ones
    return data[: end - len(NOTE)] + NOTE + data[end:]


def short_tail(entry):
    return entry[:10] + b"ZA"


TIFF = {
    "bytes behind the end": lambda d: d + NOTE,
    "a hole": hole,
    "a description": one_more_tag,
    "tags in another order": turned_tags,
    "a second directory": lambda d: d[:-4] + struct.pack("<I", 8),
    "bytes behind a short value": partial(changed_entry, 262, short_tail),
    "a long for a short": partial(
        changed_entry, 284, lambda e: e[:2] + struct.pack("<H", 4) + e[4:]
    ),
    "rows that there are not": partial(
        changed_entry, 278, lambda e: e[:8] + struct.pack("<I", 19700302)
    ),
}
PALETTE_TIFF = {"lower bytes of colours": low_bytes, "colours that are not in use": unused_in_tiff}


CASES = [*tampered("gray8.tif", TIFF), *tampered("palette.tif", PALETTE_TIFF)]
