"""An evaluation that writes down where it is, and `attacks watch`, which reads that."""

import json
import time

import pytest
from asked import ask
from shown import Shown

from anonymize.errors import DataError
from anonymize.folder_lock import own_folder
from attacks.cli import main
from attacks.commands import watch
from attacks.evaluation.processes.recorded import FILE, Recorded, read_progress
from attacks.evaluation.processes.work import Silent, State


def test_what_is_shown_is_written_down(tmp_path, clock):
    shown = Shown()
    recorded = Recorded(shown, tmp_path, clock)
    recorded.say("an attacker is left out")
    assert read_progress(tmp_path) is None  # wrong usage leaves nothing behind
    recorded.show(State(0, 3, "dp-pix: verification"))
    clock.time = 5
    recorded.show(State(1, 3, "dp-pix: verification", "AUC 0.7", left=60.0))
    found = read_progress(tmp_path)
    assert found.state == State(1, 3, "dp-pix: verification", "AUC 0.7", left=60.0)
    assert found.lines == ["an attacker is left out", "dp-pix: verification: AUC 0.7"]
    assert (found.began, found.seen) == (0, 5)
    assert shown.said == ["an attacker is left out"]
    assert len(shown.states) == 2


def test_epochs_are_written_once_a_second_at_most(tmp_path, clock):
    recorded = Recorded(Silent(), tmp_path, clock)
    for tenth in range(25):
        clock.time = 10 + tenth / 10
        recorded.show(State(0, 3, f"epoch {tenth}"))
    assert read_progress(tmp_path).state.title == "epoch 20"


def test_progress_that_is_none(tmp_path):
    assert read_progress(tmp_path) is None
    for text in ("", "[]", "{}", '{"state": {"a": 1}, "lines": []}', "null"):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(DataError, match="cannot be read"):
            read_progress(tmp_path)


def test_a_stopped_one_says_where_and_a_finished_one_what(tmp_path, clock):
    recorded = Recorded(Silent(), tmp_path, clock)
    recorded.show(State(1, 3, "dp-pix\x1b[31m", "AUC 0.7", left=60.0))
    said = ask(main, "watch", tmp_path).output
    assert "dp-pix�[31m: AUC 0.7" in said
    assert "stopped at [1/3]" in said
    assert "the same attacks evaluate goes on there" in said
    recorded.show(State(3, 3, "dp-pix", "AUC 0.7", left=0.0))
    (tmp_path / "report.html").touch()
    assert f"finished: {tmp_path}/report.html" in ask(main, "watch", tmp_path).output


def test_the_time_left_is_that_of_now_and_unknown_when_it_is_over(tmp_path):
    long_ago = time.time() - 50
    recorded = Recorded(Silent(), tmp_path, lambda: long_ago)
    for left, now in ((60.0, pytest.approx(10, abs=5)), (40.0, None)):
        recorded.show(State(1, 3, "dp-pix", "AUC 0.7", left=left))
        stopped = json.loads(ask(main, "watch", tmp_path, "--json").output)
        assert stopped["state"]["left"] == left  # nobody works on it
        with own_folder(tmp_path, holds=["progress.json"]):
            found = json.loads(ask(main, "watch", tmp_path, "--json").output)
        assert found["state"]["left"] == now


def test_json_says_it_once_and_whether_it_runs(tmp_path, clock):
    Recorded(Silent(), tmp_path, clock).show(State(1, 3, "dp-pix", "AUC 0.7"))
    assert json.loads(ask(main, "watch", tmp_path, "--json").output)["running"] is False
    with own_folder(tmp_path, holds=["progress.json"]):
        found = json.loads(ask(main, "watch", tmp_path, "--json").output)
    assert found["running"] is True
    assert found["state"]["done"] == 1


def test_it_watches_until_the_folder_is_free(tmp_path, clock, monkeypatch):
    """Each result once, in order, whoever comes between."""
    recorded = Recorded(Silent(), tmp_path, clock)
    recorded.show(State(0, 3, "starting"))
    left = [State(n, 3, f"method {n}", f"AUC 0.{n}", left=1.0) for n in (1, 2, 3)]

    def next_second(_):
        recorded.show(left.pop(0))

    monkeypatch.setattr(watch.time, "sleep", next_second)
    monkeypatch.setattr("anonymize.folder_lock.in_use", lambda folder: bool(left))
    lines = [line for line in ask(main, "watch", tmp_path).output.splitlines() if "AUC" in line]
    assert lines == [f"method {n}: AUC 0.{n}" for n in (1, 2, 3)]
