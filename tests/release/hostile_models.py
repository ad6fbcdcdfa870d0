"""Model files of somebody who means harm; {name: maker of bytes}."""

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import torch
from safetensors.numpy import save

from anonymize.model_card import Card
from anonymize.options import FlowOptions
from anonymize.prichexy_net import FlowGenerator

OPTIONS = FlowOptions(features=4, levels=1, mu=0.05)
CARD = Card(
    kind="anonymizer", method="prichexy-net", architecture=OPTIONS.model_dump(), size=32
).model_dump(mode="json")
DEEP = "[" * 200_000 + "]" * 200_000


class Evil:
    """What runs a command where it is unpickled."""

    def __reduce__(self):
        import os

        return os.system, ("true",)


def weights():
    torch.manual_seed(0)
    state = FlowGenerator(OPTIONS).core.state_dict()
    made = {k: v.numpy() for k, v in state.items()}
    return {k: (v + 0.01).astype(v.dtype) if v.dtype.kind == "f" else v for k, v in made.items()}


def safetensors(tensors, metadata, *, change=lambda header: header):
    """A model file; ``change`` spoils its header."""
    data = save(tensors, metadata)
    end = 8 + struct.unpack_from("<Q", data)[0]
    text = change(data[8:end])
    return struct.pack("<Q", len(text)) + text + data[end:]


def carded(**changes):
    """A good file but for what its card says."""
    return safetensors(weights(), {"card": json.dumps({**CARD, **changes})})


def built(**changes):
    """… but for how its network is built."""
    return carded(architecture={**CARD["architecture"], **changes})


def checkpoint():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/data.pkl", pickle.dumps({"model": Evil()}))
        made.writestr("archive/version", "3\n")
    return file.getvalue()


def of_one(shape, offsets):
    """A file of one tensor that is not there."""
    header = {"w": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}
    text = json.dumps({"__metadata__": {"card": json.dumps(CARD)}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


def nan():
    return {k: v * np.float32("nan") if v.dtype.kind == "f" else v for k, v in weights().items()}


HOSTILE = {
    "pickle": lambda: pickle.dumps(Evil()),
    "checkpoint": checkpoint,
    "empty": lambda: b"",
    "header of 2^63 bytes": lambda: struct.pack("<Q", 1 << 63) + b"{}",
    "header beyond the end": lambda: struct.pack("<Q", 10_000) + b"{}",
    "header that is no JSON": lambda: struct.pack("<Q", 6) + b"\xff\xfe{}{}",
    "header nested deep": lambda: struct.pack("<Q", len(DEEP)) + DEEP.encode(),
    "tensor beyond the end": lambda: of_one([1 << 30], [0, 1 << 32]),
    "tensor of more than there is": lambda: of_one([1 << 40], [0, 64]),
    "tensors that overlap": lambda: safetensors(
        weights(),
        {"card": json.dumps(CARD)},
        change=lambda header: header.replace(b'"data_offsets":[0,', b'"data_offsets":[4,'),
    ),
    "no card": lambda: safetensors(weights(), {}),
    "card nested deep": lambda: safetensors(weights(), {"card": DEEP}),
    "card of another kind": lambda: carded(kind="classifier"),
    "method that writes on the terminal": lambda: carded(method="\x1b[2J\x07../../evil"),
    "key that writes on the terminal": lambda: safetensors(
        {**weights(), "\x1b[2J\x07": np.zeros(1, np.float32)}, {"card": json.dumps(CARD)}
    ),
    "weights that are NaN": lambda: safetensors(nan(), {"card": json.dumps(CARD)}),
    "other shapes": lambda: built(features=8),
    "network of terabytes": lambda: built(features=1 << 20),
    "network beyond counting": lambda: built(features=1 << 62),
    "images of terabytes": lambda: carded(size=1 << 30),
    "filter of gigabytes": lambda: built(kernel=(1 << 30) + 1),
    "μ that is NaN": lambda: built(mu=float("nan")),
}
