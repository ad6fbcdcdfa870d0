"""ZIP archives as folders of their entries, within bounds (APPNOTE.TXT of PKWARE, 4.3).

An archive is listed by a worker and never unpacked to the disk: an entry's packed bytes are read
where they lie and inflated by a worker. An archive that plays tricks is refused as a whole; an
entry that is merely unfit is refused alone.
"""

import os
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from anonymize.release import storage
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import Reason, Refused

MAX_ENTRIES = 100_000
MAX_RATIO = 200  # of inflated to packed bytes, for entries that are large
LARGE = 1 << 20
MAX_TOTAL = 1 << 40  # inflated, all entries
MAX_NAME = 255  # bytes in a part of a path
SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
STORED, DEFLATED = 0, 8
ENCRYPTED = 0x01 | 0x40 | 0x2000
PATCHED = 0x20
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, length of the name, length of the extra


@dataclass(frozen=True)
class Member:
    """Where an entry lies in its archive (a path under IN), and what it must be.

    ``end`` is where the next thing in the archive begins; ``identity`` tells the archive's state.
    """

    archive: str
    start: int
    end: int
    packed: int
    size: int
    crc: int
    deflated: bool
    identity: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One file: its path relative to IN or to its archive with "/" between, and why it cannot be
    read. ``member`` says where an archive's entry lies in there; ``instance`` is the SOP Instance
    UID that it must have, "" for any.
    """

    path: str
    refusal: Reason | None = None
    detail: str = ""
    member: Member | None = None
    instance: str = ""


def listed(root: str, path: str) -> list[Found]:
    """The files in the archive at ``path`` below the folder ``root``; done by a worker.

    Raises Refused: unreadable, no archive, too many or too large entries, or tricks: entries that
    overlap, share a name, or lead out of their folder."""
    with os.fdopen(storage.open_beneath(Path(root), path), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Refused(Reason.NOT_A_REGULAR_FILE)
        try:
            with zipfile.ZipFile(stream) as archive:
                infos, directory = archive.infolist(), archive.start_dir
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError):
            raise Refused(Reason.ARCHIVE, "no readable ZIP archive") from None
    _check_whole(infos, directory)
    starts = sorted({info.header_offset for info in infos} | {directory})
    end_of = dict(pairwise(starts))
    identity = _identity(status)
    entries = []
    for info in infos:
        if info.is_dir():
            continue
        refusal, detail = _unfit(info)
        member = Member(
            archive=path,
            start=info.header_offset,
            end=end_of[info.header_offset],
            packed=info.compress_size,
            size=info.file_size,
            crc=info.CRC,
            deflated=info.compress_type == DEFLATED,
            identity=identity,
        )
        entries.append(Found(info.filename, refusal, detail, None if refusal else member))
    return entries


def packed(root: Path, member: Member) -> tuple[bytes, os.stat_result]:
    """The packed bytes of an entry and the state of its archive.

    Raises:
        Refused: the archive changed since it was listed, or the entry runs into the next one.
        OSError: it cannot be read.
    """
    descriptor = storage.open_beneath(root, member.archive)
    try:
        status = os.fstat(descriptor)
        if _identity(status) != member.identity:
            raise Refused(Reason.CHANGING)
        head = os.pread(descriptor, LOCAL_HEADER.size, member.start)
        if len(head) != LOCAL_HEADER.size or not head.startswith(b"PK\x03\x04"):
            raise Refused(Reason.ARCHIVE, "no local header")
        _, name, extra = LOCAL_HEADER.unpack(head)
        start = member.start + LOCAL_HEADER.size + name + extra
        if start + member.packed > member.end:
            raise Refused(Reason.ARCHIVE, "entries overlap")
        data = os.pread(descriptor, member.packed, start)
    finally:
        os.close(descriptor)
    if len(data) != member.packed:
        raise Refused(Reason.ARCHIVE, "truncated")
    return data, status


def inflated(data: bytes, member: Member) -> bytes:
    """The entry whose packed bytes are ``data``; done by a worker. Raises Refused: it is not what
    the archive's directory says, or an archive itself."""
    if member.deflated:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = stream.decompress(data, member.size + 1)
        except zlib.error:
            raise Refused(Reason.ARCHIVE, "damaged") from None
        if not stream.eof or stream.unused_data:
            raise Refused(Reason.ARCHIVE, "more or less than the directory says")
    if len(data) != member.size or zlib.crc32(data) != member.crc:
        raise Refused(Reason.ARCHIVE, "not what the directory says")
    if data.startswith(SIGNATURES):
        raise Refused(Reason.ARCHIVE, "an archive in an archive")
    return data


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _check_whole(infos: list[zipfile.ZipInfo], directory: int) -> None:
    """Raises Refused for an archive that plays tricks."""
    if len(infos) > MAX_ENTRIES:
        raise Refused(Reason.ARCHIVE, "too many entries")
    if sum(info.file_size for info in infos) > MAX_TOTAL:
        raise Refused(Reason.ARCHIVE, "too large")
    names = [info.filename.rstrip("/") for info in infos]
    if len(set(names)) < len(names):
        raise Refused(Reason.ARCHIVE, "a name given twice")
    if any(_leads_out(info) for info in infos):
        raise Refused(Reason.ARCHIVE, "a path that leads elsewhere")
    spans = sorted(
        (i.header_offset, i.header_offset + LOCAL_HEADER.size + i.compress_size) for i in infos
    )
    spans.append((directory, directory))
    if spans[0][0] < 0 or any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise Refused(Reason.ARCHIVE, "entries overlap")


def is_no_path(text: str) -> bool:
    """True for a path that climbs, is absolute, or cannot be one on a disk."""
    return "\0" in text or any(
        part in ("", ".", "..") or len(os.fsencode(part)) > MAX_NAME for part in text.split("/")
    )


def _leads_out(info: zipfile.ZipInfo) -> bool:
    """True for a path that is absolute, climbs, or means something else on another system."""
    name = info.orig_filename
    if info.filename != name or "\\" in name or not name.isprintable():
        return True
    path = name.removesuffix("/")
    return path.partition("/")[0].endswith(":") or is_no_path(path)


def _unfit(info: zipfile.ZipInfo) -> tuple[Reason | None, str]:
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        return Reason.SYMLINK, ""
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return Reason.NOT_A_REGULAR_FILE, ""
    if info.flag_bits & ENCRYPTED:
        return Reason.ARCHIVE, "encrypted"
    if info.compress_type not in (STORED, DEFLATED) or info.flag_bits & PATCHED:
        return Reason.ARCHIVE, "neither stored nor deflated"
    if max(info.file_size, info.compress_size) > MAX_BYTES:  # the release itself reads the packed
        return Reason.TOO_LARGE, ""
    if info.file_size > max(LARGE, MAX_RATIO * info.compress_size):
        return Reason.ARCHIVE, f"inflates more than {MAX_RATIO} times"
    if info.compress_type == STORED and info.file_size != info.compress_size:
        return Reason.ARCHIVE, "stored in another size"
    return None, ""
