"""Python objects over a socket between the release and its workers.

An array travels as its own bytes behind the pickle that describes it (protocol 5), without a copy.
"""

from __future__ import annotations

import pickle
import socket
import struct
import time
from typing import Any

COUNT = struct.Struct("<Q")


def send(channel: socket.socket, message: Any) -> None:
    """Sends ``message``; the channel's timeout holds for each part of it.

    Raises:
        OSError: the other side is gone, or does not read.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts: list[bytes | memoryview] = [head, *(buffer.raw() for buffer in buffers)]
    sizes = [len(parts), *(len(part) for part in parts)]
    channel.sendall(b"".join(map(COUNT.pack, sizes)))
    for part in parts:
        channel.sendall(part)


def receive(channel: socket.socket, *, deadline: float | None = None) -> Any:
    """The next message, waited for until ``deadline`` (of ``time.monotonic``).

    Raises:
        TimeoutError: the deadline passed.
        EOFError, OSError: the other side is gone.
    """
    (count,) = COUNT.unpack(_exactly(channel, COUNT.size, deadline))
    sizes = struct.unpack(f"<{count}Q", _exactly(channel, COUNT.size * count, deadline))
    head, *buffers = (_exactly(channel, size, deadline) for size in sizes)
    return pickle.loads(head, buffers=buffers)


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
