"""A node as its senders meet it, on the loopback."""

import hashlib
import logging
import socket
import struct
import threading
from io import BytesIO
from unittest.mock import Mock

import dicom_specimens as dicom
import pytest
from pynetdicom.dimse_primitives import C_STORE
from pynetdicom.dsutils import encode
from receiving import association, made, options, released, running, send, spooled, until
from release_specimens import quarantine, rows, tree

from anonymize.errors import UsageError
from anonymize.receive import connections, desk
from anonymize.receive.node import Node
from anonymize.receive.spool import Spool
from anonymize.release import intake
from anonymize.release.dicom.pseudonyms import Pseudonyms
from anonymize.release.verify import verify
from baselines.k_same import KSame

SUCCESS, FULL, OTHER_CLASS, NOT_UNDERSTOOD = 0x0000, 0xA700, 0xA900, 0xC000
FIND, MR = "1.2.840.10008.5.1.4.1.2.1.1", "1.2.840.10008.5.1.4.1.1.4"


def test_what_is_stored_is_released_and_the_original_goes(tmp_path):
    with running(tmp_path) as node:
        assert send(node.port, made(0), made(1)) == [SUCCESS] * 2
        until(lambda: len(released(tmp_path)) == 2 and not spooled(tmp_path))
    assert (node.summary.received, node.summary.released, node.summary.waiting) == (2, 2, 0)
    manifest = rows((tmp_path / "out/manifest.csv").read_bytes())
    assert [row["output"] for row in manifest] == released(tmp_path)
    assert verify(tmp_path / "out").sound
    secret = (tmp_path / "out-private/secret.key").read_bytes()
    uids = {Pseudonyms(secret).uid(made(n).SOPInstanceUID) for n in range(2)}
    assert {
        dicom.opened((tmp_path / "out" / n).read_bytes()).SOPInstanceUID for n in released(tmp_path)
    } == uids
    assert (tmp_path / "out-spool").stat().st_mode & 0o777 == 0o700


def test_echo_is_answered(tmp_path):
    with running(tmp_path) as node, association(node.port) as found:
        assert found.send_c_echo().Status == SUCCESS


@pytest.mark.parametrize(
    "titles", [{"calling": "STRANGER"}, {"called": "OTHER"}, {"calling": "X", "called": "Y"}]
)
def test_strangers_are_told_nothing(tmp_path, titles):
    with running(tmp_path) as node, association(node.port, **titles) as found:
        assert found.is_rejected
        told = found.acceptor.primitive
        assert (told.result, told.result_source, told.diagnostic) == (1, 1, 1)  # no reason given
        until(lambda: not found.is_alive())
    assert node.summary.strangers == 1
    assert "STRANGER" not in "".join(node.lines)


@pytest.mark.parametrize(
    ("sop_class", "syntax", "taken"),
    [
        (dicom.DX, dicom.JPEG_2000, True),
        (dicom.CR, dicom.IMPLICIT, True),
        (dicom.SECONDARY_CAPTURE, dicom.DEFLATED, True),
        (dicom.DX, "1.2.840.10008.1.2.4.100", False),  # MPEG2
        (MR, dicom.EXPLICIT, False),
        (FIND, dicom.EXPLICIT, False),
    ],
)
def test_what_the_pipeline_cannot_read_is_refused_at_negotiation(node, sop_class, syntax, taken):
    with association(node.port, contexts=[(sop_class, syntax)]) as found:
        kinds = {c.abstract_syntax for c in found.accepted_contexts}
    assert (sop_class in kinds) is taken


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with running(tmp_path_factory.mktemp("node"), timeout=3.0) as found:
        yield found


@pytest.mark.parametrize("uid", ["../../etc/cron", "Doe^Jane", "1"])
def test_a_uid_that_is_none_becomes_no_file(node, uid, capfd):
    with association(node.port) as found:
        assert store(found, made(7), instance=uid) == NOT_UNDERSTOOD
    assert uid not in "".join(capfd.readouterr())


def test_a_class_other_than_agreed_upon_is_refused(node):
    with association(node.port) as found:
        assert store(found, made(7), sop_class=MR) == OTHER_CLASS


def store(found, data_set, *, instance=None, sop_class=dicom.DX):
    """The status of a C-STORE whose command says something else than its data set."""

    context = next(c for c in found.accepted_contexts if c.transfer_syntax[0] == dicom.EXPLICIT)
    request = C_STORE()
    request.MessageID, request.Priority = 1, 2
    request.AffectedSOPClassUID = sop_class
    request._AffectedSOPInstanceUID = instance or data_set.SOPInstanceUID  # as it is, valid or not
    request.DataSet = BytesIO(encode(data_set, False, True))
    found._reactor_checkpoint.clear()
    try:
        found.dimse.send_msg(request, context.context_id)
        return found.dimse.get_msg(block=True)[1].Status
    finally:
        found._reactor_checkpoint.set()


