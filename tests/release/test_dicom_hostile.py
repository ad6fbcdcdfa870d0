"""Hostile DICOM files: refused at once, without recursion, and without memory on their word."""

import struct
import zlib

import dicom_specimens as dicom
import mutants
import pytest
from dicom_planting import element, encoded, sequence
from pydicom.encaps import encapsulate, generate_frames
from test_bombs import bounded

from anonymize.release import decode, radiograph
from anonymize.release.dicom import elements
from anonymize.release.dicom.elements import MAX_DEPTH
from anonymize.release.dicom.options import RETAINABLE
from anonymize.release.reasons import Reason, Refused

RULES = dicom.rules(retain=frozenset(RETAINABLE), clean_descriptors=True)
WHOLE = dicom.file(dicom.changed())
BEGINS = WHOLE.index(b"\x08\0\x05\0CS")  # behind the file meta information
UNDEFINED = b"\xff\xff\xff\xff"
SEQUENCES = {"known": b"\x08\0\x18\x22", "private": b"\x11\0\x01\x10", "unknown": b"\x18\0\x77\x77"}


def outcome(data):
    """The reason of a refusal, or "ok" where the file is released and passes the scan."""
    try:
        dicom.checked(decode.picture("DICOM", data, RULES))
    except Refused as refusal:
        return refusal.reason
    return "ok"


def quickly(data):
    """The outcome, found with as little work and memory as a radiograph is worth."""
    with bounded():
        return outcome(data)


@pytest.mark.parametrize("place", SEQUENCES)
@pytest.mark.parametrize("depth", [1000, 200_000])
@pytest.mark.parametrize("vr", [b"SQ\0\0", b"UN\0\0"])
def test_deep_nesting_is_refused(place, depth, vr):
    head = SEQUENCES[place]
    inner = head if vr == b"UN\0\0" else head + vr
    deep = head + vr + UNDEFINED + b"\xfe\xff\0\xe0" + UNDEFINED
    deep += (inner + UNDEFINED + b"\xfe\xff\0\xe0" + UNDEFINED) * depth
    assert quickly(WHOLE[:BEGINS] + deep) is Reason.DICOM_STRUCTURE


def test_nesting_of_defined_length_is_refused_or_walked():
    def nested(depth):
        inside = element(0x00080104, "LO", b"x")
        for _ in range(depth):
            inside = sequence(0x00111001, [inside])
        return WHOLE[:BEGINS] + encoded(inside) + WHOLE[BEGINS:]

    assert quickly(nested(MAX_DEPTH + 1)) is Reason.DICOM_STRUCTURE
    assert quickly(nested(200)) is Reason.DICOM_STRUCTURE
    assert quickly(nested(MAX_DEPTH)) == "ok"


HEADS = {vr: b"\x08\0\x18\x22" + vr.encode() + b"\0\0" for vr in ("OB", "UT", "SQ", "UN", "OW")}
HEADS["item"] = encoded(sequence(0x00082218, []))[:-4]


@pytest.mark.parametrize("length", [0xFFFFFFFE, 0x7FFFFFFF, 1 << 28])
@pytest.mark.parametrize("head", HEADS)
def test_giant_lengths_are_not_believed(head, length):
    begun = HEADS[head] + struct.pack("<I", length)
    assert quickly(WHOLE[:BEGINS] + begun + WHOLE[BEGINS:]) is Reason.DAMAGED


def test_a_million_elements_are_refused(monkeypatch):
    assert elements.MAX_ELEMENTS <= 1e5
    monkeypatch.setattr(elements, "MAX_ELEMENTS", 5000)
    many = encoded(*(element(0x00090000 | n, "LO", b"") for n in range(6000)))
    assert quickly(WHOLE[:BEGINS] + many) is Reason.DICOM_STRUCTURE
    items = element(0x00091000, "SQ", b"\xfe\xff\0\xe0\0\0\0\0" * (1 << 20))
    assert quickly(WHOLE[:BEGINS] + encoded(items)) is Reason.DICOM_STRUCTURE


@pytest.mark.parametrize(("words", "expected"), [(2_000, "ok"), (20_100, Reason.DICOM_STRUCTURE)])
def test_a_flood_of_words_does_not_switch_off_the_search(words, expected):
    made = dicom.changed()
    block = made.private_block(0x11, "FLOOD", create=True)
    block.add_new(1, "UT", " ".join(f"word{n:06d}" for n in range(words)))
    assert outcome(dicom.file(made)) == expected


def test_a_deflate_bomb_is_refused(monkeypatch):
    assert elements.MAX_INFLATED >= 2 * radiograph.MAX_PIXELS
    monkeypatch.setattr(elements, "MAX_INFLATED", 1 << 22)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = packer.compress(bytes(1 << 26)) + packer.flush()
    small = dicom.file(dicom.changed(), dicom.DEFLATED)
    at = 144 + struct.unpack_from("<I", small, 140)[0]
    assert quickly(small[:at] + bomb) is Reason.DICOM_STRUCTURE
    assert outcome(small[:-9]) is Reason.DAMAGED


@pytest.mark.parametrize(
    "syntax", [dicom.LOSSLESS_FIRST, dicom.JPEG_LS, dicom.JPEG_2000, dicom.RLE]
)
def test_frames_of_another_size_are_not_decoded(syntax):
    made = dicom.compressed(dicom.changed(), syntax)
    frame = next(generate_frames(made.PixelData, number_of_frames=1))
    made.Rows = 4000
    made.PixelData = encapsulate([frame])
    assert quickly(dicom.written(made, syntax)) is Reason.DAMAGED


def test_files_without_preamble_or_meta_information_and_with_padding_are_read():
    made = dicom.changed()
    assert outcome(WHOLE[132:]) == "ok"
    assert outcome(WHOLE[BEGINS:]) == "ok"
    implicit = dicom.file(made, dicom.IMPLICIT)
    assert outcome(implicit[144 + struct.unpack_from("<I", implicit, 140)[0] :]) == "ok"
    assert outcome(b"II*\0" + b"\x77" * 124 + WHOLE[128:] + bytes(300)) == "ok"
    assert outcome(WHOLE + b"Josefine") is Reason.DAMAGED
    assert outcome(WHOLE[:-1]) is Reason.DAMAGED
    assert outcome(WHOLE.replace(dicom.EXPLICIT.encode() + b"\0", b"1.2.3.4".ljust(20, b"\0"))) is (
        Reason.TRANSFER_SYNTAX
    )


@pytest.mark.filterwarnings("ignore::UserWarning:pydicom")
def test_mutants_are_refused_or_pass_the_scan():
    """A few of those that tests/benchmarks/reliability_mutants.py releases."""
    files = mutants.originals()["DICOM"]
    outcomes = {outcome(mutants.mutant(seed, "DICOM", files)) for seed in range(150)}
    assert {"ok", Reason.DAMAGED, Reason.UNSUPPORTED_PIXELS} <= outcomes
