"""``anonymize review`` as a user meets it, without a browser."""

import json
import socket
import sys

import pytest
from release_specimens import KINDS, called, command, fill, tree
from review_killing import decide
from set_specimens import Case, folder, table

from anonymize.commands.interrupts import Terminated
from anonymize.release.review import server

FILES = {"a.png": KINDS["gray8.png"], "b.png": KINDS["rgb.png"]}


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A release that waits, and a server that a signal ends at once."""
    fill(tmp_path / "in", FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", ended_by(KeyboardInterrupt()))
    return tmp_path / "out"


def ended_by(stop, seen=None):
    def serve(work, pool, channel, *, ready, grace):
        ready("http://127.0.0.1:1/#token")
        if seen is not None:
            seen.append(channel.getsockname())
        if stop:
            raise stop

    return serve


def review(*arguments, **expected):
    return called("review", *arguments, **expected)


def test_apply_says_what_to_do_and_review_how_many_are_left(out):
    applied = command("in", "out", "--require-review", "--names", "keep", code=3)
    for words in ("2 unreviewed", "no manifest until", "2 files to be looked at"):
        assert words in applied.stdout
    assert "attacks release" not in applied.stdout
    assert tree(out) == {}
    result = review(out, code=3)
    assert "http://127.0.0.1:1/#token" in result.stderr
    assert "2 pictures: 0 accepted, 0 in quarantine, 2 not looked at" in result.stdout
    decide(out, "a.png", "accepted")
    decide(out, "b.png", "quarantined")
    done = review(out, "--json", code=0)
    assert json.loads(done.stdout) == {"accepted": 1, "quarantined": 1, "undecided": 0}
    assert "token" not in done.stdout
    planned = command("in", "out", "--require-review", "--plan", "--json")
    assert json.loads(planned.stdout)["counts"] == {"done": 1, "quarantine": 1}


def test_outputs_of_several_people_wait_and_are_not_said_to_be_public(tmp_path):
    Case(tmp_path).begin()
    fill(tmp_path, {"people.csv": table(folder())})
    options = ("--canonical", "32", "--patients", tmp_path / "people.csv", "--require-review")
    said = command(tmp_path / "in", tmp_path / "out", *options, model="k-same:k=3").stdout
    assert "no manifest until somebody looked at every output" in said
    assert f"anonymize review {tmp_path / 'out'}" in said
    assert "certificate" not in said
    assert "every output is to be looked at" in said  # there are fewer of them than files


def test_the_port_is_this_machines_own(out, monkeypatch):
    command("in", "out")
    seen = []
    monkeypatch.setattr(server, "serve", ended_by(None, seen))
    assert review(out).exit_code == 3
    assert seen[0][0] == "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as other:
        result = review(out, "--port", other.getsockname()[1])
    assert result.exit_code == 2
    assert "leave it out, or choose another" in result.stderr


def test_sigterm_is_143(out, monkeypatch):
    command("in", "out")
    monkeypatch.setattr(server, "serve", ended_by(Terminated()))
    assert "2 not looked at" in review(out, code=143).stdout


def test_what_is_no_release_is_one_line(out, tmp_path):
    for arguments in ((tmp_path,), ("none",), ("out", "--private", "in"), ("out", "--port", "0")):
        result = review(*arguments, code=2)
        assert len(result.stderr.splitlines()) == 1
        assert "Traceback" not in result.output


def test_without_the_extra_the_way_out_is_named(out, monkeypatch):
    monkeypatch.delitem(sys.modules, "anonymize.release.review.server")
    monkeypatch.setitem(sys.modules, "starlette", None)
    for name in [name for name in sys.modules if name.startswith("starlette.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "anonymize.release.review.guard")
    assert "anonymize-cxr[review]" in review(out, code=2).stderr
