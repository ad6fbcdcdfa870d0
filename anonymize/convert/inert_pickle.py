"""A pickle read as data: Python's own stack machine, without its calls.

``pickle`` builds whatever a file names by calling it. Here only the operations that hold plain
data are left in its table. A name stays a name: the only ones admitted are those that
``torch.save(state_dict)`` writes (an ordered dict, a storage's type, "make a tensor of this
storage"), and each is answered with a record of ours. No class is made, and no state is set.

``torch.load(weights_only=True)`` reads fewer honest files (none of protocol 4 or 5) and more
hostile ones: a nested key overflows the interpreter's stack, a few bytes ask for gigabytes, and
before torch 2.10 its memory could be overwritten (CVE-2026-24747).
"""

import pickle
import pickletools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import FunctionType
from typing import Any, BinaryIO

import torch

from anonymize.errors import ModelError, printable

DAMAGE = (
    *(EOFError, ValueError, TypeError, AttributeError, LookupError, OverflowError),
    *(pickle.UnpicklingError, struct.error),
)
MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class Storage:
    """``numel`` numbers of one type that lie elsewhere in the file under ``key``."""

    key: str
    dtype: torch.dtype
    numel: int

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


@dataclass(frozen=True)
class TensorRecord:
    """A tensor as a view of a storage: inside it, and with no more elements than it has."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.storage.dtype.itemsize


def read(stream: BinaryIO) -> tuple[Any, dict[str, Storage]]:
    """The next pickle of ``stream``: plain values and :class:`TensorRecord`; the storages by key.

    The stream must be in memory and bounded: what is built is some 100 times its length at most.

    Raises ModelError: anything but tensors and plain values, or a damaged pickle."""
    machine = _Machine(stream, encoding="latin-1")
    try:
        return machine.load(), machine.storages
    except ModelError:
        raise
    except DAMAGE:
        raise ModelError("its pickle is damaged") from None


def _tensor_of_2017(storage: Any, offset: Any, shape: Any, stride: Any) -> TensorRecord:
    if type(storage) is not Storage or type(shape) is not tuple or type(stride) is not tuple:
        raise ModelError("its pickle describes a tensor without storage, shape or stride")
    if len(shape) != len(stride) or len(shape) > MOST_DIMENSIONS:
        raise ModelError(f"a tensor has {len(shape)} dimensions and {len(stride)} strides")
    for number in (offset, *shape, *stride):
        _check_count(number)
    last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    if prod(shape) and (last >= storage.numel or prod(shape) > storage.numel):
        raise ModelError("a tensor reaches beyond the numbers that the file holds for it")
    return TensorRecord(storage, offset, shape, stride)


def _tensor(
    storage: Any, offset: Any, shape: Any, stride: Any, grad: Any, hooks: Any
) -> TensorRecord:
    if type(grad) is not bool or type(hooks) is not dict or hooks:
        raise ModelError("its pickle describes a tensor with hooks")
    return _tensor_of_2017(storage, offset, shape, stride)


def _check_count(value: Any) -> None:
    if type(value) is not int or not 0 <= value < 1 << 48:
        raise ModelError("its pickle gives a size or position that is no sensible number")


_TYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
}
_NAMES: dict[str, Any] = {
    "collections OrderedDict": lambda: {},
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_tensor": _tensor_of_2017,
    **{f"torch {name}Storage": dtype for name, dtype in _TYPES.items()},
    **{f"torch.cuda {name}Storage": dtype for name, dtype in _TYPES.items()},
}
_DATA = {
    *("PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE"),
    *("BININT", "BININT1", "BININT2", "INT", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINSTRING", "SHORT_BINSTRING"),
    *("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET", "APPEND", "APPENDS"),
    *("GLOBAL", "STACK_GLOBAL", "BINPERSID"),
}


def _refusing(name: str) -> Callable[[Any], None]:
    def refuse(machine: Any) -> None:
        raise ModelError(f"its pickle asks for {name}, which no tensor needs")

    return refuse


class _Machine(pickle._Unpickler):
    """The machine in Python: that in C has no table to take operations from."""

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(self, stream: BinaryIO, *, encoding: str) -> None:
        super().__init__(stream, encoding=encoding)
        self.storages: dict[str, Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        known = _NAMES.get(f"{module} {name}")
        if known is None:
            raise ModelError(
                f"its pickle names {printable(f'{module}.{name}')}, which is no tensor"
            )
        return known

    def persistent_load(self, key: Any) -> Storage:
        """``("storage", type, key, device, numel)``, and in old files None as the whole's view."""
        if type(key) is tuple and len(key) in (5, 6) and key[5:] in ((), (None,)):
            what, dtype, name, device, numel = key[:5]
            texts = type(what) is type(name) is type(device) is str
            if texts and what == "storage" and type(dtype) is torch.dtype:
                _check_count(numel)
                self.storages[name] = Storage(name, dtype, numel)
                return self.storages[name]
        raise ModelError("its pickle refers to something that is no storage of plain numbers")

    def load_reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        # Functions are never among the data: this is one of the three above.
        if type(function) is not FunctionType or type(arguments) is not tuple:
            raise ModelError("its pickle calls something that makes no plain tensor")
        self.stack.append(function(*arguments))

    def load_build(self) -> None:
        """A state dict carries the versions of its modules; nothing else may set a state."""
        state = self.stack.pop()
        if (
            type(self.stack[-1]) is not dict
            or type(state) is not dict
            or set(state) != {"_metadata"}
        ):
            raise ModelError("its pickle sets the state of an object, which no tensor needs")

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value])

    def load_setitems(self) -> None:
        self._set(self.pop_mark())

    def _set(self, items: list[Any]) -> None:
        # Hashing anything deeper could exhaust the interpreter's own stack.
        if type(self.stack[-1]) is not dict or {*map(type, items[::2])} - {str, int}:
            raise ModelError("its pickle holds a dictionary whose keys are no names")
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    dispatch = {
        ord(code.code): pickle._Unpickler.dispatch[ord(code.code)]
        if code.name in _DATA
        else _refusing(code.name)
        for code in pickletools.opcodes
    } | {
        pickle.REDUCE[0]: load_reduce,
        pickle.BUILD[0]: load_build,
        pickle.SETITEM[0]: load_setitem,
        pickle.SETITEMS[0]: load_setitems,
    }
