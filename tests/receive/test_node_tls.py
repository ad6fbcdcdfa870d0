"""A node with TLS: certificates verified on both sides, and nobody waits for who is silent."""

import socket
import ssl
import time

import pytest
from certificates import authority
from receiving import association, made, running, send, spooled, until

from anonymize.errors import UsageError
from anonymize.receive.options import NodeOptions
from anonymize.receive.tls import of_archive, of_node


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    ours = authority(folder)
    ours.node, ours.sender = ours.issue("node"), ours.issue("sender")
    ours.other = authority(folder, "other")
    return ours


def sender(known, pair=None):
    """What pynetdicom takes: the context of one who verifies the node."""
    context = ssl.create_default_context(cafile=known.file)
    if pair is not None:
        context.load_cert_chain(*pair)
    return context, "127.0.0.1"


@pytest.fixture
def node(tmp_path, known):
    cert, key = known.node
    with running(
        tmp_path, tls_cert=cert, tls_key=key, tls_client_ca=known.file, timeout=3.0
    ) as found:
        yield found


def test_mutual_tls(tmp_path, node, known):
    assert send(node.port, made(0), tls=sender(known, known.sender)) == [0x0000]
    until(lambda: not spooled(tmp_path))


@pytest.mark.parametrize("who", ["nobody", "of another CA", "without TLS"])
def test_who_is_not_known_does_not_get_in(node, known, who):
    pair = known.other.issue("intruder") if who == "of another CA" else None
    tls = None if who == "without TLS" else sender(known, pair)
    with association(node.port, tls=tls) as found:
        until(lambda: not found.is_established)
        assert not found.accepted_contexts
    with association(node.port, tls=sender(known, known.sender)) as found:
        assert found.send_c_echo().Status == 0x0000


def test_nobody_waits_for_a_silent_handshake(node, known):
    silent = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(3)]
    begun = time.monotonic()
    with association(node.port, tls=sender(known, known.sender)) as found:
        assert found.send_c_echo().Status == 0x0000
    assert time.monotonic() - begun < 3.0  # less than one of them may take
    for connection in silent:
        connection.settimeout(30)
        assert connection.recv(1) == b""
        connection.close()


def test_old_versions_are_not_spoken(known):
    cert, key = known.node
    for context in (
        of_node(NodeOptions(allow=("A",), tls_cert=cert, tls_key=key)),
        of_archive(NodeOptions(allow=("A",)), known.file),
    ):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"tls_key": "sender"}, "--tls-cert and --tls-key must be PEM"),
        ({"tls_cert": "missing"}, "--tls-cert and --tls-key must be PEM"),
        ({"tls_client_ca": "missing"}, "--tls-client-ca must be a PEM file"),
    ],
)
def test_files_that_cannot_be_used_are_named_by_their_option(tmp_path, known, wrong, words):
    cert, key = known.node
    files = {"sender": known.sender[1], "missing": tmp_path / "missing.pem"}
    given = {"tls_cert": cert, "tls_key": key} | {k: files[v] for k, v in wrong.items()}
    with pytest.raises(UsageError, match=words) as error:
        of_node(NodeOptions(allow=("A",), **given))
    assert str(tmp_path) not in str(error.value)
