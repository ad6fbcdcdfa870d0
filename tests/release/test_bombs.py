"""Small files that ask for much are refused at once: 40 of them, as far as they are quickly made.

All of them, through worker processes: ``python tests/benchmarks/reliability_bombs.py``.
"""

import itertools
import sys
import tracemalloc
from contextlib import contextmanager

import misbehaviour
import pytest
from bombs import BOMBS, tagged
from dicom_specimens import rules
from release_specimens import KINDS, refused, said_to_be

from anonymize.release import decode
from anonymize.release.checking import inspection
from anonymize.release.reasons import Reason, Refused

LATE = ("idat", "ztxt", "itxt", "iccp", "deflate", "deflated")  # a gigabyte is packed first
LATE += ("entries", "zips", "lies", "chunks", "elements")  # or very many things; or archives
LONG = ("segments", "tags")  # a million lines of Python are counted one by one


MAX_LINES, MAX_BYTES = 4_000_000, 64 << 20  # of Python that run; that it holds at once


@contextmanager
def bounded():
    """Fails within the block after too much work, counted rather than timed."""
    lines = itertools.count(1)

    def count(frame, event, argument):
        if event == "line" and next(lines) > MAX_LINES:
            pytest.fail("more work than a radiograph is worth")
        return count

    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(count)
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        sys.settrace(before)
        tracemalloc.stop()


def kind(name):
    return name.partition(".")[0]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.whole) if kind(name) in LONG else name
        for name in BOMBS
        if kind(name) not in LATE
    ],
)
def test_bombs_are_refused_before_they_are_decoded(name):
    data = BOMBS[name]()
    with bounded(), pytest.raises(Refused):
        decode.decode(name, data, rules())


def test_work_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "MAX_LINES", 10_000)
    with bounded(), pytest.raises(pytest.fail.Exception):
        misbehaviour.spin()


@pytest.mark.parametrize(
    "bomb",
    [said_to_be(KINDS["gray.jpg"], 9000, 9000), tagged(t257=9000), tagged(t256=60_000)],
    ids=["JPEG", "TIFF rows", "TIFF columns"],
)
def test_a_picture_that_its_bytes_cannot_hold_is_refused_before_it_is_decoded(bomb, monkeypatch):
    monkeypatch.setattr(inspection, "reopen", lambda *given: pytest.fail("it was decoded"))
    with refused(Reason.VERIFICATION):
        inspection.image("a", bomb)
