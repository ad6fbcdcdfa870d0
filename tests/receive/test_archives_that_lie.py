"""Archives that stop in the middle of an answer, or answer with more than anybody asked for."""

import gzip
import struct
import threading

import pytest
from archive_scp import scp
from test_receive_archives import FILE, NODE, archive, stow
from waited import PATIENCE

from anonymize.receive.archives import UnreachableError
from anonymize.receive.destinations import archive_of
from anonymize.receive.options import ForwardOptions

MIB = 1 << 20
MANY = 64  # MiB that are sent to whoever takes them


def head_of_pdu(length):
    """Of P-DATA-TF (PS3.8 9.3.5)."""
    return b"\x04\x00" + struct.pack(">I", length)


def error_of_sending(to):
    """What an archive that may take a second is said to be; None: nobody ever said anything."""
    ours, found = archive_of(ForwardOptions(to=to, timeout=1.0), NODE), []

    def send():
        try:
            ours.send(FILE)
        except UnreachableError as error:
            found.append(error)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(PATIENCE / 2)
    return found and found[0]


def test_half_an_answer_is_waited_for_as_long_as_none():
    ended = threading.Event()

    def half(event):
        event.assoc.dul.socket.socket.sendall(head_of_pdu(100) + b"half")
        ended.wait(PATIENCE)

    with scp(before=half) as theirs:
        said = error_of_sending(theirs.to)
        ended.set()
    assert str(said) == "no answer"


def test_an_answer_without_end_is_not_kept():
    taken = []

    def flood(event):
        peer = event.assoc.dul.socket.socket
        peer.sendall(head_of_pdu((1 << 32) - 1))
        for _ in range(MANY):
            peer.sendall(bytes(MIB))
            taken.append(MIB)

    with scp(before=flood) as theirs:
        assert error_of_sending(theirs.to)
    assert sum(taken) < MANY * MIB / 2


def test_a_compressed_answer_is_not_asked_for_and_not_inflated():
    body = gzip.compress(gzip.compress(bytes(MANY * MIB)))
    refused = pytest.raises(UnreachableError, match="encoded though nobody asked")
    encoded = {"Content-Encoding": "gzip, gzip"}
    with stow(body=body, headers=encoded) as theirs, archive(theirs.url) as ours, refused:
        ours.send(FILE)
    assert theirs.asked[0][1]["Accept-Encoding"] == "identity"
