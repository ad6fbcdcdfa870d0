"""Weight files are read as torch wrote them, and nothing but tensors is ever read."""

import contextlib
import os
import pickle
import sys
import tracemalloc
from collections import OrderedDict
from pathlib import Path

import hostile_weights
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from anonymize.convert.weight_file import read_weights
from anonymize.errors import ModelError

FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}
_seen: list[str] = []


sys.addaudithook(lambda event, arguments: event in FORBIDDEN and _seen.append(event))


def everything():
    for group, make in (
        ("calls", hostile_weights.calls),
        ("shapes", hostile_weights.shapes),
        ("machines", hostile_weights.machines),
    ):
        for name, pickled in make().items():
            yield f"{group}: {name}", hostile_weights.archive(pickled)
            yield f"{group}, old: {name}", hostile_weights.stream(pickled)
    for name, value in hostile_weights.values().items():
        yield f"values: {name}", hostile_weights.saved(value)
    for group in (hostile_weights.archives, hostile_weights.streams):
        for name, content in group().items():
            yield f"{group.__name__}: {name}", content
    for name, pickled in hostile_weights.opcodes():
        yield f"opcode {name}", hostile_weights.archive(pickled)


HOSTILE = dict(everything())
# What is said of some.
WHY = {
    "calls: a call in a value": "names posix.system, which is no tensor",
    "calls: an object": "names",
    "calls: a buffer out of band": "asks for NEXT_BUFFER",
    "calls: a number among the tensors": "its entry x is no tensor",
    "shapes: a terabyte of one number": "beyond the numbers that the file holds",
    "machines: a key nested thirty thousand deep": "keys are no names",
    "values: a parameter": "names torch._utils._rebuild_parameter",
    "values: a complex tensor": "names torch.ComplexFloatStorage",
    "values: a whole module": "names torch.nn.modules.linear.Linear",
    "values: many names of one storage": "its tensors share numbers",
    "values: a dimension of stride zero": "beyond the numbers",
    "values: a terminal's command": r"entry \x1b[2Jgone\r\n is no tensor",
    "archives: a bomb": "compressed or encrypted",
    "archives: a huge directory": "far more parts",
    "archives: parts over one another": "larger than the file",
    "archives: a program": "a TorchScript program",
    "archives: twice the same name": "two parts of one name",
    "streams: text": "no file of torch.save",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line_and_runs_nothing(tmp_path, name):
    path = tmp_path / "weights.pth"
    path.write_bytes(HOSTILE[name])
    del _seen[:]
    tracemalloc.start()
    with pytest.raises(ModelError) as caught:
        read_weights(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(f"{path} is refused: ")
    assert WHY.get(name, "") in message
    assert WHY.keys() <= HOSTILE.keys()
    assert message.endswith("only what torch.save(model.state_dict(), FILE) writes is converted")
    assert "\n" not in message
    assert message.isprintable()
    assert not _seen
    assert peak < 600 << 20


def test_the_audit_sees_what_an_ordinary_loader_does(tmp_path):
    del _seen[:]
    path = tmp_path / "weights.pth"
    path.write_bytes(HOSTILE["calls, old: a call in a value"])
    with path.open("rb") as file, contextlib.suppress(EOFError):
        while True:  # an old file is several pickles
            pickle.load(file)
    assert "pickle.find_class" in _seen
    assert "os.system" in _seen


def test_what_is_no_file_cannot_be_read(tmp_path):
    with pytest.raises(ModelError, match=r"cannot be read \(FileNotFoundError\)"):
        read_weights(tmp_path / "none.pth")
    os.mkfifo(tmp_path / "pipe.pth")  # opening it would wait for a writer
    for path in (tmp_path, tmp_path / "pipe.pth"):
        with pytest.raises(ModelError, match="is refused: it is no regular file"):
            read_weights(path)


# What is no attack is read as it was saved


def tensors():
    base = torch.arange(60, dtype=torch.float32)
    return OrderedDict(
        float=torch.randn(3, 4),
        double=torch.randn(2, dtype=torch.float64),
        half=torch.randn(2, 2).half(),
        brain=torch.randn(5).bfloat16(),
        long=torch.tensor(7),
        int=torch.arange(3, dtype=torch.int32),
        transposed=torch.randn(3, 5).T,
        view=base.view(3, 4, 5)[1:, ::2, 1:4],
        channels_last=torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        expanded=torch.randn(2, 1)[:, 0],
        empty=torch.empty(0, 3),
        grad=torch.randn(2).requires_grad_().data,
    )


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "stream"])
@pytest.mark.parametrize("wrapped", [True, False], ids=["checkpoint", "state dict"])
def test_tensors_are_those_that_torch_saved(tmp_path, protocol, zipped, wrapped):
    torch.manual_seed(0)
    value = tensors()
    if wrapped:
        optimizer = {"state": {0: {"step": 3, "mean": torch.ones(3)}}, "groups": [{"lr": 1e-4}]}
        value = {"epoch": 3, "best": 0.5, "state_dict": value, "optimizer": optimizer, "n": None}
    path = tmp_path / "weights.pth"
    torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    expected = value["state_dict"] if wrapped else value
    found = read_weights(path)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
        assert found[name].is_contiguous()


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "stream"])
def test_a_modules_state_dict_with_its_versions(tmp_path, zipped):
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    path = tmp_path / "weights.pth"
    torch.save(network.state_dict(), path, _use_new_zipfile_serialization=zipped)
    found = read_weights(path)
    assert list(found) == list(network.state_dict())
    assert all(torch.equal(found[k], v) for k, v in network.state_dict().items())


def test_the_tensors_of_2017_are_read_too(tmp_path):
    pickled = hostile_weights.entry(
        b"ctorch._utils\n_rebuild_tensor\n("
        + hostile_weights.STORAGE.replace(b"ctorch\n", b"ctorch.cuda\n")
        + b"K\x00K\x02K\x02\x86K\x02K\x01\x86tR"
    )
    numbers = torch.arange(4, dtype=torch.float32).numpy().tobytes()
    path = tmp_path / "weights.pth"
    path.write_bytes(hostile_weights.archive(pickled, storages={"0": numbers}))
    assert read_weights(path)["x"].tolist() == [[0, 1], [2, 3]]


def test_a_memo_at_a_huge_index_costs_nothing(tmp_path):
    pickled = hostile_weights.entry(
        hostile_weights.tensor(b"K\x04\x85", b"K\x01\x85") + b"r\xff\xff\xff\xff"
    )
    path = tmp_path / "weights.pth"
    path.write_bytes(hostile_weights.archive(pickled))
    tracemalloc.start()
    assert read_weights(path)["x"].tolist() == [0, 0, 0, 0]
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


@settings(max_examples=150)
@given(data=st.data(), zipped=st.booleans())
def test_a_damaged_file_is_refused_or_read_and_nothing_else(tmp_path_factory, data, zipped):
    value = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(2)}
    content = bytearray(
        hostile_weights.saved({"state_dict": value}, _use_new_zipfile_serialization=zipped)
    )
    # The pickle and the directory are where a changed byte matters.
    places = st.integers(0, len(content) - 1)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(places)] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(places) :]
    path = tmp_path_factory.getbasetemp() / "damaged.pth"
    Path(path).write_bytes(content)
    del _seen[:]
    found, message = {}, ""
    try:
        found = read_weights(path)
    except ModelError as error:
        message = str(error)
    assert "\n" not in message
    assert all(isinstance(tensor, torch.Tensor) for tensor in found.values())
    assert not _seen
