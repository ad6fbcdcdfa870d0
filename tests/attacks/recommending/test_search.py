"""Candidates one after the other until the time is over; nothing that was measured is lost."""

import json

import pytest
from shown import Shown

from anonymize.configuration import load_options
from anonymize.errors import DataError
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.work import State
from attacks.recommending.measuring import Measuring
from attacks.recommending.search import Deadline, OutOfTime, Timed, search

SPECS = ("a", "b", "c")


class Worker:
    """Takes ``each`` seconds for whatever it has not measured yet, and remembers it."""

    def __init__(self, clock, each=10.0, *, deadline=None, fails=()):
        self.clock, self.each, self.deadline, self.fails = clock, each, deadline, fails
        self.known, self.calls = set(), []

    def __call__(self, specs):
        self.calls.append(list(specs))
        for spec in ("real", *specs):
            if spec in self.fails:
                raise DataError("too few patients")
            if spec not in self.known:
                self.clock.time += self.each
                self.deadline.check()
                self.known.add(spec)
        return list(specs)


def searched(clock, seconds, *, known=(), forecast=lambda: 10.0, worker=None, **others):
    deadline = Deadline(seconds, clock)
    worker = worker or Worker(clock, **others)
    worker.deadline = deadline
    return search(SPECS, worker, known=known, forecast=forecast, deadline=deadline), worker


def test_with_time_enough_all_are_measured(clock):
    found, worker = searched(clock, 1000)
    assert (found.found, found.done, found.left_out) == (list(SPECS), SPECS, {})
    assert worker.calls == [[], ["a"], ["a", "b"], ["a", "b", "c"]]


def test_what_does_not_fit_is_not_begun(clock):
    found, _ = searched(clock, 35)
    assert (found.done, found.found) == (("a", "b"), ["a", "b"])
    assert found.left_out == {"c": "not begun: needs 10 s, left were 5 s"}
    assert clock.time == 30


def test_what_took_longer_than_foreseen_is_given_up_and_the_others_stay(clock):
    found, _ = searched(clock, 25, forecast=lambda: 1.0)
    assert (found.done, found.found) == (("a",), ["a"])
    assert found.left_out["b"] == "begun, and the time ended"
    assert found.left_out["c"] == "not begun: needs 1 s, left were none"


def test_without_a_forecast_it_is_tried(clock):
    found, _ = searched(clock, 25, forecast=lambda: None)
    assert found.done == ("a",)


def test_the_real_images_alone_may_take_all(clock):
    found, _ = searched(clock, 5)
    assert (found.found, found.done) == (None, ())


def test_it_goes_on_where_it_was(clock):
    first, worker = searched(clock, 25)
    assert first.done == ("a",)
    worker.calls.clear()
    again, _ = searched(clock, 25, known=first.done, worker=worker)
    assert worker.calls[0] == ["a"]
    assert again.done == ("a", "b", "c")
    whole, _ = searched(clock, 1000)
    assert again.found == whole.found


def test_little_time_again_and_again_comes_to_the_end(clock):
    kept = set()

    def piece_by_piece(specs):
        for spec in specs:
            if spec == "a":
                raise DataError("too few patients")
            for piece in range(3):
                if (spec, piece) not in kept:
                    deadline.check()
                    clock.time += 10
                    kept.add((spec, piece))
        return list(specs)

    done = ()
    for _ in range(9):
        deadline = Deadline(5, clock)
        found = search(SPECS, piece_by_piece, known=done, forecast=lambda: 30.0, deadline=deadline)
        done = found.done
    assert done == ("b", "c")


def test_what_the_data_do_not_allow_is_left_out_with_its_reason(clock):
    found, _ = searched(clock, 1000, fails=("b",))
    assert (found.done, found.left_out) == (("a", "c"), {"b": "too few patients"})
    with pytest.raises(DataError):
        searched(clock, 1000, fails=("real",))


def test_only_the_new_method_is_shown_until_the_deadline(clock):
    seen, deadline = Shown(), Deadline(10, clock)
    shown = Timed(seen, deadline, "b", set())
    shown.show(State(1, 9, "a: attack", left=99.0))
    shown.show(State(2, 9, "b: attack", left=99.0))
    clock.time = 10
    shown.show(State(3, 9, "b: attack", left=4.0))  # a moment is waited for
    for left in (None, 30.0):
        with pytest.raises(OutOfTime):
            shown.show(State(4, 9, "b: attack", left=left))
    assert [s.title for s in seen.states] == ["b: attack"] * 4
    assert [s.left for s in seen.states] == [10.0, 0.0, None, 0.0]


def test_what_was_said_of_one_candidate_is_not_said_with_the_next(clock):
    seen, deadline, said = Shown(), Deadline(10, clock), set()
    for line in ("a: labels is left out", "a: labels is left out", "b: labels is left out"):
        Timed(seen, deadline, "b", said).say(line)
    assert seen.said == ["a: labels is left out", "b: labels is left out"]


def test_a_candidate_takes_its_attackers_and_the_making_of_its_release(tmp_path):
    options = load_options("quick", {"evaluation.utility": False})
    plan = Plan([Entrant("identity"), Entrant("k-same:k=5")], options, ["training-free"])
    measuring = Measuring(plan, {}, tmp_path, None)
    assert measuring.forecast() is None
    took = {kind: [20.0] for kind, _ in plan.work_of_one(again=True)}
    for making, expected in ((100.0, 120.0), (7.0, 27.0)):
        (tmp_path / "durations.json").write_text(json.dumps(took | {"released": [making]}))
        assert measuring.forecast() == expected
