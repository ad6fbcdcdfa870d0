"""Connections of strangers and archives: bounded in time and in what they may make us hold, those
of strangers also in number.

pynetdicom takes a PDU of any length, waits for a TLS handshake before it accepts anybody else, and
keeps whatever a peer sends in memory. Here each of these ends the connection, without a word.
"""

import errno
import ssl
import threading
import time
from functools import partial
from typing import Any

from pynetdicom.association import Association
from pynetdicom.transport import AssociationSocket, RequestHandler, ThreadedAssociationServer

from anonymize.receive.options import NodeOptions

LONGEST_PDU = (1 << 20) + (64 << 10)  # of a request to associate, too
LONGEST_COMMAND = 64 << 10  # of a C-STORE it has some 200 bytes; read, it takes forty times as many
CHUNK = 64 << 10
SPARE_THREADS = 32  # besides two for each association


class Server(ThreadedAssociationServer):
    """Takes connections, each to a thread of its own, as long as there are not too many."""

    options: NodeOptions
    request_queue_size = 64
    daemon_threads = True

    def server_activate(self) -> None:
        super().server_activate()
        # Who hangs up before being accepted must not keep everybody else, and the end, waiting.
        assert self.socket is not None  # it listens
        self.socket.setblocking(False)

    def get_request(self) -> tuple[Any, Any]:
        assert self.socket is not None  # it listens
        connection, address = self.socket.accept()
        connection.settimeout(self.options.timeout)
        if self.ssl_context is not None:
            connection = self.ssl_context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return threading.active_count() < SPARE_THREADS + 4 * self.ae.maximum_associations

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: what a stranger did is no error of ours."""


class Handler(RequestHandler):
    """One connection, from the handshake on."""

    server: Server

    def handle(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()
        super().handle()

    def _create_association(self) -> Association:
        association = super()._create_association()
        bound(association, self.server.options.timeout, self.server.options.object_bytes)
        return association


def bound(association: Association, timeout: float, object_bytes: int) -> None:
    """Holds the peer of a connection that is open to ``timeout`` seconds for a PDU, or for taking
    ours, and to data sets of so many bytes; pynetdicom waits for ever in the middle of either."""
    connection = association.dul.socket
    assert connection is not None
    assert connection.socket is not None  # it is open
    connection.socket.settimeout(timeout)
    bounded = partial(_received, connection, timeout, object_bytes)
    connection.recv = bounded  # type: ignore[method-assign]


def _received(
    connection: AssociationSocket, timeout: float, object_bytes: int, wanted: int
) -> bytearray:
    """``wanted`` bytes, or fewer where the peer hung up, as ``AssociationSocket.recv``. Raises
    OSError: more is asked for, or waits already, than any honest peer has; or it is too slow."""
    _check(connection, object_bytes, wanted)
    deadline = time.monotonic() + timeout
    plain = connection.socket
    assert plain is not None
    data = bytearray()
    try:
        while len(data) < wanted:
            plain.settimeout(max(deadline - time.monotonic(), 0.001))
            chunk = plain.recv(min(CHUNK, wanted - len(data)))
            if not chunk:
                break
            data += chunk
    finally:
        plain.settimeout(timeout)
    return data


def _check(connection: AssociationSocket, object_bytes: int, wanted: int) -> None:
    dimse = connection.assoc.dimse
    held = dimse.message
    parts = (None, None) if held is None else (held.data_set, held.encoded_command_set)
    size, command = (0 if part is None else part.tell() for part in parts)
    # Without asynchronous operations, which are not agreed upon, one message comes at a time.
    many = dimse.msg_queue.qsize() > 1
    if many or wanted > LONGEST_PDU or size > object_bytes or command > LONGEST_COMMAND:
        raise OSError(errno.EMSGSIZE, "more than is taken")
