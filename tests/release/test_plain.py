"""What a worker answers: values of ours come back as they were, and nothing runs on the way."""

import copy
import json
import pickle
import socket
import threading
from dataclasses import asdict

import numpy as np
import pytest
from dicom_specimens import changed, file, rules
from hypothesis import given
from hypothesis import strategies as st
from release_specimens import KINDS

from anonymize.release import decode, encode
from anonymize.release.archives import Found, Member
from anonymize.release.burned_in.options import TextReport
from anonymize.release.reasons import Reason
from anonymize.release.records.entries import Entry
from anonymize.release.workers import plain, wire


def handed_on(value):
    """What the next worker gets of an answer."""
    here, there = socket.socketpair()
    with here, there:
        wire.send(here, wire.question(len, (value,)))
        return wire.asked(there)[1][0]


def travelled(value):
    return plain.unpacked([bytearray(part) for part in plain.packed(value)])


keys = st.one_of(st.integers(), st.text(), st.booleans(), st.binary())
leaves = st.one_of(st.none(), st.floats(allow_nan=False), keys, st.binary(min_size=2000))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.frozensets(keys),
        st.dictionaries(keys, inner),
    ),
    max_leaves=8,
)


@given(trees)
def test_values_come_back_as_they_were(value):
    found = travelled(value)
    assert found == value
    assert repr(found) == repr(value) or isinstance(value, (frozenset, list, tuple, dict))


@pytest.mark.parametrize("kind", ["u1", "<u2", ">u2", "f4", "f8", "?", "i8"])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3, 1)])
def test_arrays_come_back_as_they_were(kind, shape):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    found = travelled(array.T)
    np.testing.assert_array_equal(found, array.T)
    assert found.dtype == array.dtype


@pytest.mark.parametrize(
    "value",
    [
        TextReport(1, 2, "inpaint", "ocr"),
        Found("a\udce4.png", Reason.DAMAGED, "d", Member("x.zip", 1, 2, 3, 4, 5, True, (1, 2, 3))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_our_own_classes_come_back(value):
    assert travelled(value) == value


@pytest.mark.parametrize("name", ["gray16.png", "cmyk.jpg", "palette-colour.png"])
def test_a_radiograph_comes_back(name):
    sent = decode.decode(name, KINDS[name])
    found = travelled(sent)
    assert encode.encode(found.radiograph) == encode.encode(sent.radiograph)
    assert found.words == sent.words


def test_a_dicom_header_is_opened_by_the_next_worker_only():
    data = file(changed())
    sent = decode.decode("a.dcm", data, rules())
    found = travelled(sent).radiograph
    assert isinstance(found.source.header, plain.Sealed)
    opened = handed_on(found)
    assert encode.encode(opened) == encode.encode(sent.radiograph)


class Bomb:
    def __reduce__(self):
        return threading.main_thread, ()


def test_what_is_not_ours_stays_sealed():
    found = travelled(Bomb())
    assert isinstance(found, plain.Sealed)
    assert handed_on(found) is threading.main_thread()


def test_copying_an_answer_opens_nothing():
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("a sealed value was opened",)

    sealed = plain.Sealed(pickle.dumps(Trap()))
    assert copy.copy(sealed) == copy.deepcopy(sealed) == sealed
    assert pickle.loads(pickle.dumps(sealed)) == sealed
    entry = Entry("a.png", figures={"ssim": frozenset({sealed})}, labels={"x": [sealed]})
    assert asdict(entry)["figures"]["ssim"] == {sealed}


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}",
        b"[]",
        b"nonsense",
        b"\xff\xfe",
        b'["array", "O", [1], 0]',
        b'["array", "<u2", [7], 0]',
        b'["array", "<u2", [-1, 0], 0]',
        b'["buffer", 4]',
        b'["buffer", "a"]',
        b'["member", "os", "system", "true"]',
        b'["object", "subprocess", "Popen", {"args": "true"}]',
        b'["object", "anonymize.release.storage", "os", {}]',
        b'["object", "anonymize.release.reasons", "Refused", {}]',
        b'["object", "anonymize.release.workers.plain", "import_module", {"name": "os"}]',
        b'["object", "anonymize.release.nowhere", "A", {}]',
        b'["object", "anonymize.release.burned_in.options", "TextReport", {"x": 1}]',
        b'["member", "anonymize.release.reasons", "Reason", "no such"]',
        b'["dict", [[["list", []], 1]]]',
        b'["frozenset", [["list", []]]]',
        b"[" * 100_000,
        b'["list", [' * 50_000,
        b"9" * 5000,
    ],
    ids=lambda answer: answer[:60].decode("latin-1"),
)
def test_what_no_worker_says_is_refused(answer):
    with pytest.raises(plain.PlainError):
        plain.unpacked([bytearray(answer), bytearray(b"abc")])


def test_every_truncation_is_refused():
    head = plain.packed(decode.decode("a.png", KINDS["gray8.png"]))[0]
    for end in range(len(head)):
        with pytest.raises(plain.PlainError):
            plain.unpacked([bytearray(head[:end]), bytearray(40 * 52)])


def test_the_head_is_readable():
    assert json.loads(plain.packed((1, b"a"))[0]) == ["tuple", [1, ["bytes", "a"]]]
