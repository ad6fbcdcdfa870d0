"""The forecast of the time left: from what was measured, and honest about what was not."""

import json

import pytest

from attacks.commands.progress import Lines
from attacks.evaluation.work import State, Work, in_words


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


class Kept:
    """A display that keeps every state."""

    def __init__(self):
        self.states = []

    def prepare(self, done, total):
        raise AssertionError

    def show(self, state):
        self.states.append(state)

    def say(self, line):
        raise AssertionError

    @property
    def last(self):
        return self.states[-1]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def kept():
    return Kept()


def do(work, clock, kind, seconds, **options):
    with work.piece(kind, kind, **options) as piece:
        clock.time += seconds
        piece.result = "found"
    return piece


def test_pieces_of_one_kind_take_equally_long(clock, kept):
    work = Work(["attack"] * 5, display=kept, clock=clock)
    do(work, clock, "attack", 10)
    assert (kept.last.done, kept.last.total, kept.last.left) == (1, 5, 40)
    do(work, clock, "attack", 30)
    assert kept.last.left == 3 * 20
    assert not kept.last.at_least
    assert kept.last.forecast == "about 60 s left"


def test_kinds_that_nobody_measured_make_it_a_lower_bound(clock, kept):
    work = Work(["attack", "attack", "train"], display=kept, clock=clock)
    with work.piece("attack", "first"):
        assert kept.last.left is None
        assert kept.last.forecast == "time left not known yet"
        clock.time += 10
    assert (kept.last.left, kept.last.at_least) == (10, True)
    assert kept.last.forecast == "at least 10 s left"


def test_epochs_foretell_a_piece_that_is_the_first_of_its_kind(clock, kept):
    work = Work(["train", "train"], display=kept, clock=clock)
    with work.piece("train", "a", epochs=10) as piece:
        clock.time += 5
        piece.epoch(1)
        assert kept.last.title == "a, epoch 1/10"
        # Nine epochs of this one, ten of the next.
        assert kept.last.left == pytest.approx(45 + 50)


def test_a_piece_that_was_begun_before_teaches_no_duration(clock, kept):
    work = Work(["train", "train"], display=kept, clock=clock)
    with work.piece("train", "a", epochs=10, begun=True) as piece:
        clock.time += 1  # reading the checkpoint
        piece.epoch(6)
        assert kept.last.left is None
        clock.time += 5
        piece.epoch(7)
        assert kept.last.left == pytest.approx(2 * 50 - 5)
        clock.time += 15
    assert kept.last.left is None


def test_what_was_measured_before_is_not_measured_again(clock, kept, tmp_path):
    file = tmp_path / "below" / "durations.json"
    do(Work(["attack"], durations=file, display=kept, clock=clock), clock, "attack", 10)
    assert json.loads(file.read_text()) == {"attack": [10]}
    work = Work(["attack"] * 3, durations=file, display=kept, clock=clock)
    do(work, clock, "attack", 0, begun=True)
    assert kept.last.left == 20
    assert json.loads(file.read_text()) == {"attack": [10]}


def test_the_running_piece_counts_as_far_as_it_is_not_done(clock, kept):
    work = Work(["attack"] * 2, display=kept, clock=clock)
    do(work, clock, "attack", 10)
    with work.piece("attack", "second", epochs=3) as piece:
        assert kept.last.left == 10
        clock.time += 4
        piece.epoch(1)
        assert kept.last.left == 6
        clock.time += 40
        piece.epoch(2)
        assert kept.last.left == 0
    assert kept.last.forecast == "done"


def test_what_failed_is_not_done(clock, kept):
    work = Work(["attack"], display=kept, clock=clock)
    with pytest.raises(KeyboardInterrupt), work.piece("attack", "a"):
        raise KeyboardInterrupt
    assert kept.last.done == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59, "59 s"),
        (119, "2 min"),
        (34 * 60, "34 min"),
        (190 * 60, "3 h 10 min"),
        (52 * 3600, "2 days 4 h"),
    ],
)
def test_durations_in_words(seconds, words):
    assert in_words(seconds) == words


def test_plain_lines_at_the_end_of_a_piece_and_every_minute(clock):
    written = []
    lines = Lines(written.append, clock)
    running = State(3, 61, "dp-pix b=8: verification 1/3, epoch 2/8", left=1200.0)
    lines.show(running)
    assert written == []
    clock.time += 61
    lines.show(running)
    assert written == ["[3/61] dp-pix b=8: verification 1/3, epoch 2/8 … (about 20 min left)"]
    lines.show(running)
    ended = State(4, 61, "dp-pix b=8: verification 1/3", "AUC 0.732", 1100.0, at_least=True)
    lines.show(ended)
    assert written[1:] == ["[4/61] dp-pix b=8: verification 1/3: AUC 0.732 (at least 18 min left)"]


def test_preparing_images_takes_a_line_a_tenth(clock):
    written = []
    lines = Lines(written.append, clock)
    for done in range(101):
        lines.prepare(done, 100)
    assert len(written) == 11
    assert written[-1] == "preparing images: 100 of 100"
