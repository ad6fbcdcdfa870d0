"""Two processes find the gradients of one: threads here, whose sums are those of processes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from tiny_run import game

from anonymize.training.compute import Compute

ROWS = np.arange(8)
UNKNOWN = {"auxiliary_loss": "mean", "auxiliary": "updated"}
KINDS = [
    UNKNOWN,
    {**UNKNOWN, "balance": "constraint"},
    {"auxiliary_loss": "sum", "auxiliary": "updated", "balance": "norms"},
    {"auxiliary_target": "logits"},
    {"auxiliary_target": "features"},
    {"verification_loss": "match"},
    {"verification_loss": "infonce"},
    {"opponents": ["contrastive", "histogram", "restorer"], "verification_loss": "genuine"},
]


class World:
    """Threads that stand for processes; each says its rank first."""

    def __init__(self, count):
        self.count, self.own = count, threading.local()
        self.barrier, self.given = threading.Barrier(count, timeout=60), [None] * count

    def all_reduce(self, tensor):
        self.given[self.own.rank] = tensor.detach().clone()
        self.barrier.wait()
        total = sum(self.given)
        self.barrier.wait()
        tensor.copy_(total)

    def run(self, work):
        """What ``work`` of each rank gives."""

        def one(rank):
            self.own.rank = rank
            try:
                return work(rank)
            except BaseException:
                self.barrier.abort()
                raise

        with ThreadPoolExecutor(self.count) as pool:
            return list(pool.map(one, range(self.count)))


def prepared(options, *, world=1, rank=0, accumulation=1):
    """A game of which most findings of the first patients are unknown."""
    compute = Compute(accumulation=accumulation)
    compute.world, compute.rank = world, rank
    stage = game(compute=compute, batch=len(ROWS), **options)
    stage.targets[:3] = np.nan
    stage.targets[0, 0] = 1
    for module in stage.modules.values():
        module.train()
    stage.begin(0)
    return stage


def step(stage):
    """Everybody's gradients of one batch, over all processes; and the weight that it moves."""
    for part in stage.compute.parts(ROWS):
        stage.gradients(part, *stage.inputs(part))
    for optimizer in stage.optimizers.values():
        stage.compute._average_gradients(optimizer)
    stage.objective.balance.step(stage.compute)
    found = {
        f"{name}.{key}": parameter.grad
        for name, module in stage.modules.items()
        for key, parameter in module.named_parameters()
        if parameter.grad is not None
    }
    return found, stage.objective.balance.figures()


@pytest.mark.parametrize("options", KINDS)
def test_two_processes_find_the_gradients_of_one(monkeypatch, options):
    world = World(2)
    monkeypatch.setattr(torch.distributed, "all_reduce", world.all_reduce)
    stages = [prepared(options, world=2, rank=rank) for rank in range(2)]
    ours, weight = step(prepared(options))
    assert any(gradient.abs().max() > 0 for gradient in ours.values())
    for found, moved in world.run(lambda rank: step(stages[rank])):
        assert moved == pytest.approx(weight, rel=1e-4)
        assert found.keys() == ours.keys()
        for key, gradient in ours.items():
            scale = float(gradient.abs().max())
            torch.testing.assert_close(
                found[key], gradient, rtol=1e-3, atol=1e-3 * scale + 1e-6, msg=key
            )


@pytest.mark.parametrize("balance", ["fixed", "constraint"])
def test_micro_batches_know_how_many_labels_the_batch_knows(balance):
    """Of networks that stay as they are: batch norm knows its micro-batch alone."""
    found = []
    for accumulation in (1, 2, 3):
        options = {"auxiliary_loss": "mean", "balance": balance}
        stage = prepared(options, accumulation=accumulation)
        stage.network.eval()
        for part in stage.compute.parts(ROWS):
            stage._generator_gradients(stage._batch(stage.pairs, part.rows, part), part)
        stage.objective.balance.step(stage.compute)
        gradients = torch.cat([p.grad.flatten() for p in stage.network.parameters()])
        found.append((gradients, stage.objective.balance.figures()))
    (whole, weight), *others = found
    for gradients, moved in others:
        assert float((gradients - whole).norm() / whole.norm()) < 1e-4
        assert moved == pytest.approx(weight)
