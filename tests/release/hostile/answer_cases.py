"""What a worker that a file has taken over may answer, and tables that are read without one."""

import json
import os
import signal
import socket
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path

from corpus import each, without_processes
from release_specimens import KINDS, fill
from tampered import released

from anonymize.errors import UsageError
from anonymize.release import verify
from anonymize.release.places import SET_FILES
from anonymize.release.records import manifests
from anonymize.release.records.tables import MANIFEST_COLUMNS
from anonymize.release.workers import plain, wire

LARGE = 1 << 20
ROOM = 16 * LARGE  # bytes that a small answer or table may take


def taken(act) -> int:
    """The most memory that ``act`` takes, in bytes."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def answered(folder: Path, *, head):
    """An answer of a MiB, of which the head makes many."""

    def read():
        with suppress(plain.PlainError):
            plain.unpacked([bytearray(json.dumps(head).encode()), bytearray(LARGE)])

    return None if taken(read) < ROOM else "many times the memory of the answer"


def sent(folder: Path, *, sizes):
    """An answer whose parts are announced with these sizes, of which it gives the first."""
    ours, theirs = socket.socketpair()

    def send():
        with suppress(OSError):  # nobody reads it to the end
            theirs.sendall(b"".join(map(wire.COUNT.pack, (len(sizes), *sizes))) + bytes(1 << 12))
            theirs.shutdown(socket.SHUT_WR)

    with ours, theirs:
        threading.Thread(target=send, daemon=True).start()
        try:
            wire.received(ours, None, LARGE)
        except wire.TooLong:
            return None
        except EOFError:
            pass
    return "taken"


def table(folder: Path, *, row):
    """A manifest of which one row goes on for ever: it is read by the release itself."""

    def lines():
        yield ",".join(MANIFEST_COLUMNS).encode() + b"\n"
        for _ in range(LARGE // 8):
            yield bytes(bytearray(row))  # each of its own, as from a file

    def read():
        with suppress(manifests.ManifestError):
            list(manifests.images(lines()))

    return None if taken(read) < LARGE else "many times the memory of a row"


def long(folder: Path, *, table):
    """A table that is read whole, of 64 MiB."""
    out = folder / "out"
    fill(out, released({"a.png": KINDS["gray8.png"]}))

    def read():
        with without_processes():
            return verify.verify(out).sound

    assert read()  # what it imports counts as well
    with (out / table).open("wb") as file:
        file.truncate(64 * LARGE)
    return None if taken(read) < ROOM else "all of it was read"


def key(folder: Path, *, make):
    """A public key that is no file: a pipe would be waited for."""
    out, path = folder / "out", folder / "key.pub"
    fill(out, released({"a.png": KINDS["gray8.png"]}, sign=True))
    make(path)

    def late(*_):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        with without_processes():
            verify.verify(out, public_key=path)
    except UsageError:
        return None
    except AssertionError:
        return "it waits"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return "taken for a key"


ANSWERS = {
    "one part named often": ["list", [["buffer", 0]] * 200],
    "one array named often": ["list", [["array", "|u1", [LARGE], 0]] * 200],
    "one sealed part named often": ["tuple", [["sealed", 0]] * 200],
}
SIZES = {
    "a head of all the memory": (LARGE, 1),
    "a head of half of it": (LARGE // 2,),
    "parts of more than there is": (8, LARGE),
    "too many parts": (0,) * (wire.MAX_PARTS + 1),
}
ROWS = {"of short cells": b'","\n', "of a cell": b'""\n', "of letters": b'a","b\n'}
KEYS = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "nothing": lambda path: None,
}
CASES = [
    *each("answer of a worker", answered, ANSWERS, "head"),
    *each("answer of a worker", sent, SIZES, "sizes"),
    *each("table without an end", table, ROWS, "row"),
    *each("table without an end", long, {f"{t} of 64 MiB": t for t in SET_FILES}, "table"),
    *each("public key that is none", key, KEYS, "make"),
]