def test_a_header_of_another_uid_is_quarantined(tmp_path):
    with running(tmp_path) as node:
        with association(node.port) as found:
            assert store(found, made(0), instance="1.2.3") == SUCCESS
        until(lambda: not spooled(tmp_path))
    assert released(tmp_path) == []
    assert quarantine(tmp_path / "out-private") == {"1.2.3.dcm": "instance"}
    assert node.summary.quarantined == 1


def test_duplicates_are_stored_and_released_once(tmp_path):
    with running(tmp_path) as node:
        assert send(node.port, made(0), made(0)) == [SUCCESS] * 2
        until(lambda: not spooled(tmp_path))
        assert send(node.port, made(0)) == [SUCCESS]
    before = tree(tmp_path / "out")
    with running(tmp_path) as again:
        assert send(again.port, made(0)) == [SUCCESS]
    assert (node.summary.received, node.summary.duplicates, again.summary.received) == (1, 2, 0)
    assert tree(tmp_path / "out") == before


def test_other_content_under_a_uid_is_quarantined(tmp_path):
    with running(tmp_path) as node:
        assert send(node.port, made(0)) == [SUCCESS]
        until(lambda: released(tmp_path))
        assert send(node.port, made(0, shift=9)) == [SUCCESS]
        until(lambda: not spooled(tmp_path))
    assert len(released(tmp_path)) == 1
    (name,) = quarantine(tmp_path / "out-private")
    kept = tmp_path / "out-private/quarantine" / name
    assert hashlib.sha256(kept.read_bytes()).hexdigest() in name
    assert kept.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_released_is_kept_in_quarantine(tmp_path):
    bad = made(0)
    bad.Modality = "MR"
    with running(tmp_path) as node:
        assert send(node.port, bad) == [SUCCESS]
        until(lambda: not spooled(tmp_path))
    name = f"{bad.SOPInstanceUID}.dcm"
    assert quarantine(tmp_path / "out-private") == {name: "dicom"}
    kept = dicom.opened((tmp_path / "out-private/quarantine" / name).read_bytes())
    assert kept.PatientName == bad.PatientName
    assert released(tmp_path) == []
    assert node.summary.quarantined == 1


def test_what_is_too_large_is_kept_whole(tmp_path, monkeypatch):
    for module in (intake, desk):
        monkeypatch.setattr(module, "MAX_BYTES", 1000, raising=False)
    with running(tmp_path) as node:
        assert send(node.port, made(0)) == [SUCCESS]
        until(lambda: not spooled(tmp_path))
    (kept,) = (tmp_path / "out-private/quarantine").iterdir()
    assert dicom.opened(kept.read_bytes()).PixelData == made(0).PixelData


def test_back_pressure(tmp_path, monkeypatch):
    monkeypatch.setattr(desk.Desk, "work", lambda self: False)
    with running(tmp_path, spool={"files": 2}, drain=0.1) as node:
        assert send(node.port, *map(made, range(4))) == [SUCCESS, SUCCESS, FULL, FULL]
    assert (node.summary.received, node.summary.full, node.summary.waiting) == (2, 2, 2)
    monkeypatch.undo()
    with running(tmp_path, spool={"files": 2}) as node:
        until(lambda: not spooled(tmp_path))
        assert send(node.port, made(2)) == [SUCCESS]
    assert len(released(tmp_path)) == 3


def test_a_disk_that_is_nearly_full_takes_nothing(tmp_path):
    with running(tmp_path, spool={"spare": 1 << 62}) as node:
        assert send(node.port, made(0)) == [FULL]
    assert spooled(tmp_path) == []
    assert node.summary.full == 1


def test_a_failure_to_write_is_never_success(tmp_path, monkeypatch):
    with running(tmp_path) as node:
        with monkeypatch.context() as patch:
            patch.setattr(Spool, "put", Mock(side_effect=RuntimeError("nobody foresaw it")))
            (status,) = send(node.port, made(0))
        assert status not in (SUCCESS, 0xB000, 0xB006, 0xB007)
        assert send(node.port, made(0)) == [SUCCESS]


