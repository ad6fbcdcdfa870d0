"""Nothing but pixels leaves: canaries in every place of every container, strict parsers."""

import os
import struct

import canaries
import numpy as np
import pytest
from PIL import Image
from release_specimens import (
    KINDS,
    chunk,
    command,
    fill,
    opaque,
    pillow,
    png,
    saved,
    scene,
    segment,
    tiff,
)

from anonymize.release import encode
from anonymize.release.decode import picture
from anonymize.release.radiograph import Radiograph
from anonymize.release.raster import containers
from anonymize.release.reasons import ContainerError

CANARY = b"CANARY-Jane-Doe-19700101"
TEXT = CANARY.decode()


def thumbnail():
    """An Exif block with a JPEG thumbnail that holds the canary."""
    picture = pillow(scene(), "JPEG", comment=CANARY)
    ifd0 = struct.pack("<H", 0) + struct.pack("<I", 14)
    ifd1 = (
        struct.pack("<H", 2)
        + struct.pack("<HHII", 0x0201, 4, 1, 44)
        + struct.pack("<HHII", 0x0202, 4, 1, len(picture))
        + struct.pack("<I", 0)
    )
    return b"Exif\0\0II*\0\x08\0\0\0" + ifd0 + ifd1 + picture


def palette_with_message():
    palette = np.zeros((256, 3), np.uint8)
    palette[:16] = np.linspace([0, 9, 3], [255, 200, 100], 16)
    palette[100:108] = np.frombuffer(CANARY, np.uint8).reshape(8, 3)
    return png(scene(15), 8, 3, palette=palette)


def jpeg_tables_with_message():
    """The canary as quantisation table: 64 bytes that a decoder needs."""
    data = pillow(scene(), "JPEG", quality=50)
    at = data.index(b"\xff\xdb") + 5
    return data[:at] + (CANARY * 3)[:64] + data[at + 64 :]


def hidden_in_files():
    """Beside the thirty places of a file that tests/release/canaries.py knows."""
    jpeg = pillow(scene(255, 3), "JPEG", icc_profile=CANARY * 9, dpi=(72, 72), comment=CANARY)
    chunks = chunk(b"tIME", b"\x07\xb2\1\1\0\0\0") + chunk(b"sPLT", CANARY)
    chunks += chunk(b"pHYs", struct.pack(">IIB", 5000, 5000, 1))
    return {
        "profile.jpg": jpeg + CANARY + jpeg,
        "thumbnail.jpg": jpeg[:2] + segment(0xE1, thumbnail()) + jpeg[2:],
        "tables.jpg": jpeg_tables_with_message(),
        "chunks.png": png(scene(), 8, 0, extra=chunks, tail=CANARY),
        "profile.png": pillow(scene(), "PNG", icc_profile=CANARY * 9, transparency=3) + CANARY,
        "palette.png": palette_with_message(),
        "unseen.png": png(opaque(scene()), 8, 4, extra=chunk(b"tEXt", b"a\0" + CANARY)),
        "profile.tif": pillow(scene(), "TIFF", icc_profile=CANARY * 9) + CANARY,
        "imagej.tif": tiff(scene(), imagej=True, metadata={"Info": TEXT}),
        "described.tif": tiff(scene(), description=TEXT, datetime="1970:01:01 00:00:00"),
    }


def test_no_canary_leaves(release):
    files = hidden_in_files()
    for name, content in files.items():
        seen = canaries.searchable(name, content)
        assert CANARY in seen or TEXT.encode("utf-16-le") in seen, name
    done = release(files)
    assert done.quarantine == {}
    assert set(done.files) == {*files, "manifest.csv"}
    for name, content in done.files.items():
        seen = canaries.searchable(name, content)
        for word in (CANARY, b"Jane", b"19700101", b"1970:01:01", TEXT.encode("utf-16-le")):
            assert word not in seen, name


