"""What was received is whole, private, known, and bounded."""

import hashlib
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.receive.options import SpoolOptions
from anonymize.receive.spool import Full, Spool, found, is_uid
from anonymize.release.reasons import Reason


def spool(folder, known=(), **options):
    return Spool(folder, SpoolOptions(**{"spare": 0, **options}), dict(known))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_an_object_is_whole_and_private(tmp_path):
    kept = spool(tmp_path)
    assert kept.put("1.2.3", b"data")
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_bytes(), file.stat().st_mode & 0o777) == (
        "1.2.3.dcm",
        b"data",
        0o600,
    )
    assert [f.path for f in kept.take(5)] == ["1.2.3.dcm"]
    assert kept.take(5) == []
    assert len(kept) == 1


def test_what_came_before_is_not_kept_again(tmp_path):
    kept = spool(tmp_path)
    assert kept.put("1.2", b"a")
    assert not kept.put("1.2", b"a")
    kept.settled("1.2.dcm", sha256(b"a"))
    assert not kept.put("1.2", b"a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("state", ["waiting", "settled", "journalled", "left by a killed node"])
def test_other_content_under_a_uid_is_never_released(tmp_path, state):
    known = {"1.2.dcm": sha256(b"a")} if state == "journalled" else {}
    if state.startswith("left"):
        (tmp_path / "1.2.dcm").write_bytes(b"a")
    kept = spool(tmp_path, known)
    if state in ("waiting", "settled"):
        kept.put("1.2", b"a")
    if state == "settled":
        kept.settled("1.2.dcm", sha256(b"a"))
    assert not kept.put("1.2", b"a")
    assert kept.put("1.2", b"b")
    assert not kept.put("1.2", b"b")
    other = [f for f in kept.take(5) if f.refusal is Reason.INSTANCE]
    assert [f.path for f in other] == [f"1.2-{sha256(b'b')}.dcm"]
    again = spool(tmp_path, known)
    assert [f for f in again.take(5) if f.refusal is Reason.INSTANCE] == other


def test_an_object_that_was_gone_before_it_was_read_may_come_again(tmp_path):
    kept = spool(tmp_path)
    kept.put("1.2", b"a")
    kept.settled("1.2.dcm", "")
    assert kept.put("1.2", b"other")
    assert [f.path for f in kept.take(5)][-1] == "1.2.dcm"


def test_a_killed_write_was_never_there(tmp_path):
    (tmp_path / f"{whole_file.TEMPORARY}1-1").write_bytes(b"half")
    kept = spool(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert kept.take(5) == []


@pytest.mark.parametrize("strange", ["notes.txt", "1.2.dcm.zip", "..dcm", "1.2-abc.dcm", "a link"])
def test_a_folder_of_something_else_is_left_alone(tmp_path, strange):
    if strange == "a link":
        (tmp_path / "1.2.dcm").symlink_to("/etc/hostname")
    else:
        (tmp_path / strange).write_bytes(b"")
    with pytest.raises(UsageError, match="files that no node put there"):
        spool(tmp_path)


@pytest.mark.parametrize("limit", [{"files": 2}, {"size": 5}, {"spare": 1 << 62}])
def test_there_is_room_or_the_sender_is_told(tmp_path, limit):
    kept = spool(tmp_path, **limit)
    taken = 0 if "spare" in limit else 2
    for number in range(taken):
        kept.put(f"1.{number}", b"ab")
    with pytest.raises(Full):
        kept.put("1.2", b"ab")
    assert len(list(tmp_path.iterdir())) == taken
    if taken:
        kept.settled("1.0.dcm", sha256(b"ab"))
        assert kept.put("1.2", b"ab")


def test_what_could_not_be_written_may_come_again(tmp_path, monkeypatch):
    kept = spool(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(whole_file.os, "replace", Mock(side_effect=OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space"):
            kept.put("1.2", b"a")
    assert kept.take(5) == []
    assert kept.put("1.2", b"a")


@given(st.text("0123456789./\\-\0 a\n", max_size=9) | st.text("01.", max_size=70))
def test_only_uids_become_names(text):
    if is_uid(text):
        assert set(text) <= set("0123456789.")
        assert found(f"{text}.dcm").instance == text
    else:
        parts = text.split(".")
        assert len(text) > 64 or len(parts) < 2 or not all(p.isdigit() for p in parts)
