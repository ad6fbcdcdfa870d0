"""dcmtk's programs as senders and as the archive."""

import dicom_specimens as dicom
import pytest
from certificates import authority
from programs import DCMTK, archive, call, dcmtk
from receiving import made, released, running, spooled, until

pytestmark = pytest.mark.skipif(
    not all(map(dcmtk, DCMTK)), reason="needs dcmtk: apt-get install dcmtk"
)


def titles(calling="SENDER", called="ANONYMIZE"):
    return ["-aet", calling, "-aec", called, "127.0.0.1"]


def test_echo_and_strangers(tmp_path):
    with running(tmp_path) as node:
        assert call("echoscu", *titles(), node.port).returncode == 0
        for wrong in (titles(calling="STRANGER"), titles(called="OTHER")):
            done = call("echoscu", "-v", *wrong, node.port)
            assert done.returncode != 0
            assert "Reason: No Reason" in done.stderr
    assert node.summary.strangers == 2


def test_a_folder_is_received_released_and_forwarded(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.dcm").write_bytes(dicom.file(made(number)))
    with archive(tmp_path / "archive") as theirs:
        with running(tmp_path, forward={"to": theirs.to}) as node:
            sent = call("storescu", "+sd", *titles(), node.port, folder)
            assert sent.returncode == 0, sent.stderr
            until(lambda: not spooled(tmp_path))
        assert node.summary.forwarded == 5
    stored = [dicom.opened(path.read_bytes()) for path in theirs.folder.iterdir()]
    ours = [dicom.opened((tmp_path / "out" / name).read_bytes()) for name in released(tmp_path)]
    assert len(stored) == len(ours) == 5
    by_uid = {d.SOPInstanceUID: d for d in stored}
    assert all(by_uid[d.SOPInstanceUID] == d for d in ours)


def test_both_ways_over_tls_and_no_other_certificate_gets_in(tmp_path):
    ours, others = authority(tmp_path), authority(tmp_path, "other")
    cert, key = ours.issue("node")

    def shown(authority, peer):
        certificate, private = authority.issue(peer)
        return ["+tls", private, certificate, "+cf", ours.file]

    source = tmp_path / "one.dcm"
    source.write_bytes(dicom.file(made(0)))
    secured = {"tls_cert": cert, "tls_key": key, "tls_client_ca": ours.file}
    with archive(tmp_path / "archive", tls=shown(ours, "archive")) as theirs:
        with running(tmp_path, forward={"to": theirs.to, "ca": ours.file}, **secured) as node:
            for tls in ([], shown(others, "intruder")):
                assert call("storescu", *tls, *titles(), node.port, source).returncode != 0
            assert not spooled(tmp_path)
            sent = call("storescu", *shown(ours, "sender"), *titles(), node.port, source)
            assert sent.returncode == 0, sent.stderr
            until(lambda: not spooled(tmp_path))
        assert node.summary.forwarded == 1
    assert len(list(theirs.folder.iterdir())) == len(released(tmp_path)) == 1


def test_an_archive_that_comes_late_gets_everything(tmp_path):
    with archive(tmp_path / "archive") as theirs:
        pass
    source = tmp_path / "one.dcm"
    source.write_bytes(dicom.file(made(0)))
    with running(tmp_path, forward={"to": theirs.to}) as node:
        assert call("storescu", *titles(), node.port, source).returncode == 0
        until(lambda: (tmp_path / "out-private/forward.jsonl").stat().st_size > 0)
        assert spooled(tmp_path) == [f"{made(0).SOPInstanceUID}.dcm"]
        with archive(tmp_path / "archive", theirs.port):
            until(lambda: not spooled(tmp_path))
    assert len(list(theirs.folder.iterdir())) == 1


def test_compressed_objects_are_received(tmp_path):
    """dcmtk's JPEG, which storescu proposes with -xs."""
    source, packed = tmp_path / "plain.dcm", tmp_path / "packed.dcm"
    source.write_bytes(dicom.file(made(0)))
    assert call("dcmcjpeg", source, packed).returncode == 0
    with running(tmp_path) as node:
        assert call("storescu", "-xs", *titles(), node.port, packed).returncode == 0
        until(lambda: not spooled(tmp_path))
    (name,) = released(tmp_path)
    made_of = dicom.opened((tmp_path / "out" / name).read_bytes())
    assert made_of.file_meta.TransferSyntaxUID == dicom.JPEG_2000
