"""Files that pretend to be weights: each must be refused, and none may run a thing."""

import copy
import io
import os
import pickle
import pickletools
import struct
import subprocess
import warnings
import zipfile
from collections import OrderedDict

import numpy as np
import torch
from torch import nn

STORAGE = (
    b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
)
NO_HOOKS = b"\x89ccollections\nOrderedDict\n)R"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"


class Reduces:
    """Pickled as a call of anything."""

    def __init__(self, function, *arguments, state=None):
        self.how = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.how


class Stateful:
    """Pickled as an object whose state is set."""

    def __setstate__(self, state):
        os.system("true")

    def __getstate__(self):
        return {"x": 1}


class Pretender(torch.Tensor):
    """A tensor subclass: rebuilt by calling its class."""


def text(value):
    """Opcode BINUNICODE."""
    return b"X" + struct.pack("<I", len(value)) + value


def entry(body, name=b"x"):
    """A pickle of one dictionary with one entry, whose value ``body`` makes."""
    return b"\x80\x02}" + text(name) + body + b"s."


def tensor(shape, stride, offset=b"K\x00", storage=STORAGE, tail=NO_HOOKS):
    """A tensor's opcodes; shape, stride and offset are opcodes too."""
    return TENSOR + b"(" + storage + offset + shape + stride + tail + b"tR"