@pytest.mark.parametrize("seed", range(8))
def test_none_of_thirty_canaries_leaves(release, seed):
    path, content, planted = canaries.specimen(seed)
    assert canaries.planted(path, content, planted) == planted
    done = release({path: content}, names="hashed")
    assert done.quarantine == {}
    for name, made in done.files.items():
        assert canaries.hits(canaries.searchable(name, made), planted) == []


def test_no_canary_on_the_console(release):
    broken = png(scene(), 8, 0, extra=chunk(b"tEXt", CANARY))[:-30]
    fill(release.source, {**hidden_in_files(), f"{TEXT}.png": broken})
    assert "Jane" not in command(release.source, release.out, code=3).output
    assert "Jane" not in (release.out / "manifest.csv").read_text()
    assert TEXT in (release.private / "quarantine.csv").read_text()


def test_times_and_permissions_tell_nothing(release):
    fill(release.source, {"a.png": KINDS["gray8.png"]})
    os.utime(release.source / "a.png", (7, 7))
    release.source.joinpath("a.png").chmod(0o640)
    release()
    status = (release.out / "a.png").stat()
    assert status.st_mtime == 315532800
    assert status.st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask & ~0o022 | 0o022


OUTPUTS = {
    "PNG": encode.encode(picture("PNG", KINDS["gray8.png"])),
    "JPEG": encode.encode(picture("JPEG", KINDS["rgb.jpg"])),
    "TIFF": encode.encode(picture("TIFF", KINDS["gray16.tif"])),
}
JPEG_END = OUTPUTS["JPEG"][:-2]


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("PNG", OUTPUTS["PNG"] + b"x"),
        ("PNG", OUTPUTS["PNG"][:33] + chunk(b"tEXt", b"a\0b") + OUTPUTS["PNG"][33:]),
        ("PNG", OUTPUTS["PNG"][:33] + chunk(b"pHYs", bytes(9)) + OUTPUTS["PNG"][33:]),
        ("PNG", OUTPUTS["PNG"][:-13] + b"x" + OUTPUTS["PNG"][-12:]),
        ("PNG", OUTPUTS["PNG"][:-20]),
        ("PNG", OUTPUTS["PNG"][:-12] + chunk(b"IDAT", b"more") + chunk(b"IEND", b"")),
        ("PNG", OUTPUTS["PNG"][:-12] + chunk(b"IEND", b"more")),
        ("PNG", png(scene(), 8, 0, interlaced=True)),
        ("JPEG", OUTPUTS["JPEG"] + b"x"),
        ("JPEG", OUTPUTS["JPEG"][:2] + segment(0xFE, b"x") + OUTPUTS["JPEG"][2:]),
        ("JPEG", OUTPUTS["JPEG"][:2] + segment(0xE1, b"Exif\0\0") + OUTPUTS["JPEG"][2:]),
        ("JPEG", JPEG_END + segment(0xE0, b"JFIF\0\1\1\1\0\x48\0\x48\0\0") + b"\xff\xd9"),
        ("JPEG", JPEG_END),
        ("JPEG", pillow(scene(), "JPEG", progressive=True)),
        ("TIFF", OUTPUTS["TIFF"] + b"xx"),
        ("TIFF", tiff(scene())),
        ("TIFF", tiff(scene(), metadata=None, software=False)),
        ("TIFF", saved(Image.fromarray(scene()), "TIFF", dpi=(72, 72))),
    ],
)
def test_anything_else_is_refused(format, data):
    with pytest.raises(ContainerError):
        containers.check(format, data)


def test_a_hole_in_a_tiff_is_refused():
    made = Radiograph("TIFF", "gray", 8, scene()[..., None], compressed=False)
    data = bytearray(encode.encode(made))
    (start,) = struct.unpack_from("<I", data, 4)
    hole = data[:start] + b"hidden" + data[start:]
    struct.pack_into("<I", hole, 4, start + 6)
    with pytest.raises(ContainerError, match="belong to no strip"):
        containers.check("TIFF", bytes(hole))
