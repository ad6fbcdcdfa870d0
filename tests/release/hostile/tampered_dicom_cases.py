"""DICOM files of a release that somebody changed."""

import struct
from functools import partial

import numpy as np
from corpus import each
from dicom_specimens import changed, cr, dx, file, opened, saved
from pydicom.encaps import encapsulate, generate_frames
from tampered import NOTE, released, spoiled

from anonymize.release.dicom.options import RETAINABLE, DicomOptions


def taken(make, syntax):
    dicom = DicomOptions(frozenset(RETAINABLE), transfer_syntax=syntax)
    return released({"a.dcm": file(changed(make))}, dicom=dicom)


def dicom(folder, *, change, make=dx, syntax="explicit"):
    return spoiled(folder, taken(make, syntax), "a.dcm", change)


def edited(change, data):
    made = opened(data)
    change(made)
    return saved(made)


def field(keyword, value):
    return partial(edited, lambda made: setattr(made, keyword, value))


def method(number, value):
    def change(made):
        values = list(made.DeidentificationMethod)
        made.DeidentificationMethod = [*values[:number], value, *values[number + 1 :]]

    return partial(edited, change)


def undefined(made):
    made["ViewCodeSequence"].is_undefined_length = True


def undefined_item(made):
    made.ViewCodeSequence[0].is_undefined_length_sequence_item = True


def long_text(made):
    del made.BurnedInAnnotation
    made.add_new("BurnedInAnnotation", "LO", "YES")


def turned_codes(made):
    made.DeidentificationMethodCodeSequence = made.DeidentificationMethodCodeSequence[::-1]


def instance(value):
    def change(made):
        made.SOPInstanceUID = made.file_meta.MediaStorageSOPInstanceUID = value

    return partial(edited, change)


def deep_bits(made):
    """Bits above those stored."""
    values = np.frombuffer(made.PixelData, "<u2").copy()
    values[::7] |= 0xA000
    made.PixelData = values.tobytes()


def frame(change, data):
    def put(made):
        found = next(generate_frames(made.PixelData, number_of_frames=1))
        found = found.rstrip(b"\0") if found.startswith(b"\xff\x4f") else found
        made.PixelData = encapsulate([change(found)], has_bot=False)

    return partial(edited, put)(data)


def in_tile(data):
    """Bytes at the end of the only tile, which no packet needs."""
    at = data.index(b"\xff\x90")
    (length,) = struct.unpack_from(">I", data, at + 6)
    data = data[: at + 6] + struct.pack(">I", length + len(NOTE)) + data[at + 10 :]
    return data[:-2] + NOTE + data[-2:]


def before_data(marker, content, data):
    at = data.index(b"\xff\x93", data.index(b"\xff\x90"))
    part = struct.pack(">HH", marker, len(content) + 2) + content
    return data[:at] + part + data[at:]


def idle_runs(data):
    """RLE codes that do nothing."""
    start = struct.unpack_from("<I", data, 8)[0]  # the second segment
    offsets = list(struct.unpack_from("<16I", data))
    offsets[2:3] = [0]
    head = struct.pack("<16I", *offsets)
    return head + data[64:start] + b"\x80" * 20 + data[start:]


DICOM = {
    "a date for a version": method(0, "anonymize-cxr 70.3.2"),
    "a name in a version": method(0, "anonymize-cxr 0.1.0+zlatarov"),
    "a letter in a version": method(0, "anonymize-cxr 0.1.0a19700302"),
    "a year for an edition": method(1, "PS3.15 1970c Table E.1-1"),
    "a name for a patient id": field("PatientID", "ZLATAROVANNA".ljust(32, "A")),
    "a repeated patient id": field("PatientID", ("ZLATAROV" * 4)[:32]),
    "a name for an accession number": field("AccessionNumber", "ANNA".ljust(16, "A")),
    "a date for a UID": field("StudyInstanceUID", "2.25.19700302"),
    "digits for a UID": field("SeriesInstanceUID", "2.25.4711077" + "0" * 26),
    "digits for the instance": instance("2.25.197003024711077"),
    "a day that there is not": field("StudyDate", "47110770"),
    "an hour that there is not": field("StudyTime", "770000"),
    "a sequence without length": partial(edited, undefined),
    "an item without length": partial(edited, undefined_item),
    "bits above those stored": partial(edited, deep_bits),
    "a line's end for a space": lambda d: d.replace(b"PRIMARY ", b"PRIMARY\r"),
    "spaces before a value": field("StationName", "    ROENTGEN3"),
    "a space between values": lambda d: d.replace(b"2048\\1000 ", b"2048\\ 1000"),
    "zeros behind a value": field("DetectorDescription", "a\0\0\0"),
    "another representation in the file meta information": lambda d: d.replace(b"SH", b"LO", 1),
    "another representation of a statement": partial(edited, long_text),
    "a statement many times": field("PatientIdentityRemoved", ["YES"] * 20),
    "codes of the method in another order": partial(edited, turned_codes),
    "a preamble": lambda d: NOTE.ljust(128) + d[128:],
    "bytes behind the pixels": lambda d: d + NOTE,
}
JPEG_2000 = {
    "zeros behind the end": partial(frame, lambda d: d + bytes(20)),
    "bytes behind the end": partial(frame, lambda d: d + NOTE),
    "bytes behind the last packet": partial(frame, in_tile),
    "a comment in the tile": partial(frame, partial(before_data, 0xFF64, b"\0\1" + NOTE)),
}
RUN_LENGTHS = {
    "runs of nothing": partial(frame, idle_runs),
    "zeros behind the last run": partial(frame, lambda d: d + bytes(20)),
}


def looked_at(folder, *, value):
    """What a release says of text that was burned in."""
    from anonymize.release.dicom import scan

    fits = scan.METHOD.fullmatch(
        f"anonymize-cxr 0.1.0\\PS3.15 {scan.profile.EDITION} Table E.1-1\\Burned-in text: {value}"
    )
    return None if fits is None else "admitted"


METHODS = (
    "4711077 regions inpainted (rapidocr 3.10.0)",
    "0 regions inpainted (rapidocr 3.10.0)",
    "none found (zlatarov 3.10.0)",
    "none found (rapidocr 19700302)",
    "none found (rapidocr 19.70.0302)",
    "none found (rapidocr 3.1.0.0.0.0.0.0)",
)


CASES = [
    *each("tampered DICOM", dicom, DICOM, "change"),
    *each("tampered JPEG 2000", dicom, JPEG_2000, "change", syntax="jpeg2000", make=cr),
    *each("tampered RLE", dicom, RUN_LENGTHS, "change", syntax="rle", make=cr),
    *each("tampered method", looked_at, {value: value for value in METHODS}, "value"),
]