def test_what_waits_when_it_ends_is_released_then(tmp_path, monkeypatch):
    real, held = desk.Desk.work, [True]
    monkeypatch.setattr(desk.Desk, "work", lambda self: not held and real(self))
    with running(tmp_path) as node:
        assert send(node.port, made(0)) == [SUCCESS]
        assert released(tmp_path) == []
        held.clear()
    assert node.summary.released == 1
    assert spooled(tmp_path) == []


def test_a_pdu_that_is_too_long_ends_the_connection(node):
    with socket.create_connection(("127.0.0.1", node.port), timeout=30) as stranger:
        stranger.sendall(struct.pack(">BBL", 1, 0, 1 << 31) + bytes(1000))
        assert stranger.recv(100) in (b"", b"\x07")
    assert send(node.port, made(11)) == [SUCCESS]


def test_a_caller_who_is_gone_before_being_accepted_is_not_waited_for():
    node = Node(options().node)
    with pytest.raises(BlockingIOError):
        node._server.get_request()
    node.close()


def test_an_object_that_is_too_large_ends_the_association(tmp_path):
    with running(tmp_path, object_bytes=2000, pdu=4096) as node:
        with association(node.port) as found:
            data_set = dicom.opened(dicom.file(made(0)))
            answer = found.send_c_store(data_set)
            assert "Status" not in answer
        with association(node.port) as found:
            assert found.send_c_echo().Status == SUCCESS
    assert node.summary.received == 0
    assert spooled(tmp_path) == []


def test_a_command_that_does_not_end_ends_the_association(tmp_path):
    with running(tmp_path) as node, association(node.port) as found:
        for _ in range(3):
            say(found, bytes(connections.LONGEST_COMMAND), last=False)
        until(lambda: not found.is_established, patience=10)


def test_a_command_that_cannot_be_read_is_not_repeated(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    with running(tmp_path) as node, association(node.port) as found:
        say(found, struct.pack("<HHI", 0, 0x100, 9) + b"DOE^JANE1", last=True)
        until(lambda: not found.is_established)
    assert "DOE" not in "".join(capfd.readouterr())


def say(found, command, *, last):
    """Sends a part of a command, whatever it holds."""
    part = struct.pack(">LBB", len(command) + 2, 1, 1 + 2 * last) + command
    found.dul.socket.socket.sendall(struct.pack(">BBL", 4, 0, len(part)) + part)


def test_too_many_connections_are_closed(tmp_path, monkeypatch):
    with running(tmp_path) as node:
        with monkeypatch.context() as patch:
            patch.setattr(connections.threading, "active_count", lambda: 1000)
            with socket.create_connection(("127.0.0.1", node.port), timeout=30) as stranger:
                assert stranger.recv(1) == b""
        assert send(node.port, made(0)) == [SUCCESS]


def test_nothing_of_a_patient_is_logged(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with running(tmp_path) as node:
        send(node.port, made(0), made(0, shift=9))
        with association(node.port, calling="STRANGER"):
            pass
        until(lambda: not spooled(tmp_path))
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("anonymize")]
    said = "".join([*node.lines, *ours, *capfd.readouterr()])
    secrets = (made(0).PatientID, "Müller", "Josefine", made(0).SOPInstanceUID, "STRANGER")
    assert not [word for word in secrets if word in said]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"allow": ()}, "--allow must name"),
        ({"allow": ("A\\B",)}, "--allow must be an AE title"),
        ({"aet": " " * 3}, "--aet must be an AE title"),
        ({"aet": "A" * 17}, "--aet must be an AE title"),
        ({"host": "192.0.2.1"}, "--host 192.0.2.1 --port 0: no address"),
        ({"tls_cert": "cert.pem"}, "--tls-key belong together"),
        ({"tls_client_ca": "ca.pem"}, "--tls-client-ca needs"),
        ({"forward": {"to": "nowhere"}}, "--forward-to must be AET@host:port"),
        ({"forward": {"credentials": "file"}}, "need --forward-to"),
        ({"release": {"names": "keep"}}, "must be hashed"),
        ({"model": KSame(k=5)}, "objects come one by one"),
    ],
)
def test_wrong_usage_touches_nothing(tmp_path, wanted, words):
    with pytest.raises(UsageError, match=words), running(tmp_path, **wanted):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["out-spool/notes.txt", "out-private/forward.jsonl"])
def test_what_is_not_its_own_is_named_before_anything_is_made(tmp_path, place):
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text("notes\n")
    with pytest.raises(UsageError), running(tmp_path, forward={"to": "A@127.0.0.1:104"}):
        pass
    assert not (tmp_path / "out").exists()
