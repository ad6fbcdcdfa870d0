"""A step of training fetches nothing from the device: what waits for a GPU leaves it idle.

There need not be one: whatever fetches a number is one operation, which is counted.
"""

import pytest
import torch
from tiny_run import Operations, game

from anonymize.training.compute import Compute
from anonymize.training.loop import Mean


def count(operations):
    """How many numbers were fetched."""
    return sum("_local_scalar_dense" in name for name, _ in operations.seen)


def fetched(monkeypatch, steps):
    """In an epoch of so many steps. An optimizer's count of them lies on no GPU."""
    stage = game(batch=8 // steps)
    stage.epoch = 0
    monkeypatch.setattr(Compute, "step", lambda self, *optimizers: None)
    for module in stage.modules.values():
        module.train()
    with Operations() as operations:
        found = stage.train_epoch(0)
    assert found["steps"] == steps
    return count(operations)


def test_the_game_fetches_its_figures_once_an_epoch(monkeypatch):
    assert fetched(monkeypatch, 1) == fetched(monkeypatch, 4)


def test_a_figure_that_is_fetched_is_counted():
    with Operations() as operations:
        float(torch.ones(()))
        bool(torch.ones(()))
    assert count(operations) == 2


@pytest.mark.parametrize("values", [[], [(1.5, 3)], [(0.1, 8), (0.7, 8), (-2.25, 5)]])
def test_a_mean_is_weighted_with_the_sizes_of_the_batches(values):
    mean = Mean()
    for value, count in values:
        mean.add(torch.tensor(value, requires_grad=True), count)
    count = sum(count for _, count in values)
    exact = sum(torch.tensor(v).double().item() * n for v, n in values)
    assert mean.value == exact / max(count, 1)
