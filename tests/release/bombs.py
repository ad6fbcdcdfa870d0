"""Small files that ask for much: pixels, inflated bytes, depth, lengths, loops. {name: maker}."""

import struct
import zipfile
import zlib

import dicom_specimens as dicom
from archive_specimens import archive
from pydicom.encaps import encapsulate
from release_specimens import KINDS, chunk, pillow, said_to_be, scene

GOOD, JPEG, TIFF = KINDS["gray8.png"], KINDS["gray.jpg"], KINDS["gray8.tif"]
UNDEFINED = b"\xff\xff\xff\xff"


def deflated(size, bits=zlib.MAX_WBITS):
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    block = bytes(1 << 20)
    parts = [packer.compress(block) for _ in range(size >> 20)]
    return b"".join([*parts, packer.flush()])


def png(width, height, stream, *, interlaced=0, times=1):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlaced)
    pixels = chunk(b"IDAT", stream) * times
    return GOOD[:8] + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


def png_extra(extra):
    return GOOD[:33] + extra + GOOD[33:]


def text_bomb(kind, head):
    return png_extra(chunk(kind, head + deflated(1 << 30)))


def many_scans(count):
    """A progressive JPEG whose last scan comes again and again, over a giant frame."""
    data = said_to_be(pillow(scene(), "JPEG", progressive=True), 8000, 8000)
    scan = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + scan * count + b"\xff\xd9"


def many_segments(count):
    return JPEG[:2] + b"\xff\xfe\0\2" * count + JPEG[2:]


def tagged(*, count=None, **changes):
    """The TIFF specimen with other values in its tags: ``t256=…``."""
    data = bytearray(TIFF)
    (start,) = struct.unpack_from("<I", data, 4)
    (entries,) = struct.unpack_from("<H", data, start)
    for i in range(entries):
        at = start + 2 + 12 * i
        (tag,) = struct.unpack_from("<H", data, at)
        if f"t{tag}" in changes:
            struct.pack_into("<HII", data, at + 2, 4, count or 1, changes[f"t{tag}"])
    return bytes(data)


def loop():
    """A directory that is followed by itself."""
    data = bytearray(TIFF)
    (start,) = struct.unpack_from("<I", data, 4)
    (entries,) = struct.unpack_from("<H", data, start)
    struct.pack_into("<I", data, start + 2 + 12 * entries, start)
    return bytes(data)


def many_tags(count, size):
    """Every tag points to the same ``size`` bytes."""
    body = bytes(size)
    directory = b"".join(struct.pack("<HHII", 1000 + i, 1, size, 8) for i in range(count))
    head = b"II*\0" + struct.pack("<I", 8 + size)
    return head + body + struct.pack("<H", count) + directory + bytes(4)


def tiff_stream(compression, stream, side=7000, **changes):
    """A TIFF of one strip with this stream; other values of its tags: ``t256=…``."""
    entries = {256: side, 257: side, 258: 8, 259: compression, 262: 1}
    entries |= {273: 8, 277: 1, 278: side, 279: len(stream)}
    entries |= {int(tag[1:]): value for tag, value in changes.items()}
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, entries[tag]) for tag in sorted(entries))
    head = b"II*\0" + struct.pack("<I", 8 + len(stream))
    return head + stream + struct.pack("<H", len(entries)) + directory + bytes(4)


def dicom_with(head):
    """A good DX with ``head`` before its first element."""
    data = dicom.file(dicom.changed())
    at = data.index(b"\x08\0\x05\0CS")
    return data[:at] + head + data[at:]


def nested(depth, tag=b"\x08\0\x18\x22", vr=b"SQ\0\0"):
    return (tag + vr + UNDEFINED + b"\xfe\xff\0\xe0" + UNDEFINED) * depth


def dicom_sized(rows, columns, **attributes):
    return dicom.file(dicom.changed(Rows=rows, Columns=columns, **attributes))


def dicom_frame(syntax, frame):
    made = dicom.compressed(dicom.changed(), syntax)
    made.Rows = made.Columns = 7000
    made.PixelData = encapsulate([frame])
    return dicom.written(made, syntax)


def dicom_deflated(size):
    small = dicom.file(dicom.changed(), dicom.DEFLATED)
    at = 144 + struct.unpack_from("<I", small, 140)[0]
    return small[:at] + deflated(size, -zlib.MAX_WBITS)


