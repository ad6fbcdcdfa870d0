"""Had a generator come to rest when its training ended, and when may it end by itself?"""

import json

import numpy as np
import pytest
from tiny_run import game

from anonymize.objective_options import CourseOptions
from anonymize.training.course import course, in_words, plateaued
from anonymize.training.loop import fit

SEVERAL = np.array([0, 1, 2, 3, 3, 2, 1, 0])  # owners of the images of the smallest game


def lines(*changes, stage="adversarial", attacked=(), steps=50):
    found = [
        {"stage": stage, "epoch": n + 1, "train_steps": steps, "validation_change": c}
        for n, c in enumerate(changes)
    ]
    for line, auc in zip(found, attacked, strict=False):
        line |= {} if auc is None else {"observed_attacker_auc": auc}
    return found


@pytest.mark.parametrize(
    ("changes", "converged"),
    [
        ((0.1, 0.15, 0.2, 0.25, 0.3, 0.3, 0.3, 0.3), True),
        ((0.1, 0.15, 0.2, 0.25, 0.3, 0.32, 0.34, 0.36), False),  # it grew to the end
        ((0.4, 0.4, 0.4, 0.4, 0.4, 0.3, 0.2, 0.1), False),  # it fell to the end
        ((0.0,) * 8, True),
        ((0.3,) * 7, False),  # too few epochs to say so
        (tuple(0.5 + 0.01 * n for n in range(20)), False),  # slowly, but over five epochs
        ((0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2), True),  # it goes round
        ((0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.3, 0.1), False),  # the last is as others by luck
    ],
)
def test_rest(changes, converged):
    assert course(lines(*changes)) == {"steps": 50 * len(changes), "converged": converged}


def test_a_few_steps_are_no_training():
    own = lines(*(0.3,) * 8, steps=24)
    assert course(own) == {"steps": 192, "converged": False}
    watched = CourseOptions(attacker_patience=2)
    own = lines(*(0.3,) * 4, steps=2, attacked=(0.9,) * 4)
    assert plateaued(own, watched)
    assert not course(own, watched)["converged"]


@pytest.mark.parametrize(
    ("attacked", "converged"),
    [
        ((0.85, 0.75, None, None, 0.77, None, None, 0.82), True),
        ((0.9, 0.8, None, 0.8, None, None, 0.77, 0.75), False),  # they link less and less
        ((0.9, None, None, None, None, None, 0.8, 0.7), True),  # too few to say
    ],
)
def test_a_fresh_attacker_must_rest_too(attacked, converged):
    found = course(lines(*(0.3,) * 8, attacked=attacked))
    assert found["converged"] == converged


def test_other_stages_and_older_figures_say_nothing():
    assert course(lines(0.1, 0.1, stage="verifier")) == {}
    assert course([{"stage": "adversarial", "validation_loss": 1.0}]) == {}


def test_steps_of_the_state_that_is_kept():
    assert course(lines(0.1, 0.2, 0.3), kept=2)["kept_steps"] == 100


@pytest.mark.parametrize(
    ("attacked", "patience", "ends"),
    [
        ((0.9, 0.8, 0.8, 0.8), 2, True),
        ((0.9, 0.8, 0.8, 0.79), 2, False),  # weaker at last, by more than the margin
        ((0.9, 0.8, 0.8, 0.797), 2, True),  # by less
        ((0.9, 0.8, None, 0.8, None), 2, False),  # measured but once since
        ((0.9, 0.8, None, 0.85, None, 0.9), 2, True),
        ((0.9, 0.9), 2, False),  # nothing before to compare with
        ((0.9, 0.8, 0.8, 0.8), None, False),
    ],
)
def test_plateau(attacked, patience, ends):
    options = CourseOptions(attacker_patience=patience, attacker_margin=0.005)
    own = lines(*np.linspace(0.1, 0.9, len(attacked)), attacked=attacked)
    assert plateaued(own, options) == ends
    assert course(own, options)["converged"] == ends


def test_in_words():
    assert in_words(39000, True) == "converged after 39,000 steps"
    assert in_words(176, False) == "stopped after 176 steps, still moving"
    assert in_words(176, False, 59) == (
        "stopped after 176 steps, still moving; kept is the state after 59 of 176, not the last"
    )
    assert in_words(176, False, 176) == in_words(176, False)
    assert [in_words(176, None), in_words(None, True), in_words(None, None)] == [
        *("176 steps", "converged", "")
    ]


# The game itself


def ended(tmp_path, stop_after=None, **options):
    """History and kept epoch of a game with owners of two images each."""
    seen = []

    def report(history):
        seen[:] = [dict(line) for line in history]
        if len(history) == stop_after:
            raise KeyboardInterrupt

    stage = game(patients=SEVERAL, rate=0.01, **options)
    checkpoint = tmp_path / "checkpoint.safetensors"
    try:
        best = fit(stage, seed=0, checkpoint=checkpoint, report=report)
    except KeyboardInterrupt:
        return seen, None, stage
    return seen, best["epoch"], stage


@pytest.mark.whole
def test_a_game_ends_by_the_plateau_stopped_or_not(tmp_path):
    watched = {"attacker_every": 2, "attacker_patience": 2, "attacker_margin": 0.0}
    options = {"epochs": 40, "course": watched, "best": "attacker"}
    whole, kept, stage = ended(tmp_path, **options)
    aucs = {line["epoch"]: line.get("observed_attacker_auc") for line in whole}
    measured = [auc for auc in aucs.values() if auc is not None]
    assert 6 <= len(whole) < 40
    assert [e for e, auc in aucs.items() if auc is not None] == list(range(2, len(whole) + 1, 2))
    assert min(measured[-2:]) >= min(measured[:-2])
    assert aucs[kept] == min(measured)
    assert plateaued(whole, stage.options.course)
    assert not course(whole, stage.options.course, kept=kept)["converged"]  # after so few steps
    ended(tmp_path / "again", stop_after=3, **options)
    again, kept_again, resumed = ended(tmp_path / "again", **options)
    assert json.dumps(again) == json.dumps(whole)
    assert kept_again == kept
    for key, value in stage.network.state_dict().items():
        assert value.equal(resumed.network.state_dict()[key])


def test_the_last_epoch_is_kept_where_one_asks_for_it(tmp_path):
    history, kept, _ = ended(tmp_path, epochs=4, best="last", patience=1)
    losses = [line["validation_loss"] for line in history]
    assert kept == len(history) == 4
    assert ended(tmp_path / "loss", epochs=4)[1] == 1 + int(np.argmin(losses))
