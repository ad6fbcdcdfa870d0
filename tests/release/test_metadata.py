"""Nothing but pixels leaves: canaries in every place of every container, strict parsers."""

import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin, TiffImagePlugin
from release_specimens import (
    KINDS,
    chunk,
    command,
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


def exif():
    made = Image.Exif()
    made[0x010E] = made[0x013B] = made[0x0131] = TEXT
    made[0x0132] = "1970:01:01 00:00:00" + TEXT
    made.get_ifd(0x8769)[0x927C] = CANARY  # MakerNote
    made.get_ifd(0x8825)[0x001D] = TEXT
    return made.tobytes()


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


def jpeg_with_everything():
    plain = pillow(scene(255, 3), "JPEG", exif=exif(), icc_profile=CANARY * 9, dpi=(72, 72))
    extra = b"".join(
        segment(marker, head + CANARY)
        for marker, head in [
            (0xE1, b"http://ns.adobe.com/xap/1.0/\0"),
            (0xED, b"Photoshop 3.0\0008BIM\x04\x04\0\0\0\0\0\x18"),
            (0xE5, b""),
            (0xEC, b"Ducky"),
            (0xFE, b""),
        ]
    )
    return plain[:2] + extra + plain[2:] + CANARY + plain


def png_with_everything():
    text = PngImagePlugin.PngInfo()
    text.add_text("Patient", TEXT)
    text.add_text("Compressed", TEXT, zip=True)
    text.add_itxt("XML:com.adobe.xmp", TEXT)
    extra = chunk(b"tIME", b"\x07\xb2\1\1\0\0\0") + chunk(b"prVt", CANARY)
    extra += chunk(b"pHYs", struct.pack(">IIB", 5000, 5000, 1)) + chunk(b"sPLT", CANARY)
    data = pillow(scene(), "PNG", pnginfo=text, exif=exif(), icc_profile=CANARY * 9, transparency=3)
    return data[:33] + extra + data[33:] + CANARY


def palette_with_message():
    palette = np.zeros((256, 3), np.uint8)
    palette[:16] = np.linspace([0, 9, 3], [255, 200, 100], 16)
    palette[100:108] = np.frombuffer(CANARY, np.uint8).reshape(8, 3)
    return png(scene(15), 8, 3, palette=palette)


def tiff_with_everything():
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    for tag in (269, 270, 271, 272, 285, 305, 306, 315, 316, 33432):
        tags[tag] = TEXT
    tags.tagtype[65000], tags[65000] = 7, CANARY
    tags.tagtype[700], tags[700] = 1, CANARY
    data = pillow(scene(), "TIFF", tiffinfo=tags, icc_profile=CANARY * 9)
    return data + CANARY


def jpeg_tables_with_message():
    """The canary as quantisation table: 64 bytes that a decoder needs."""
    data = pillow(scene(), "JPEG", quality=50)
    at = data.index(b"\xff\xdb") + 5
    return data[:at] + (CANARY * 3)[:64] + data[at + 64 :]


def hidden_in_files():
    jpeg = pillow(scene(), "JPEG")
    return {
        "everything.jpg": jpeg_with_everything(),
        "thumbnail.jpg": jpeg[:2] + segment(0xE1, thumbnail()) + jpeg[2:],
        "tables.jpg": jpeg_tables_with_message(),
        "everything.png": png_with_everything(),
        "palette.png": palette_with_message(),
        "unseen.png": png(opaque(scene()), 8, 4, extra=chunk(b"tEXt", b"a\0" + CANARY)),
        "everything.tif": tiff_with_everything(),
        "imagej.tif": tiff(scene(), imagej=True, metadata={"Info": TEXT}),
        "described.tif": tiff(scene(), description=TEXT, datetime="1970:01:01 00:00:00"),
    }


def inflated(data):
    """``data`` and what every compressed part of it holds."""
    chunks = containers.png_chunks(data) if data.startswith(b"\x89PNG") else []
    pixels = b"".join(content for kind, content in chunks if kind == b"IDAT")
    return b"\n".join([data, *(c for _, c in chunks), zlib.decompress(pixels) if chunks else b""])


def test_no_canary_leaves(release):
    files = hidden_in_files()
    for name, content in files.items():
        seen = inflated(content)
        assert CANARY in seen or TEXT.encode("utf-16-le") in seen, name
    mpo = io.BytesIO()
    second = Image.fromarray(scene())
    Image.fromarray(scene()).save(mpo, "MPO", save_all=True, append_images=[second], exif=exif())
    done = release({**files, "phone.jpg": mpo.getvalue()})
    assert done.quarantine == {"phone.jpg": "multi-frame"}
    assert set(done.files) == {*files, "manifest.csv"}
    for name, content in done.files.items():
        seen = inflated(content)
        for word in (CANARY, b"Jane", b"19700101", b"1970:01:01", TEXT.encode("utf-16-le")):
            assert word not in seen, name


def test_no_canary_on_the_console(release, tmp_path):
    for name, content in hidden_in_files().items():
        (release.source / name).write_bytes(content)
    broken = png(scene(), 8, 0, extra=chunk(b"tEXt", CANARY))[:-30]
    (release.source / f"{TEXT}.png").write_bytes(broken)
    result = command(release.source, release.out)
    assert result.exit_code == 3, result.output
    assert "Jane" not in result.output
    assert "Jane" not in (release.out / "manifest.csv").read_text()
    assert TEXT in (release.private / "quarantine.csv").read_text()


def test_times_and_permissions_tell_nothing(release):
    release.source.joinpath("a.png").write_bytes(KINDS["gray8.png"])
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


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_that_is_written_passes(name):
    format = {"png": "PNG", "jpg": "JPEG", "jpeg": "JPEG"}.get(name.rpartition(".")[2], "TIFF")
    containers.check(format, encode.encode(picture(format, KINDS[name])))


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
