"""Where a file of ``torch.save`` keeps its pickle and its numbers: a zip, or a plain stream."""

from __future__ import annotations

import io
import struct
from abc import ABC, abstractmethod
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from anonymize.convert.inert_pickle import Storage, TensorRecord, read
from anonymize.errors import ModelError

PICKLE = 4 << 20  # bytes of a pickle; a DenseNet-121 with its optimizer needs 0.4 MiB
DIRECTORY = 8 << 20  # bytes of a zip's directory
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


class Container(ABC):
    """A file's pickle, read into ``root``, and its storages."""

    root: Any

    @abstractmethod
    def size(self, key: str) -> int:
        """Bytes of a storage; KeyError where there is none."""

    @abstractmethod
    def numbers(self, storage: Storage) -> bytearray:
        """The bytes of a storage."""

    def check(self, storage: Storage) -> None:
        """Raises ModelError unless the storage is there and as long as the pickle says."""
        try:
            size = self.size(storage.key)
        except KeyError:
            raise ModelError("numbers of a tensor are missing") from None
        if size != storage.nbytes:
            raise ModelError("a tensor's numbers are fewer or more than its pickle says")


class Archive(Container):
    """torch ≥ 1.6: ``NAME/data.pkl``, ``NAME/data/KEY``, stored without compression."""

    def __init__(self, file: BinaryIO) -> None:
        _check_directory(file)
        try:
            self.archive = ZipFile(file)
        except (BadZipFile, ValueError, NotImplementedError, struct.error):
            raise ModelError("it is a damaged zip archive") from None
        self.entries = {entry.filename: entry for entry in self.archive.infolist()}
        self.name = self._check_entries()
        if self._read("byteorder", default=b"little") != b"little":
            raise ModelError("it was written on a big-endian machine")
        self.root = read(io.BytesIO(self._read("data.pkl", most=PICKLE)))

    def size(self, key: str) -> int:
        return self.entries[f"{self.name}/data/{key}"].file_size

    def numbers(self, storage: Storage) -> bytearray:
        return bytearray(self._read(f"data/{storage.key}", most=storage.nbytes))

    def _check_entries(self) -> str:
        names = list(self.entries)
        if len(names) != len(self.archive.infolist()):
            raise ModelError("its zip archive holds two parts of one name")
        roots = {name.partition("/")[0] for name in names}
        parts = {part for name in names for part in name.split("/")}
        if len(roots) != 1 or not parts.isdisjoint({"", ".", ".."}) or "\\" in "".join(names):
            raise ModelError("its zip archive is not laid out as torch does")
        root = roots.pop()
        if f"{root}/constants.pkl" in self.entries:
            raise ModelError("it is a TorchScript program, not weights")
        if f"{root}/data.pkl" not in self.entries:
            raise ModelError("its zip archive is not one of torch")
        if not all(map(_is_plain, self.entries.values())):
            raise ModelError("its zip archive is compressed or encrypted, which torch never does")
        return root

    def _read(self, part: str, *, most: int = 64, default: bytes | None = None) -> bytes:
        entry = self.entries.get(f"{self.name}/{part}")
        if entry is None and default is not None:
            return default
        if entry is None or entry.file_size > most:
            raise ModelError(f"its part {part!r} is missing or too large")
        try:
            return self.archive.read(entry)
        except (BadZipFile, EOFError, ValueError, NotImplementedError, struct.error):
            raise ModelError("it is a damaged zip archive") from None


class Stream(Container):
    """torch < 1.6: four pickles (magic, protocol, system, object), storage keys, numbers."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        file.seek(0)
        head = io.BytesIO(file.read(PICKLE))
        if read(head) != MAGIC or read(head) != PROTOCOL:
            raise ModelError("it is no file of torch.save")
        system = read(head)
        if type(system) is not dict or system.get("little_endian") is not True:
            raise ModelError("it was written on a big-endian machine")
        self.root, keys = read(head), read(head)
        if type(keys) is not list or not all(type(key) is str for key in keys):
            raise ModelError("it does not list its storages")
        self.file = file
        self.places = self._find(keys, head.tell(), size)

    def size(self, key: str) -> int:
        return self.places[key][1]

    def numbers(self, storage: Storage) -> bytearray:
        start, length = self.places[storage.key]
        self.file.seek(start)
        return bytearray(self.file.read(length))

    def _find(self, keys: list[str], position: int, size: int) -> dict[str, tuple[int, int]]:
        """Start and length of each storage; its number of elements stands before it."""
        widths = {s.key: s.dtype.itemsize for s in _storages(self.root)}
        places = {}
        for key in keys:
            self.file.seek(position)
            counted = self.file.read(8)
            if len(counted) < 8 or key not in widths:
                raise ModelError("it is damaged or cut off")
            length = int.from_bytes(counted, "little", signed=True) * widths[key]
            places[key] = (position + 8, length)
            position += 8 + length
            if not 0 <= length <= position <= size:
                raise ModelError("it is damaged or cut off")
        return places


def open_container(file: BinaryIO, size: int) -> Container:
    """The container of an open file of ``size`` bytes; a ModelError says what is wrong with it."""
    file.seek(0)
    first = file.read(4)
    file.seek(0)
    if first == b"PK\x03\x04":
        return Archive(file)
    if first[:1] == b"\x80":
        return Stream(file, size)
    raise ModelError("it is no file of torch.save")


def _check_directory(file: BinaryIO) -> None:
    """``zipfile`` holds the whole directory in memory; here is how long it says to be."""
    length = file.seek(0, io.SEEK_END)
    file.seek(max(0, length - 98))
    tail = file.read().rjust(98, b"\0")
    end, locator, end64 = tail[-22:], tail[-42:-22], tail[-98:-42]
    if end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ModelError("it is a damaged zip archive")
    sizes = [struct.unpack_from("<I", end, 12)[0]]
    if locator[:4] == b"PK\x06\x07":
        sizes.append(struct.unpack_from("<Q", end64, 40)[0])
    if max(sizes) > DIRECTORY:
        raise ModelError("its zip archive has far more parts than weights need")


def _is_plain(entry: ZipInfo) -> bool:
    return (
        entry.compress_type == ZIP_STORED
        and not entry.flag_bits & 0x1
        and entry.file_size == entry.compress_size
    )


def _storages(value: Any) -> list[Storage]:
    """Every storage that ``value`` refers to, at any depth; containers are visited once."""
    found, waiting, seen = [], [value], set()
    while waiting:
        item = waiting.pop()
        if type(item) is TensorRecord:
            found.append(item.storage)
        elif type(item) in (dict, list, tuple) and id(item) not in seen:
            seen.add(id(item))
            waiting.extend(item.values() if type(item) is dict else item)
    return found
