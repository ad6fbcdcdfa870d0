"""Files of ``torch.save``: the zip archive, and the plain stream of torch before 1.6.

Nothing is unpacked to disk and nothing is called (:mod:`anonymize.convert.inert_pickle`). What is
read is bounded by the size of the file, however much it promises to hold.
"""

import io
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import torch
from torch import Tensor

from anonymize.convert.inert_pickle import DAMAGE, Storage, TensorRecord, read
from anonymize.errors import ModelError, printable

LARGEST = 2 << 30  # bytes of a file; the published ones have at most some 100 MiB
PICKLE = 4 << 20  # bytes of a pickle; a DenseNet-121 with its optimizer needs 0.4 MiB
DIRECTORY = 8 << 20  # bytes of a zip's directory
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
WRAPPINGS = ("state_dict", "model_state_dict")
HINT = "only what torch.save(model.state_dict(), FILE) writes is converted"
# What the pickle of a file holds, and the bytes of a storage: KeyError where there is none.
Content = tuple[Any, Callable[[Storage], bytes]]


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name: copies of their own, contiguous; ModelError, one line, where
    there is no such file, or one that holds anything but tensors."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ModelError("it is no regular file")
        if about.st_size > LARGEST:
            raise ModelError(f"it has {about.st_size >> 20} MiB, more than any weights known here")
        with path.open("rb") as file:
            return _read(file, about.st_size)
    except OSError as error:
        raise ModelError(f"weight file {path} cannot be read ({type(error).__name__})") from None
    except ModelError as error:
        reason = str(error)
    except (BadZipFile, NotImplementedError, *DAMAGE):
        reason = "it is damaged or cut off"
    raise ModelError(f"{path} is refused: {reason}; {HINT}")


def _read(file: BinaryIO, size: int) -> dict[str, Tensor]:
    first = file.read(4)
    if first != b"PK\x03\x04" and first[:1] != b"\x80":
        raise ModelError("it is no file of torch.save")
    root, numbers = (_open_zip if first == b"PK\x03\x04" else _open_stream)(file, size)
    records = _state_dict(root)
    if sum(record.nbytes for record in records.values()) > size:
        raise ModelError("its tensors share numbers; each must have its own")
    return {name: _values(record, numbers) for name, record in records.items()}


def _state_dict(root: Any) -> dict[str, TensorRecord]:
    """The named tensors of a file: its object itself, or what a checkpoint calls so."""
    if type(root) is dict:
        root = next((root[name] for name in WRAPPINGS if type(root.get(name)) is dict), root)
    if type(root) is not dict or not root:
        raise ModelError("it holds no dictionary of tensors")
    for name, value in root.items():
        if type(name) is not str or type(value) is not TensorRecord:
            raise ModelError(f"its entry {printable(str(name))} is no tensor")
    return root


def _values(record: TensorRecord, numbers: Callable[[Storage], bytes]) -> Tensor:
    storage = record.storage
    try:
        found = numbers(storage)
    except KeyError:
        raise ModelError("numbers of a tensor are missing") from None
    if len(found) != storage.nbytes:
        raise ModelError("a tensor's numbers are fewer or more than its pickle says")
    if not record.nbytes:
        return torch.empty(record.shape, dtype=storage.dtype)
    flat = torch.frombuffer(bytearray(found), dtype=storage.dtype)
    return torch.as_strided(flat, record.shape, record.stride, record.offset).clone(
        memory_format=torch.contiguous_format
    )


def _open_zip(file: BinaryIO, size: int) -> Content:
    """torch ≥ 1.6: ``NAME/data.pkl``, ``NAME/data/KEY``, stored without compression."""
    _check_directory(file, size)
    archive = ZipFile(file)
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) != len(archive.infolist()):
        raise ModelError("its zip archive holds two parts of one name")
    parts = [name.split("/") for name in entries]
    climbs = any(not {"", ".", ".."}.isdisjoint(part) for part in parts)
    if len({p[0] for p in parts}) != 1 or "\\" in "".join(entries) or climbs:
        raise ModelError("its zip archive is not laid out as torch does")
    root = parts[0][0]
    if f"{root}/constants.pkl" in entries:
        raise ModelError("it is a TorchScript program, not weights")
    for entry in entries.values():
        stored = entry.compress_type == ZIP_STORED and entry.file_size == entry.compress_size
        if not stored or entry.flag_bits & 1:
            raise ModelError("its zip archive is compressed or encrypted, which torch never does")
    if sum(entry.file_size for entry in entries.values()) > size:
        raise ModelError("the parts of its zip archive are larger than the file")
    if f"{root}/byteorder" in entries and archive.read(f"{root}/byteorder") != b"little":
        raise ModelError("it was written on a big-endian machine")
    pickled = entries.get(f"{root}/data.pkl")
    if pickled is None or pickled.file_size > PICKLE:
        raise ModelError("its part 'data.pkl' is missing or too large")
    value, _ = read(io.BytesIO(archive.read(pickled)))
    return value, lambda storage: archive.read(f"{root}/data/{storage.key}")


def _check_directory(file: BinaryIO, size: int) -> None:
    """``zipfile`` holds the whole directory in memory; here is how long it says to be."""
    file.seek(max(0, size - 98))
    tail = file.read().rjust(98, b"\0")  # the end of 64 bits, where it lies, the end
    lengths = [int.from_bytes(tail[-10:-6], "little")]
    if tail[-42:-38] == b"PK\x06\x07":
        lengths.append(int.from_bytes(tail[40:48], "little"))
        if int.from_bytes(tail[-34:-26], "little") != size - 98:
            raise ModelError("it is a damaged zip archive")
    if tail[-22:-18] != b"PK\x05\x06" or tail[-2:] != b"\0\0":
        raise ModelError("it is a damaged zip archive")
    if max(lengths) > DIRECTORY:
        raise ModelError("its zip archive has far more parts than weights need")


def _open_stream(file: BinaryIO, size: int) -> Content:
    """torch < 1.6: four pickles (magic, protocol, system, object), storage keys, numbers."""
    file.seek(0)
    head = io.BytesIO(file.read(PICKLE))
    if read(head)[0] != MAGIC or read(head)[0] != PROTOCOL:
        raise ModelError("it is no file of torch.save")
    system, _ = read(head)
    if type(system) is not dict or system.get("little_endian") is not True:
        raise ModelError("it was written on a big-endian machine")
    (value, storages), (keys, _) = read(head), read(head)
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise ModelError("it does not list its storages")
    places, position = {}, head.tell()
    for key in keys:  # each storage behind the number of its elements
        file.seek(position)
        if int.from_bytes(file.read(8), "little", signed=True) != storages[key].numel:
            raise ModelError("it is damaged or cut off")
        places[key] = position + 8
        position += 8 + storages[key].nbytes
        if position > size:
            raise ModelError("it is damaged or cut off")

    def numbers(storage: Storage) -> bytes:
        file.seek(places[storage.key])
        return file.read(storage.nbytes)

    return value, numbers
