"""Had a generator come to rest when its training ended?"""

import pytest

from anonymize.training.course import course


def lines(*changes, stage="adversarial"):
    return [{"stage": stage, "train_steps": 5, "validation_change": c} for c in changes]


@pytest.mark.parametrize(
    ("changes", "converged"),
    [
        ((0.1, 0.2, 0.3, 0.3), True),
        ((0.1, 0.2, 0.3, 0.4), False),  # it grew to the end
        ((0.4, 0.3, 0.2, 0.1), False),  # it fell to the end
        ((0.0, 0.0, 0.0, 0.0), True),
        ((0.3, 0.3, 0.3), False),  # too few epochs to say so
        (tuple(0.5 + 0.01 * n for n in range(20)), False),  # slowly, but over five epochs
    ],
)
def test_rest(changes, converged):
    assert course(lines(*changes)) == {"steps": 5 * len(changes), "converged": converged}


def test_other_stages_and_older_figures_say_nothing():
    assert course(lines(0.1, 0.1, stage="verifier")) == {}
    assert course([{"stage": "adversarial", "validation_loss": 1.0}]) == {}
