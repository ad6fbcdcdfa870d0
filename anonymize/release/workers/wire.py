"""Messages over a socket between the release and its workers.

Questions are pickles: a worker trusts the release. Answers are plain values (:mod:`plain`): the
release does not trust what has read a stranger's file.
"""

import copyreg
import io
import pickle
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from anonymize.release.workers import plain

COUNT = struct.Struct("<Q")
MAX_PARTS = 1 << 16
HEAD = 16  # times as much memory as its bytes may a head take, JSON of empty lists 25 times


class TooLong(Exception):
    """A message of more bytes than are taken."""


def question(function: Callable, arguments: tuple) -> list[bytes | memoryview]:
    """The parts of a question; an array is its own bytes behind the pickle (protocol 5), without a
    copy."""
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    pickler = pickle.Pickler(head, protocol=5, buffer_callback=buffers.append)
    pickler.dispatch_table = {**copyreg.dispatch_table, plain.Sealed: plain.Sealed.opening}
    pickler.dump((function, arguments))
    return [head.getbuffer(), *(buffer.raw() for buffer in buffers)]


def asked(channel: socket.socket) -> tuple[Callable, tuple]:
    """The next question. Raises EOFError, OSError: the other side is gone."""
    head, *buffers = received(channel)
    return pickle.loads(head, buffers=buffers)


def answer(channel: socket.socket, value: Any) -> None:
    """Sends an answer (:func:`plain.unpacked` makes it of its parts again); raises OSError where
    nobody waits for it any more."""
    send(channel, plain.packed(value))


def send(channel: socket.socket, parts: Sequence[bytes | bytearray | memoryview]) -> None:
    """Sends the parts of a message; the channel's timeout holds for each of them. Raises OSError:
    the other side is gone, or does not read."""
    sizes = [len(parts), *(len(part) for part in parts)]
    channel.sendall(b"".join(map(COUNT.pack, sizes)))
    for part in parts:
        channel.sendall(part)


def received(
    channel: socket.socket, deadline: float | None = None, most: int | None = None
) -> list[bytearray]:
    """The parts of the next message, waited for until ``deadline`` (of ``time.monotonic``), of
    ``most`` bytes, of which the first part, JSON, takes many times as many when it is read.

    Raises:
        TimeoutError: the deadline passed.
        TooLong: it has more bytes.
        EOFError, OSError: the other side is gone.
    """
    (count,) = COUNT.unpack(_exactly(channel, COUNT.size, deadline))
    if not 0 < count <= MAX_PARTS:
        raise TooLong
    sizes = struct.unpack(f"<{count}Q", _exactly(channel, COUNT.size * count, deadline))
    if most is not None and (sum(sizes) > most or HEAD * sizes[0] > most):
        raise TooLong
    return [_exactly(channel, size, deadline) for size in sizes]


def _exactly(channel: socket.socket, size: int, deadline: float | None) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        if deadline is not None:
            channel.settimeout(max(deadline - time.monotonic(), 1e-3))
        got = channel.recv_into(rest)
        if not got:
            raise EOFError
        rest = rest[got:]
    return data
