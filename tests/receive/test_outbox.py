"""Forwarding: once where nothing fails, again where it does, never in silence."""

import hashlib
import json
import time
from unittest.mock import Mock

import pytest
from release_specimens import rows
from waited import until

from anonymize.errors import UsageError
from anonymize.receive import outbox as module
from anonymize.receive.archives import DeclinedError, UnreachableError
from anonymize.receive.deliveries import JOURNAL, Deliveries
from anonymize.receive.outbox import Outbox
from anonymize.receive.tally import Tally
from anonymize.release.storage import StorageError

TO = "ARCHIVE@127.0.0.1:104"


class Script:
    """An archive that answers as it is told, then takes everything."""

    def __init__(self, *answers):
        self.answers, self.taken, self.closed = list(answers), [], False

    def send(self, data):
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        self.taken.append(data)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pauses of a hundredth of their length."""
    real = module._pause
    monkeypatch.setattr(module, "_pause", lambda failures: real(failures) / 100)


class Forwarding:
    """An outbox with files, of which ``settled`` are let go."""

    def __init__(self, folder, archive, *, tries=3, files=(b"a",), to=TO):
        self.out, self.private, self.settled = folder / "out", folder / "private", []
        for place in (self.out, self.private):
            place.mkdir(exist_ok=True)
        named = {f"{number}.dcm": data for number, data in enumerate(files)}
        for name, data in named.items():  # before the outbox, which may read them at once
            (self.out / name).write_bytes(data)
        self.deliveries, self.tally = Deliveries(self.private, to), Tally()
        self.deliveries.open()
        self.outbox = Outbox(archive, self.deliveries, self.out, tries, self.tally)
        for name, data in named.items():
            digest = hashlib.sha256(data).hexdigest()
            self.outbox.put(name, digest, lambda name=name: self.settled.append(name))

    def done(self):
        """Waits until nothing is on its way; the counts."""
        until(lambda: not len(self.outbox) or self.outbox._error)
        self.end()
        return self.tally.summary(waiting=0, forwarding=len(self.outbox))

    def end(self):
        self.outbox.close(time.monotonic() + 30)
        self.deliveries.close()


def states(folder):
    lines = (folder / "private" / JOURNAL).read_text().splitlines()
    return [(line["output"], line["state"], line["tries"]) for line in map(json.loads, lines)]


def undelivered(folder):
    return rows((folder / "private/undelivered.csv").read_bytes())


def test_each_file_is_sent_once_and_let_go_after_its_line(tmp_path):
    archive = Script()
    sent = Forwarding(tmp_path, archive, files=(b"a", b"b", b"c"))
    assert sent.done().forwarded == 3
    assert archive.taken == [b"a", b"b", b"c"]
    assert sent.settled == ["0.dcm", "1.dcm", "2.dcm"]
    assert archive.closed
    again = Forwarding(tmp_path, archive, files=(b"a", b"b", b"c"))
    assert again.settled == sent.settled
    assert again.done().forwarded == 0
    assert len(archive.taken) == 3


def test_a_file_that_was_made_anew_is_sent_anew(tmp_path):
    archive = Script()
    Forwarding(tmp_path, archive).done()
    Forwarding(tmp_path, archive, files=(b"new",)).done()
    Forwarding(tmp_path, archive, files=(b"new",), to="OTHER@127.0.0.1:104").done()
    assert archive.taken == [b"a", b"new", b"new"]


@pytest.mark.parametrize("error", [UnreachableError("no answer"), DeclinedError("status 0xC000")])
def test_what_fails_is_tried_again(tmp_path, error):
    archive = Script(error, error)
    sent = Forwarding(tmp_path, archive)
    assert sent.done().forwarded == 1
    assert states(tmp_path) == [
        ("0.dcm", "tried", 1),
        ("0.dcm", "tried", 2),
        ("0.dcm", "delivered", 3),
    ]
    assert sent.settled == ["0.dcm"]


def test_a_file_that_is_declined_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_pause", lambda failures: 0.2)
    archive = Script(DeclinedError("status 0xC000"))
    Forwarding(tmp_path, archive, files=(b"a", b"b")).done()
    assert archive.taken == [b"b", b"a"]


def test_while_the_archive_is_not_reached_everything_waits(tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(module, "_pause", lambda failures: pauses.append(failures) or 0.01)
    archive = Script(*[UnreachableError("no association")] * 4)
    sent = Forwarding(tmp_path, archive, files=(b"a", b"b"), tries=5)
    assert sent.done().forwarded == 2
    assert pauses == [1, 2, 3, 4]  # of the archive, whichever file was tried


def test_pauses_grow_and_end_growing(monkeypatch):
    monkeypatch.undo()
    assert [module._pause(n) for n in (1, 2, 3, 9, 10, 50)] == [1, 2, 4, 256, 300, 300]


def test_after_all_tries_it_is_listed_and_tried_again_by_the_next_node(tmp_path):
    sent = Forwarding(tmp_path, Script(*[DeclinedError("status 0xC000")] * 3))
    assert sent.done().undelivered == 1
    assert sent.settled == ["0.dcm"]
    assert [(row["output"], row["tries"], row["why"]) for row in undelivered(tmp_path)] == [
        ("0.dcm", "3", "status 0xC000")
    ]
    archive = Script()
    again = Forwarding(tmp_path, archive)
    assert again.done().forwarded == 1
    assert archive.taken == [b"a"]
    assert undelivered(tmp_path) == []


def test_what_is_undelivered_is_never_forgotten(tmp_path, monkeypatch):
    """Not by a node that is killed while it tries again; the spool has it no more."""
    Forwarding(tmp_path, Script(*[DeclinedError("x")] * 3)).done()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_pause", lambda failures: 60.0)
        second = Forwarding(tmp_path, Script(UnreachableError("x")), files=())
        until(lambda: len(states(tmp_path)) == 4)
        second.end()
    assert [row["output"] for row in undelivered(tmp_path)] == ["0.dcm"]
    archive = Script()
    assert Forwarding(tmp_path, archive, files=()).done().forwarded == 1
    assert archive.taken == [b"a"]


def test_tries_are_counted_over_restarts(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "_pause", lambda failures: 0.0 if failures < 2 else 60.0)
        first = Forwarding(tmp_path, Script(*[UnreachableError("x")] * 9), tries=4)
        until(lambda: len(states(tmp_path)) == 2)
        first.end()
    assert first.settled == []
    again = Forwarding(tmp_path, Script(*[UnreachableError("x")] * 9), tries=4)
    assert again.done().undelivered == 1
    assert states(tmp_path)[-1] == ("0.dcm", "undelivered", 4)


def test_a_file_that_changed_since_its_release_is_never_sent(tmp_path):
    archive = Script(UnreachableError("x"))
    sent = Forwarding(tmp_path, archive)
    (tmp_path / "out/0.dcm").write_bytes(b"other")
    assert sent.done().undelivered == 1
    assert archive.taken == []
    assert "changed or gone" in undelivered(tmp_path)[0]["why"]


def test_what_cannot_be_journalled_ends_the_thread_and_lets_nothing_go(tmp_path, monkeypatch):
    monkeypatch.setattr(Deliveries, "record", Mock(side_effect=StorageError("No space left")))
    sent = Forwarding(tmp_path, Script())
    until(lambda: sent.outbox._error)
    with pytest.raises(StorageError):
        sent.outbox.check()
    assert sent.settled == []
    sent.end()


def test_half_a_line_was_never_written(tmp_path):
    Forwarding(tmp_path, Script()).done()
    journal = tmp_path / "private" / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[: len(whole) // 2])
    archive = Script()
    Forwarding(tmp_path, archive).done()
    assert archive.taken == []
    assert journal.read_bytes() == whole
    assert journal.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"{}x\n", b'{"to": 1}\n'])
def test_a_damaged_journal_is_named(tmp_path, damage):
    (tmp_path / JOURNAL).write_bytes(damage)
    with pytest.raises(UsageError, match="is damaged"):
        Deliveries(tmp_path, TO)
