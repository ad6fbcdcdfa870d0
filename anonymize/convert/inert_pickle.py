"""A pickle read as data: a stack machine that knows no call.

``pickle`` builds whatever a file names by calling it. Here a name stays a name: the only ones
admitted are those that ``torch.save(state_dict)`` writes (an ordered dict, a storage's type, "make
a tensor of this storage"), and each is answered with a record of ours. No attribute is looked up,
no class is made, no state is set. Opcodes that are not listed are refused, and so is everything
that a file of tensors does not need.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from enum import Enum
from typing import Any, BinaryIO

import torch

from anonymize.errors import ModelError, printable


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
    def numel(self) -> int:
        return _product(self.shape)


class _Known(Enum):
    """What a file of tensors calls."""

    ORDERED_DICT = "collections OrderedDict"
    TENSOR = "torch._utils _rebuild_tensor_v2"
    TENSOR_OF_2017 = "torch._utils _rebuild_tensor"


_DTYPES = {
    f"{module} {name}Storage": dtype
    for module in ("torch", "torch.cuda")
    for name, dtype in (
        ("Float", torch.float32),
        ("Double", torch.float64),
        ("Half", torch.float16),
        ("BFloat16", torch.bfloat16),
        ("Long", torch.int64),
        ("Int", torch.int32),
    )
}
_NAMES = {known.value: known for known in _Known} | _DTYPES
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINSTRING", "SHORT_BINSTRING"),
}
_EMPTY = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MOST_DIMENSIONS = 8


def read(stream: BinaryIO) -> Any:
    """The next pickle of ``stream`` as plain values, :class:`Storage` and :class:`TensorRecord`.

    The stream must be in memory and bounded: what is built is some 100 times its length at most.

    Raises:
        ModelError: anything but tensors and plain values, or a damaged pickle.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
    raise ModelError("its pickle is damaged")


class _Machine:
    """Stack, marks and memo; one method a group of opcodes."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    def step(self, name: str, argument: Any) -> None:
        push = self.stack.append
        match name:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                self.marked.append(self.stack)
                self.stack = []
            case _ if name in _VALUES:
                push(argument)
            case _ if name in _CONSTANTS:
                push(_CONSTANTS[name])
            case _ if name in _EMPTY:
                push(_EMPTY[name]())
            case "TUPLE":
                push_tuple = tuple(self.pop_mark())
                self.stack.append(push_tuple)
            case _ if name in _TUPLES:
                backwards = tuple(self.pop() for _ in range(_TUPLES[name]))
                push(backwards[::-1])
            case "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = self.stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = self.stack[-1]
            case "BINGET" | "LONG_BINGET":
                push(self.memo[argument])
            case "APPEND" | "APPENDS":
                items = [self.pop()] if name == "APPEND" else self.pop_mark()
                self._top(list).extend(items)
            case "SETITEM" | "SETITEMS":
                items = [self.pop(), self.pop()][::-1] if name == "SETITEM" else self.pop_mark()
                self._set(items)
            case "GLOBAL":
                push(_known(argument))
            case "STACK_GLOBAL":
                last, module = self.pop(), self.pop()
                push(_known(f"{_text(module)} {_text(last)}"))
            case "BINPERSID":
                push(_storage(self.pop()))
            case "REDUCE":
                arguments, function = self.pop(), self.pop()
                push(_call(function, arguments))
            case "BUILD":
                self._build(self.pop())
            case _:
                raise ModelError(f"its pickle asks for {name}, which no tensor needs")

    def _top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise ModelError(f"its pickle fills something that is no {kind.__name__}")
        return self.stack[-1]

    def _set(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Hashing anything deeper could exhaust the interpreter's own stack.
            if type(key) not in (str, int):
                raise ModelError("its pickle holds a dictionary whose keys are no names")
            target[key] = value

    def _build(self, state: Any) -> None:
        """A state dict carries the versions of its modules; nothing else may set a state."""
        self._top(dict)
        if type(state) is not dict or set(state) != {"_metadata"}:
            raise ModelError("its pickle sets the state of an object, which no tensor needs")


def _known(name: str) -> Any:
    if name not in _NAMES:
        raise ModelError(
            f"its pickle names {printable(name.replace(' ', '.'))}, which is no tensor"
        )
    return _NAMES[name]


def _call(function: Any, arguments: Any) -> Any:
    if type(arguments) is tuple:
        if function is _Known.ORDERED_DICT and not arguments:
            return {}
        if function is _Known.TENSOR and len(arguments) == 6:
            *view, grad, hooks = arguments
            if type(grad) is bool and type(hooks) is dict and not hooks:
                return _tensor(*view)
        if function is _Known.TENSOR_OF_2017 and len(arguments) == 4:
            return _tensor(*arguments)
    raise ModelError("its pickle calls something that makes no plain tensor")


def _storage(key: Any) -> Storage:
    """``("storage", type, key, device, numel)``, and in old files None as the whole's view."""
    if type(key) is tuple and len(key) in (5, 6) and key[5:] in ((), (None,)):
        what, dtype, name, device, numel = key[:5]
        if type(what) is str and what == "storage" and type(dtype) is torch.dtype:
            _text(device)
            return Storage(_text(name), dtype, _count(numel))
    raise ModelError("its pickle refers to something that is no storage of plain numbers")


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any) -> TensorRecord:
    if type(storage) is not Storage or type(shape) is not tuple or type(stride) is not tuple:
        raise ModelError("its pickle describes a tensor without storage, shape or stride")
    if len(shape) != len(stride) or len(shape) > MOST_DIMENSIONS:
        raise ModelError(f"a tensor has {len(shape)} dimensions and {len(stride)} strides")
    shape, stride = (tuple(_count(n) for n in numbers) for numbers in (shape, stride))
    record = TensorRecord(storage, _count(offset), shape, stride)
    last = record.offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    if record.numel and (last >= storage.numel or record.numel > storage.numel):
        raise ModelError("a tensor reaches beyond the numbers that the file holds for it")
    return record


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 48:
        raise ModelError("its pickle gives a size or position that is no sensible number")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ModelError("its pickle gives something else where a name belongs")
    return value


def _product(numbers: tuple[int, ...]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