def saved(value, **options):
    """What torch.save writes."""
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def archive(pickled, *, storages=None, root="archive", compression=zipfile.ZIP_STORED, extra=()):
    """A zip as torch lays it out, with any pickle in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr(f"{root}/data.pkl", pickled)
        made.writestr(f"{root}/version", b"3\n")
        for key, numbers in (storages or {"0": bytes(16)}).items():
            made.writestr(f"{root}/data/{key}", numbers)
        for name, content in extra:
            made.writestr(name, content)
    return file.getvalue()


def stream(*pickled, tail=b""):
    """The plain stream of old torch with any object in it."""
    head = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    return b"".join(pickle.dumps(v, protocol=2) for v in head) + b"".join(pickled) + tail


def calls():
    """Pickles that call, import or build something, as values of an otherwise plain dict."""
    good = {"a": torch.ones(2)}
    return {
        "a call at the top": pickle.dumps(Reduces(os.system, "true"), protocol=2),
        "a call in a value": pickle.dumps({"x": Reduces(os.system, "true")}, protocol=2),
        "a call deep in a value": pickle.dumps({"x": [({"y": Reduces(os.system, "true")},)]}, 2),
        "a call in protocol 4": pickle.dumps({"x": Reduces(os.system, "true")}, protocol=4),
        "a call of eval": pickle.dumps(Reduces(eval, "1+1"), protocol=2),
        "a process": pickle.dumps(Reduces(subprocess.Popen, ["true"]), protocol=2),
        "a call with state": pickle.dumps(Reduces(OrderedDict, state={"x": 1}), protocol=2),
        "an ordered dict of pairs": entry(b"ccollections\nOrderedDict\n(]tR"),
        "an object": pickle.dumps(Stateful(), protocol=2),
        "a name looked up in a name": entry(
            b"\x8c\x0ctorch._utils\x8c\x1f_rebuild_tensor_v2.__globals__x\x93"
        ),
        "a call inside a persistent id": entry(
            b"(X\x07\x00\x00\x00storagecos\nsystem\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
        ),
        "a persistent id of another kind": entry(text(b"module") + b"Q"),
        "a persistent id as text": entry(b"P0\n"),
        "state of a dictionary": entry(b"}" + text(b"__class__") + b"K\x01sb"),
        "state of a name": entry(TENSOR + b"}" + text(b"_metadata") + b"K\x01sb"),
        "a name as function": entry(b"ctorch\nFloatStorage\n(tR"),
        "an instance of old": entry(b"(S'true'\nios\nsystem\n"),
        "an object of old": entry(b"(cos\nsystem\nX\x04\x00\x00\x00trueo"),
        "a new object": entry(b"ccollections\nOrderedDict\n)\x81"),
        "a registered extension": entry(b"\x82\x01"),
        "a buffer out of band": b"\x80\x05}" + text(b"x") + b"\x97s.",
        "a bytearray": pickle.dumps({"x": bytearray(5)}, protocol=5),
        "a numpy array": pickle.dumps({"x": np.ones(2)}, protocol=2),
        "a set": pickle.dumps({"x": {1, 2}}, protocol=4),
        "no dictionary": pickle.dumps([1, 2], protocol=2),
        "an empty dictionary": pickle.dumps({}, protocol=2),
        "a number among the tensors": pickle.dumps({"x": 3.0}, protocol=2),
        "itself": b"\x80\x02}q\x00" + text(b"state_dict") + b"h\x00s.",
        "numbers as names": entry(tensor(b"K\x04\x85", b"K\x01\x85")).replace(text(b"x"), b"K\x07"),
        "hooks": entry(tensor(b"K\x04\x85", b"K\x01\x85", tail=b"\x89}" + text(b"x") + b"K\x01s")),
        "a whole checkpoint but one": pickle.dumps({"state_dict": {"x": 1}, "y": len(good)}, 2),
    }


def shapes():
    """Tensors that claim what is not there."""
    one = b"K\x01\x85"
    return {
        "more than there is": entry(tensor(b"K\x05\x85", one)),
        "beyond the end": entry(tensor(b"K\x02\x85", one, offset=b"K\x03")),
        "a negative offset": entry(tensor(b"K\x02\x85", one, offset=b"J\xff\xff\xff\xff")),
        "a negative stride": entry(tensor(b"K\x02\x85", b"J\xff\xff\xff\xff\x85")),
        "a negative shape": entry(tensor(b"J\xff\xff\xff\xff\x85", one)),
        "a shape of truth": entry(tensor(b"\x88\x85", one)),
        "a shape of words": entry(tensor(text(b"4") + b"\x85", one)),
        "a terabyte of one number": entry(
            tensor(b"\x8a\x06" + b"\0\0\0\0\0\x01\x85", b"K\x00\x85")
        ),
        "an overflow": entry(tensor(b"\x8a\x09" + bytes(8) + b"\x01\x85", one)),
        "many dimensions": entry(tensor(b"(" + b"K\x01" * 99 + b"t", b"(" + b"K\x01" * 99 + b"t")),
        "shape without stride": entry(tensor(b"K\x04\x85", b")")),
        "no storage": entry(tensor(b"K\x04\x85", one, storage=b"N")),
        "a storage that is not there": entry(tensor(b"K\x04\x85", one)).replace(
            b"X\x01\x00\x00\x000", b"X\x01\x00\x00\x007"
        ),
        "a storage by a path": entry(tensor(b"K\x04\x85", one)).replace(
            b"X\x01\x00\x00\x000", text(b"../data.pkl")
        ),
        "a longer storage": entry(tensor(b"K\x04\x85", one)).replace(b"K\x04tQ", b"K\x09tQ"),
        "bytes for numbers": entry(tensor(b"K\x04\x85", one)).replace(b"FloatSt", b"ByteSt"),
    }


def machines():
    """Pickles against the reader itself: memory, depth, unbalanced stacks."""
    deep = b"(" * 30_000 + b")" + b"t" * 30_000
    return {
        "a key nested thirty thousand deep": b"\x80\x02}" + deep + b"K\x01s.",
        "a value nested thirty thousand deep": entry(deep),
        "a memo that is not there": entry(b"h\x09"),
        "an empty stack": b"\x80\x02R.",
        "a mark that is not there": b"\x80\x02t.",
        "filling a number": b"\x80\x02K\x01K\x02K\x03s.",
        "half a pair": b"\x80\x02}(K\x01u.",
        "no end": b"\x80\x02}",
        "nothing": b"",
        "a number of four gigabytes": entry(b"\x8b" + struct.pack("<I", 1 << 31)),
        "a name of an exabyte": entry(b"\x8d" + struct.pack("<Q", 1 << 60)),
        "a number of a million digits": entry(b"I" + b"9" * 1_000_000 + b"\n"),
        "five megabytes of pickle": b"\x80\x02" + b"]0" * 2_700_000 + b".",
    }


def values():
    """What torch.save can write besides plain tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch means to give up quantized tensors
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    shared = torch.ones(1000)
    return {
        "a parameter": {"x": nn.Parameter(torch.ones(2))},
        "a subclass": {"x": torch.ones(2).as_subclass(Pretender)},
        "a sparse tensor": {"x": torch.eye(3).to_sparse()},
        "a quantized tensor": {"x": quantized},
        "a complex tensor": {"x": torch.ones(2, dtype=torch.complex64)},
        "a tensor without values": {"x": torch.ones(2, device="meta")},
        "a whole module": nn.Linear(2, 2),
        "a tensor alone": torch.ones(2),
        "a list of tensors": [torch.ones(2)],
        "many names of one storage": {str(i): shared for i in range(5000)},
        "a dimension of stride zero": {"x": torch.ones(1).expand(1 << 40)},
        "a terminal's command": {"\x1b[2Jgone\r\n": 3},
    }


