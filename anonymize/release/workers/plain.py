"""Values without code: all that a worker, which has read a stranger's file, may answer with.

JSON, and the bytes of arrays behind it. What comes back is made of None, bool, int, float, str,
bytes, tuples, lists, sets, dicts, arrays of numbers, and of the enumerations and dataclasses of
this package, which their own constructors make. Anything else travels sealed: a pickle that is
handed on to the next worker and never opened on the way.
"""

import itertools
import json
import pickle
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

PACKAGE = "anonymize.release."
INLINE = 1024  # bytes that are not worth a part of their own
BROKEN = (AttributeError, ImportError, LookupError, RecursionError, TypeError, ValueError)
COLLECTIONS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class PlainError(ValueError):
    """An answer that no worker of ours gives."""


@dataclass(frozen=True, repr=False)
class Sealed:
    """What only a worker opens: in a question (:func:`wire.ask`) it becomes what it was.

    It has no ``__reduce__`` for that, which copies would run here, too.
    """

    data: bytes

    def opening(self) -> tuple:
        """What a pickle for a worker holds in its place."""
        return pickle.loads, (self.data,)


def packed(value: Any) -> list[bytes | memoryview]:
    """The parts of a message: JSON, and the buffers that it names by their number."""
    buffers: list[bytes | memoryview] = []
    head = json.dumps(_described(value, buffers)).encode()
    return [head, *buffers]


def unpacked(parts: list[bytearray]) -> Any:
    """The value that :func:`packed` was given. Raises PlainError: it is none."""
    try:
        return _value(json.loads(parts[0]), dict(enumerate(parts[1:])))
    except BROKEN as error:
        raise PlainError(type(error).__name__) from None


def written(value: Any) -> bytes:
    """A file that :func:`read` reads: the sizes of the parts in a line, and the parts."""
    parts = packed(value)
    return json.dumps([len(part) for part in parts]).encode() + b"\n" + b"".join(parts)


def read(data: bytes) -> Any:
    """The value that :func:`written` was given. Raises PlainError: it is none."""
    head, _, rest = data.partition(b"\n")
    try:
        ends = list(itertools.accumulate(json.loads(head), initial=0))
    except BROKEN as error:
        raise PlainError(type(error).__name__) from None
    return unpacked([bytearray(rest[start:end]) for start, end in itertools.pairwise(ends)])


def _described(value: Any, buffers: list[bytes | memoryview]) -> Any:
    """``value`` for JSON: itself, or a list whose first entry says what it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    kind = type(value).__name__
    if type(value) is bytes and len(value) <= INLINE:
        return [kind, value.decode("latin-1")]
    if type(value) is bytes:
        return ["buffer", _buffered(value, buffers)]
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        data = np.ascontiguousarray(value)
        raw = data.reshape(-1).view(np.uint8).data
        return ["array", data.dtype.str, data.shape, _buffered(raw, buffers)]
    if type(value) in COLLECTIONS.values():
        return [kind, [_described(entry, buffers) for entry in value]]
    if type(value) is dict:
        return [kind, [[_described(e, buffers) for e in pair] for pair in value.items()]]
    name = [type(value).__module__, type(value).__qualname__]
    if isinstance(value, Enum) and name[0].startswith(PACKAGE):
        return ["member", *name, value.value]
    if is_dataclass(value) and name[0].startswith(PACKAGE):
        found = {f.name: _described(getattr(value, f.name), buffers) for f in fields(value)}
        return ["object", *name, found]
    return ["sealed", _buffered(pickle.dumps(value, protocol=5), buffers)]


def _buffered(data: bytes | memoryview, buffers: list[bytes | memoryview]) -> int:
    buffers.append(data)
    return len(buffers) - 1


def _value(found: Any, buffers: dict[int, bytearray]) -> Any:
    if not isinstance(found, list):
        if isinstance(found, dict):
            raise PlainError("dict")
        return found
    kind, *rest = found
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](_value(entry, buffers) for entry in rest[0])
    if kind == "bytes":
        return rest[0].encode("latin-1")
    if kind == "buffer":
        return bytes(_taken(rest[0], buffers))
    if kind == "array":
        dtype, shape, number = rest
        return np.frombuffer(_taken(number, buffers), np.dtype(dtype)).reshape(shape)
    if kind == "dict":
        return {_value(key, buffers): _value(entry, buffers) for key, entry in rest[0]}
    if kind == "sealed":
        return Sealed(bytes(_taken(rest[0], buffers)))
    if kind == "member":
        return _class(rest[0], rest[1], Enum)(rest[2])
    if kind == "object":
        return _class(rest[0], rest[1])(**{key: _value(e, buffers) for key, e in rest[2].items()})
    raise PlainError("kind")


def _taken(number: int, buffers: dict[int, bytearray]) -> bytearray:
    """A buffer; LookupError for one that was taken: a few names of one could ask for any memory."""
    return buffers.pop(number)


def _class(module: str, name: str, base: type = object) -> type:
    """A dataclass or enumeration that a module of this package defines, and nothing else."""
    if not module.startswith(PACKAGE):
        raise PlainError("class")
    made = vars(import_module(module))[name]
    fit = isinstance(made, type) and made.__module__ == module and issubclass(made, base)
    if not fit or not (base is Enum or is_dataclass(made)):
        raise PlainError("class")
    return made
