"""What an archive's answer means, by C-STORE and by STOW-RS."""

import ssl
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import dicom_specimens as dicom
import pytest
from archive_scp import scp
from certificates import authority
from receiving import made, released, running, send, spooled, until

from anonymize.errors import UsageError
from anonymize.receive import stow_archive
from anonymize.receive.archives import DeclinedError, UnreachableError
from anonymize.receive.destinations import archive_of
from anonymize.receive.options import ForwardOptions, NodeOptions
from anonymize.receive.stow_archive import VARIABLE, read_credentials

FILE = dicom.file(made(0))
NODE = NodeOptions(allow=("SENDER",))


@contextmanager
def archive(to, node=NODE, **options):
    found = archive_of(ForwardOptions(to=to, timeout=10.0, **options), node)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def stow(status=200, body=b"{}", context=None, headers=()):
    """A web server that notes what is posted to it."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            data = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, dict(self.headers), data))
            self.send_response(status)
            for name, value in dict(headers, Location="/elsewhere").items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # who has read enough hangs up
                self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    scheme = "http" if context is None else "https"
    url = f"{scheme}://127.0.0.1:{server.server_address[1]}/dicom-web/studies"
    try:
        yield SimpleNamespace(asked=asked, url=url)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [0x0000, 0xB000, 0xB006, 0xB007])
def test_stored_is_stored_with_a_warning_too(status):
    with scp(status) as theirs, archive(theirs.to) as ours:
        ours.send(FILE)
        ours.send(FILE)
    assert [d.SOPInstanceUID for d in theirs.stored] == [made(0).SOPInstanceUID] * 2


@pytest.mark.parametrize(
    ("status", "error"),
    [(0xA700, UnreachableError), (0xA900, DeclinedError), (0xC123, DeclinedError)],
)
def test_other_statuses_are_not(status, error):
    with scp(status) as theirs, archive(theirs.to) as ours, pytest.raises(error, match="0x"):
        ours.send(FILE)


def test_a_transfer_syntax_that_it_does_not_take_is_declined():
    refused = pytest.raises(DeclinedError, match="transfer syntax")
    with scp(syntax=dicom.IMPLICIT) as theirs, archive(theirs.to) as ours, refused:
        ours.send(FILE)
    assert theirs.stored == []


def test_nobody_there_and_another_title_are_unreachable():
    with scp() as theirs:
        title = theirs.to.replace("ARCHIVE", "OTHER")
        with archive(title) as ours, pytest.raises(UnreachableError, match="rejects"):
            ours.send(FILE)
    with archive(theirs.to) as ours, pytest.raises(UnreachableError, match="no association"):
        ours.send(FILE)


@pytest.mark.parametrize("to", ["A@nowhere.invalid:104", "https://nowhere.invalid/studies"])
def test_a_host_of_no_address_is_unreachable(to):
    with archive(to) as ours, pytest.raises(UnreachableError):
        ours.send(FILE)


def test_an_association_that_ended_is_made_anew():
    with scp() as theirs, archive(theirs.to) as ours:
        ours.send(FILE)
        theirs.server.active_associations[0].abort()
        until(lambda: not theirs.server.active_associations)
        for _ in range(2):
            with suppress(UnreachableError):
                ours.send(FILE)
    assert len(theirs.stored) >= 2


def test_c_store_over_tls_verifies_the_archive(tmp_path):
    ca, other = authority(tmp_path), authority(tmp_path, "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*ca.issue("archive"))
    with scp(context=context) as theirs:
        with archive(theirs.to, ca=ca.file) as ours:
            ours.send(FILE)
        with archive(theirs.to, ca=other.file) as ours, pytest.raises(UnreachableError):
            ours.send(FILE)
    assert len(theirs.stored) == 1


def test_what_is_posted():
    with stow() as theirs, archive(theirs.url) as ours:
        ours.send(FILE)
    ((path, headers, body),) = theirs.asked
    assert path == "/dicom-web/studies"
    kind, _, boundary = headers["Content-Type"].partition("; boundary=")
    assert kind == 'multipart/related; type="application/dicom"'
    start, part, end = body.split(f"--{boundary}".encode())
    assert (start, end) == (b"", b"--\r\n")
    assert part == b"\r\nContent-Type: application/dicom\r\n\r\n" + FILE + b"\r\n"
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b"{}", None),
        (200, b"", None),
        (202, b'{"00081199": {"Value": [{}]}}', None),
        (200, b'{"00081198": {"Value": [{"00081197": {"Value": [272]}}]}}', DeclinedError),
        (202, b"stored, perhaps", DeclinedError),
        (202, b"[]", DeclinedError),
        (200, b"[" * 100_000, None),
        (202, b"[" * 100_000, DeclinedError),
        (409, b"", DeclinedError),
        (400, b"", DeclinedError),
        (302, b"", UnreachableError),
        (401, b"", UnreachableError),
        (404, b"", UnreachableError),
        (503, b"", UnreachableError),
        (204, b"", UnreachableError),
    ],
)
def test_what_http_answers_mean(status, body, error):
    with stow(status, body) as theirs, archive(theirs.url) as ours:
        if error is None:
            ours.send(FILE)
        else:
            with pytest.raises(error, match=str(status)):
                ours.send(FILE)
    assert len(theirs.asked) == 1


def test_of_a_long_answer_the_beginning_is_read(monkeypatch):
    read = []
    monkeypatch.setattr(stow_archive, "_check", lambda status, said: read.append(len(said)))
    most = stow_archive.LONGEST_ANSWER
    with stow(body=bytes(10 * most)) as theirs, archive(theirs.url) as ours:
        ours.send(FILE)
    assert most < read[0] < 2 * most


@pytest.mark.parametrize(
    ("secret", "header"),
    [("node:pass:word\n", "Basic bm9kZTpwYXNzOndvcmQ="), ("Bearer abc.d", "Bearer abc.d")],
)
def test_https_is_verified_before_credentials_are_sent(tmp_path, secret, header):
    ca, other = authority(tmp_path), authority(tmp_path, "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*ca.issue("archive"))
    file = tmp_path / "credentials"
    file.write_text(secret)
    file.chmod(0o600)
    with stow(context=context) as theirs:
        refused = pytest.raises(UnreachableError, match="ConnectError")
        with archive(theirs.url, ca=other.file, credentials=file) as ours, refused:
            ours.send(FILE)
        assert theirs.asked == []
        with archive(theirs.url, ca=ca.file, credentials=file) as ours:
            ours.send(FILE)
    assert theirs.asked[0][1]["Authorization"] == header


def test_credentials_of_the_environment(monkeypatch):
    monkeypatch.setenv(VARIABLE, "user:word")
    assert read_credentials(None) == "user:word"
    with pytest.raises(UsageError, match="must be https"):
        archive_of(ForwardOptions(to="http://127.0.0.1/studies"), NODE)


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (b"user:word", 0o644, "chmod 600"),
        (b"", 0o600, "at least 1 byte"),
        (b"user:word\nother: line", 0o600, "must hold one line"),
        (b"word", 0o600, "must hold one line"),
        (b"\xff:\xfe", 0o600, "must hold one line"),
        (None, 0, "cannot be read"),
    ],
)
def test_credentials_that_are_none(tmp_path, content, mode, words):
    file = tmp_path / "credentials"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(UsageError, match=words) as error:
        read_credentials(file)
    assert "word" not in str(error.value).replace("password", "")


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("somewhere", "must be AET@host:port"),
        ("A@host", "must be AET@host:port"),
        ("A@host:0", "must be AET@host:port"),
        ("A@host:65536", "must be AET@host:port"),
        ("A" * 17 + "@host:104", "must be an AE title"),
        ("https://ho\x7fst/studies", "no address"),
        ("https://host/", "takes studies"),
        ("https://host/studies?x=1", "takes studies"),
        ("https://host:99999/studies", "takes studies"),
        ("ftp://host/studies", "must be AET@host:port"),
        ("https://me:secret@host/studies", "must hold no password"),
    ],
)
def test_destinations_that_are_none(to, words):
    with pytest.raises(UsageError, match=words) as error:
        archive_of(ForwardOptions(to=to), NODE)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("way", ["C-STORE", "STOW-RS"])
def test_a_node_forwards_what_it_releases_and_nothing_else(tmp_path, way):
    bad = made(1)
    bad.Modality = "MR"
    with scp() as theirs, stow() as web:
        to = theirs.to if way == "C-STORE" else web.url
        with running(tmp_path, forward={"to": to}) as node:
            assert send(node.port, made(0), bad) == [0x0000] * 2
            until(lambda: not spooled(tmp_path))
    assert (node.summary.forwarded, node.summary.quarantined) == (1, 1)
    (name,) = released(tmp_path)
    sent = (tmp_path / "out" / name).read_bytes()
    if way == "C-STORE":
        (stored,) = theirs.stored
        assert stored == dicom.opened(sent)
        assert str(made(0).PatientName) not in str(stored)
    else:
        ((_, _, body),) = web.asked
        assert sent in body