def codestream(side):
    """The JPEG 2000 specimen with another size in its header."""
    data = dicom.file(dicom.changed(), dicom.JPEG_2000)
    return data.replace(struct.pack(">II", 52, 40), struct.pack(">II", side, side))


def zips_in_zips(depth):
    data = archive([("a.png", GOOD)])
    for _ in range(depth):
        data = archive([(f"{i}.zip", data) for i in range(4)])
    return data


def many_entries(count):
    return archive(((f"{i}", b"") for i in range(count)), zipfile.ZIP_STORED)


BOMBS = {
    # pixels
    "100-megapixel.png": lambda: png(10_000, 10_000, deflated(1 << 20)),
    "giant.png": lambda: png(1 << 31, 1 << 31, b""),
    "wide.png": lambda: png((1 << 31) - 1, 16, b""),
    "no-pixels.png": lambda: png(0, 0, b""),
    "interlaced.png": lambda: png(65_535, 65_535, deflated(1 << 20), interlaced=1),
    "100-megapixel.jpg": lambda: said_to_be(JPEG, 10_000, 10_000),
    "giant.jpg": lambda: said_to_be(JPEG, 65_535, 65_535),
    "100-megapixel.tif": lambda: tagged(t256=10_000, t257=10_000),
    "giant.tif": lambda: tagged(t256=(1 << 32) - 1, t257=(1 << 32) - 1),
    "100-megapixel.dcm": lambda: dicom_sized(10_000, 10_000),
    "giant.dcm": lambda: dicom_sized(65_535, 65_535),
    "frames.dcm": lambda: dicom_sized(40, 52, NumberOfFrames=(1 << 31) - 1),
    "j2k.dcm": lambda: codestream(1 << 31),
    # inflated bytes
    "idat.png": lambda: png(100, 100, deflated(1 << 30)),
    "few-pixels.png": lambda: png(7000, 7000, deflated(1 << 22), times=2),
    "ztxt.png": lambda: text_bomb(b"zTXt", b"Comment\0\0") + b"Jane",
    "itxt.png": lambda: text_bomb(b"iTXt", b"Comment\0\1\0\0\0"),
    "iccp.png": lambda: text_bomb(b"iCCP", b"profile\0\0"),
    "deflate.tif": lambda: tiff_stream(8, deflated(1 << 30)[: 1 << 19]),
    "lzw.tif": lambda: tiff_stream(5, b"\x80\x00\x20" * 100_000),
    "packbits.tif": lambda: tiff_stream(32773, b"\x81\0" * 200_000),
    "deflated.dcm": lambda: dicom_deflated(2 << 30),
    "rle.dcm": lambda: dicom_frame(
        dicom.RLE, struct.pack("<16I", 2, 64, 70, *[0] * 13) + b"\x81\0" * (1 << 20)
    ),
    # depth and loops
    "nested-1000.dcm": lambda: dicom_with(nested(1000)),
    "nested-100000.dcm": lambda: dicom_with(nested(100_000)),
    "nested-private.dcm": lambda: dicom_with(nested(50_000, b"\x11\0\x01\x10")),
    "nested-unknown.dcm": lambda: dicom_with(nested(50_000, vr=b"UN\0\0")),
    "loop.tif": loop,
    "zips.zip": lambda: zips_in_zips(4),
    # lengths
    "chunk-length.png": lambda: GOOD[:33] + struct.pack(">I", (1 << 32) - 1) + b"tEXt" + GOOD[33:],
    "tag-counts.tif": lambda: tagged(count=(1 << 32) - 1, t273=8),
    "length.dcm": lambda: dicom_with(b"\x08\0\x18\x22UT\0\0\xfe\xff\xff\xff"),
    "item-length.dcm": lambda: dicom_with(
        b"\x08\0\x18\x22SQ\0\0" + UNDEFINED + b"\xfe\xff\0\xe0\xfe\xff\xff\x7f"
    ),
    "lies.zip": lambda: many_entries(1000)[:-14] + b"\xff" * 14,
    # very many
    "chunks.png": lambda: png_extra(chunk(b"tEXt", b"") * 500_000)[:-30],
    "segments.jpg": lambda: many_segments(1_000_000)[:-40],
    "scans.jpg": lambda: many_scans(20_000),
    "tags.tif": lambda: many_tags(60_000, 1 << 20),
    "elements.dcm": lambda: dicom_with(b"\x09\0\x10\0LO\0\0" * 1_000_000),
    "entries.zip": lambda: many_entries(150_000),
}
assert len(BOMBS) == 40
