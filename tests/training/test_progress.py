"""Progress in a log: lines, one every ten seconds at least, even where nobody reports."""

import time

from anonymize.commands import progress
from anonymize.commands.progress import Lines, display


def test_a_count_takes_a_line_a_tenth(clock):
    written = []
    lines = Lines(written.append, clock)
    for done in range(101):
        lines.at("preparing images", done, 100)
    assert len(written) == 11
    assert written[-1] == "preparing images: 100 of 100"
    lines.at("anonymizing", 0, 5)
    assert written[-1] == "anonymizing: 0 of 5"


def test_ten_seconds_without_a_line_are_told_where_the_work_is(clock):
    written = []
    lines = Lines(written.append, clock)
    clock.time = 30
    lines.tick()
    assert written == []  # nothing has started
    lines.at("classifier, epoch 3/10")
    clock.time += 9
    lines.tick()
    lines.say("a line")
    clock.time += 9
    lines.tick()
    assert written[1:] == ["a line"]
    clock.time += 1
    lines.tick()
    assert written[2:] == ["classifier, epoch 3/10 (19 s)"]
    lines.tick()
    assert len(written) == 3


def test_lines_come_while_the_work_says_nothing(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)
    with display() as shown:
        shown.at("training")
        end = time.monotonic() + 60
        heard = ""
        while heard.count("training (0 s)") < 2 and time.monotonic() < end:
            heard += capsys.readouterr().err
    assert heard.count("training (0 s)") >= 2
    assert capsys.readouterr().out == ""
