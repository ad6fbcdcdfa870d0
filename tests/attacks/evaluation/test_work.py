"""The forecast of the time left: from what was measured, and honest about what was not."""

import json

import pytest
from shown import Shown

from attacks.commands.progress import Lines
from attacks.evaluation.processes.work import State, Work, in_words


class Kept(Shown):
    """A display that keeps every state."""

    at = say = None  # who calls them fails

    @property
    def last(self):
        return self.states[-1]


@pytest.fixture
def kept():
    return Kept()


def do(work, clock, kind, seconds, **options):
    with work.piece(kind, kind, **options) as piece:
        clock.time += seconds
        piece.result = "found"
    return piece


def test_a_guess_that_did_not_come_true_is_none(clock, kept):
    work = Work([("known", 0), ("other", 0), ("other", 0)], display=kept, clock=clock)
    do(work, clock, "known", 1)
    assert kept.last.forecast == "roughly 2 s left"
    with work.piece("other", "other") as piece:
        clock.time += 300
        work.show(piece)
        assert kept.last.forecast == "time left not known yet"
    assert kept.last.forecast == "about 5 min left"


def test_a_forecast_that_ran_out_is_none():
    state = State(1, 3, "attack", left=60.0)
    assert state.after(20).left == 40
    assert state.after(60).forecast == state.after(90).forecast == "time left not known yet"
    assert State(3, 3, "attack", left=0.0).after(5).forecast == "done"


def test_pieces_of_one_kind_take_equally_long(clock, kept):
    work = Work([("attack", 0)] * 5, display=kept, clock=clock)
    do(work, clock, "attack", 10)
    assert (kept.last.done, kept.last.total, kept.last.left) == (1, 5, 40)
    do(work, clock, "attack", 30)
    assert kept.last.left == 3 * 20
    assert not kept.last.guessed
    assert kept.last.forecast == "about 60 s left"


def test_work_beside_the_pieces_is_shown_and_does_not_count(clock, kept):
    work = Work([("attack", 0)] * 2, display=kept, clock=clock)
    do(work, clock, "attack", 10)
    work.beside("mosaic: released")
    assert (kept.last.title, kept.last.result, kept.last.done) == ("mosaic: released", "", 1)
    assert kept.last.left == 10


def test_a_kind_that_nobody_measured_is_expected_to_be_like_the_others(clock, kept):
    kinds = [("attack", 0), ("other", 0), ("train", 4), ("long", 40)]
    work = Work(kinds, display=kept, clock=clock)
    with work.piece("attack", "first"):
        assert kept.last.forecast == "time left not known yet"
        clock.time += 10
    assert kept.last.left is None  # how long is an epoch?
    with work.piece("train", "a", epochs=4) as piece:
        clock.time += 20
        piece.epoch(1)
        # Three epochs of this one, the other attack, forty epochs more.
        assert kept.last.left == pytest.approx(60 + 10 + 40 * 20)
        assert kept.last.forecast == "roughly 14 min left"
        clock.time += 60
    assert (kept.last.left, kept.last.guessed) == (10 + 40 * 20, True)


def test_a_forecast_is_right_within_a_factor_of_ten_from_the_first_epoch_on(clock, kept):
    """Durations of an evaluation with every attacker on two cores, in seconds."""
    took = {"frozen": (3, 0), "retrained": (35, 10), "verification": (17, 8), "pixels": (0.2, 0)}
    took |= {"retrieval": (171, 12), "registration": (53, 0), "contrastive": (65, 30)}
    kinds = [(kind, epochs) for kind, (_, epochs) in took.items()] * 3
    work, states = Work(kinds, display=kept, clock=clock), []
    end = sum(took[kind][0] for kind, _ in kinds)
    for kind, epochs in kinds:
        with work.piece(kind, kind, epochs=epochs) as piece:
            for done in range(epochs):
                clock.time += took[kind][0] / epochs
                piece.epoch(done + 1)
                states.append((kept.last.left, end - clock.time))
            clock.time += 0 if epochs else took[kind][0]
    foreseen = [(left, true) for left, true in states if left is not None and true > 30]
    assert len(foreseen) > 0.9 * len(states) - 10
    assert all(true / 10 < left < 10 * true for left, true in foreseen)


def test_durations_of_another_run_give_way_to_new_ones(clock, kept, tmp_path):
    file = tmp_path / "durations.json"
    file.write_text(json.dumps({"attack": [1000.0]}))
    work = Work([("attack", 0)] * 3, durations=file, display=kept, clock=clock)
    with work.piece("attack", "first"):
        assert kept.last.left == 3000
        clock.time += 1
    assert kept.last.left == 2
    assert json.loads(file.read_text()) == {"attack": [1.0]}


def test_epochs_foretell_a_piece_that_is_the_first_of_its_kind(clock, kept):
    work = Work([("train", 10)] * 2, display=kept, clock=clock)
    with work.piece("train", "a", epochs=10) as piece:
        clock.time += 5
        piece.epoch(1)
        assert kept.last.title == "a, epoch 1/10"
        # Nine epochs of this one, ten of the next.
        assert kept.last.left == pytest.approx(45 + 50)


def test_a_piece_that_is_resumed_teaches_no_duration(clock, kept):
    work = Work([("train", 10)] * 2, display=kept, clock=clock)
    with work.piece("train", "a", epochs=10, resumed=True) as piece:
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
    do(Work([("attack", 0)], durations=file, display=kept, clock=clock), clock, "attack", 10)
    assert json.loads(file.read_text()) == {"attack": [10]}
    work = Work([("attack", 0)] * 3, durations=file, display=kept, clock=clock)
    do(work, clock, "attack", 0, resumed=True)
    assert kept.last.left == 20
    assert json.loads(file.read_text()) == {"attack": [10]}


def test_the_running_piece_counts_as_far_as_it_is_not_done(clock, kept):
    work = Work([("attack", 0)] * 2, display=kept, clock=clock)
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
    work = Work([("attack", 0)], display=kept, clock=clock)
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


def test_plain_lines_at_the_end_of_a_piece_and_every_ten_seconds(clock):
    written = []
    lines = Lines(written.append, clock)
    running = State(3, 61, "dp-pix b=8: verification 1/3, epoch 2/8", left=1200.0)
    lines.show(running)
    clock.time += 9
    lines.tick()
    assert written == []
    clock.time += 51
    lines.tick()
    assert written == ["[3/61] dp-pix b=8: verification 1/3, epoch 2/8 (about 19 min left)"]
    lines.tick()
    ended = State(4, 61, "dp-pix b=8: verification 1/3", "AUC 0.732", 1100.0, guessed=True)
    lines.show(ended)
    assert written[1:] == ["[4/61] dp-pix b=8: verification 1/3: AUC 0.732 (roughly 18 min left)"]
    clock.time += 60
    lines.tick()
    assert len(written) == 2