def archives():
    """Zip files that are not as torch writes them."""
    good = entry(tensor(b"K\x04\x85", b"K\x01\x85"))
    whole = archive(good)
    other_order = [("archive/byteorder", b"big")]
    huge = bytearray(whole)
    struct.pack_into("<I", huge, len(huge) - 22 + 12, 0xFFFFFFF0)
    secret = bytearray(whole)
    for place in (6, secret.index(b"PK\x01\x02") + 8):
        secret[place] |= 1
    return {
        "compressed": archive(good, compression=zipfile.ZIP_DEFLATED),
        "a bomb": archive(b"]" * (8 << 20), compression=zipfile.ZIP_DEFLATED),
        "a large pickle": archive(b"]" * (5 << 20)),
        "a way out": archive(good, extra=[("../../x", b"x")]),
        "a way out inside": archive(good, extra=[("archive/../../x", b"x")]),
        "an absolute path": archive(good, root="/tmp"),
        "another root": archive(good, extra=[("other/data.pkl", b"x")]),
        "a program": archive(good, extra=[("archive/constants.pkl", b"x")]),
        "big-endian": archive(good, extra=other_order),
        "no pickle": archive(good).replace(b"data.pkl", b"date.pkl"),
        "cut off": whole[: len(whole) // 2],
        "cut off at the end": whole[:-1],
        "other numbers than its sum": whole.replace(bytes(16), b"\x01" * 16, 1),
        "a huge directory": bytes(huge),
        "encrypted": bytes(secret),
        "followed by something": whole + b"x",
        # Readers may see different ones.
        "twice the same name": archive(good, storages={"0": bytes(16), "1": bytes(16)}).replace(
            b"archive/data/1", b"archive/data/0"
        ),
        "parts over one another": overlapping(good),
    }


def overlapping(pickled):
    """A hundred parts that are the same place of the file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/data/0", bytes(100_000))
        for key in range(1, 100):
            made.filelist.append(copy.copy(made.filelist[1]))
            made.filelist[-1].filename = f"archive/data/{key}"
    return file.getvalue()


def streams():
    """The plain stream of old torch, and other pickles."""
    good = saved({"x": torch.ones(4)}, _use_new_zipfile_serialization=False)
    keys = pickle.dumps(["0"], protocol=2)
    body = entry(tensor(b"K\x04\x85", b"K\x01\x85"))
    return {
        "a call": stream(pickle.dumps({"x": Reduces(os.system, "true")}, protocol=2)),
        "a call in the list of storages": stream(
            body, pickle.dumps(Reduces(os.system, "true"), protocol=2)
        ),
        "a call instead of the magic": pickle.dumps(Reduces(os.system, "true"), protocol=2),
        "cut off": good[:-3],
        "cut off in the head": good[:40],
        "more numbers than there are": stream(body, keys, tail=struct.pack("<q", 1 << 40)),
        "fewer than none": stream(body, keys, tail=struct.pack("<q", -9) + bytes(16)),
        "other numbers than said": stream(body, keys, tail=struct.pack("<q", 3) + bytes(12)),
        "storages without names": stream(body, pickle.dumps([1], protocol=2)),
        "a view of a storage": stream(body.replace(b"K\x04tQ", b"K\x04(K\x00K\x01K\x02ttQ"), keys),
        "a plain pickle": pickle.dumps({"x": [1.0, 2.0]}, protocol=2),
        "a pickle of text": pickle.dumps({"x": [1.0, 2.0]}, protocol=0),
        "text": b"weights\n",
        "an empty file": b"",
        "big-endian": good.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89"),
    }


def opcodes():
    """Every opcode there is, with nothing to work on."""
    arguments = {"decimalnl_short": b"1\n", "decimalnl_long": b"1L\n", "floatnl": b"1.0\n"}
    for code in pickletools.opcodes:
        known = code.arg and arguments.get(code.arg.name, b"\x01\n\n" + bytes(16))
        yield code.name, b"\x80\x02" + code.code.encode("latin-1") + (known or b"") + b"."
