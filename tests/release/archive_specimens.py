"""ZIP archives, good and bad; {name: bytes}."""

import io
import stat
import struct
import zipfile

from release_specimens import KINDS, png, scene

GOOD = KINDS["gray8.png"]


def archive(entries, method=zipfile.ZIP_DEFLATED):
    """A ZIP of (name or ZipInfo, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, content in entries:
            made.writestr(name, content)
    return file.getvalue()


def entry(name, **attributes):
    info = zipfile.ZipInfo(name)
    for key, value in attributes.items():
        setattr(info, key, value)
    return info


def beside(content, **attributes):
    """An entry a.png, and one that is good."""
    first = entry("a.png", **{"compress_type": zipfile.ZIP_DEFLATED, **attributes})
    return archive([(first, content), ("good.png", GOOD)])


def renamed(new):
    """An entry whose name zipfile would not write."""
    old = "x" * len(new)
    return archive([(old, GOOD)]).replace(old.encode(), new.encode())


def flags(data, bits):
    """General purpose bits set in the local and the central header of the first entry."""
    data = bytearray(data)
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.index(signature) + at
        struct.pack_into("<H", data, place, struct.unpack_from("<H", data, place)[0] | bits)
    return bytes(data)


def resized(data, size):
    """The inflated size of the first entry in the central directory."""
    data = bytearray(data)
    struct.pack_into("<I", data, data.index(b"PK\1\2") + 24, size)
    return bytes(data)


def overlapping():
    """Two entries of the directory that share the same packed bytes."""
    data = archive([("a.png", GOOD), ("b.png", GOOD)])
    second = data.rindex(b"PK\1\2")
    return data[: second + 42] + struct.pack("<I", 0) + data[second + 46 :]


def damaged():
    """A deflated entry whose bytes were changed."""
    data = bytearray(beside(GOOD))
    data[60] ^= 0xFF
    return bytes(data)


# Whole archives that are refused.
REFUSED = {
    "climbs.zip": renamed("../../climbed.png"),
    "climbs-inside.zip": archive([("a/../../climbed.png", GOOD)]),
    "absolute.zip": renamed("/tmp/climbed.png"),
    "backslash.zip": renamed("..\\..\\climbed.png"),
    "drive.zip": renamed("C:/climbed.png"),
    "empty-part.zip": renamed("a//climbed.png"),
    "dot.zip": renamed("a/./climbed.png"),
    "control.zip": renamed("a\x07climbed.png"),
    "nul.zip": renamed("a.png\0.txt"),
    "long.zip": archive([("n" * 300 + ".png", GOOD)]),
    "overlapping.zip": overlapping(),
    "truncated.zip": archive([("a.png", GOOD)])[:-10],
    "no-archive.zip": GOOD,
    "empty-file.zip": b"",
}
# Entries that are refused alone, beside one that is good: name in the archive → reason.
UNFIT = {
    "encrypted.zip": (flags(beside(GOOD), 1), "archive"),
    "nested.zip": (beside(archive([("a.png", GOOD)])), "archive"),
    "link.zip": (beside(b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16), "symlink"),
    "pipe.zip": (beside(b"", external_attr=(stat.S_IFIFO | 0o777) << 16), "not-a-regular-file"),
    "bomb.zip": (beside(bytes(1 << 26)), "archive"),
    "lies.zip": (resized(beside(GOOD), 10), "archive"),
    "huge.zip": (resized(beside(GOOD), (1 << 32) - 2), "too-large"),
    "damaged.zip": (damaged(), "archive"),
    "lzma.zip": (beside(GOOD, compress_type=zipfile.ZIP_LZMA), "archive"),
    "text.zip": (beside(b"no image"), "damaged"),
}
FILES = {
    "one.png": GOOD,
    "folder/two.jpg": KINDS["gray.jpg"],
    "folder/three.tif": KINDS["gray16.tif"],
    "folder/stored.png": png(scene(size=(40, 60)), 8, 0),
    "notes.txt": b"Jane Doe",
}
WHOLE = archive([(entry("folder/", external_attr=0o40755 << 16), b""), *FILES.items()])
STORED = archive(list(FILES.items()), zipfile.ZIP_STORED)
