"""The epoch loop: best on validation, early stopping, and resuming bit for bit."""

import json

import pytest
import torch
from tiny_run import same, states
from torch import nn

from anonymize.display import Silent
from anonymize.errors import UsageError
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute
from anonymize.training.loop import Stage, fit
from anonymize.training.recorder import Recorder


class Said(Silent):
    def __init__(self, said):
        self.say = said.append


class Line(Stage):
    """A regression with dropout noise; ``script`` overrides the validation losses."""

    name = "line"

    def __init__(self, epochs=6, patience=6, script=None, stop_after=None):
        torch.manual_seed(1)
        self.compute = Compute()
        self.network = nn.Sequential(
            nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 1)
        )
        self.modules = {"net": self.network}
        self.optimizers = {"net": torch.optim.Adam(self.network.parameters(), lr=0.05)}
        self.epochs, self.patience, self.script = epochs, patience, script
        self.stop_after, self.seen = stop_after, []
        self.x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))

    def train_epoch(self, seed):
        if self.stop_after == len(self.seen):
            raise KeyboardInterrupt
        self.seen.append(seed)
        loss = (self.network(self.x) - self.x.sum(1, keepdim=True)).square().mean()
        self.optimizers["net"].zero_grad()
        loss.backward()
        self.optimizers["net"].step()
        return {"loss": float(loss.detach())}

    def validate(self):
        assert not self.network.training
        if self.script:
            return {"loss": self.script[len(self.seen) - 1]}
        return {"loss": float((self.network(self.x) - self.x.sum(1, keepdim=True)).square().mean())}


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_resumed_equals_uninterrupted_bit_for_bit(tmp_path, stop):
    whole, stopped, resumed = Line(), Line(stop_after=stop), Line()
    fit(whole, seed=7)
    with pytest.raises(KeyboardInterrupt):
        fit(stopped, seed=7, checkpoint=tmp_path / "c.safetensors")
    fit(resumed, seed=7, checkpoint=tmp_path / "c.safetensors")
    assert len(resumed.seen) == whole.epochs - stop
    assert same(resumed.network, states(whole.network))


def test_a_finished_stage_is_not_trained_again(tmp_path):
    first, again = Line(), Line()
    figures = fit(first, seed=7, checkpoint=tmp_path / "c.safetensors")
    assert fit(again, seed=7, checkpoint=tmp_path / "c.safetensors") == figures
    assert again.seen == []
    assert torch.equal(first.network[0].weight, again.network[0].weight)


def test_the_best_epoch_is_kept():
    stage, weights = Line(script=[3.0, 1.0, 2.0, 1.0, 4.0, 5.0]), []
    fit(stage, seed=0, report=lambda history: weights.append(stage.network[0].weight.clone()))
    assert torch.equal(stage.network[0].weight, weights[1])


def test_early_stopping():
    stage = Line(epochs=6, patience=2, script=[3.0, 1.0, 1.5, 1.2, 0.1, 0.0])
    best = fit(stage, seed=0)
    assert len(stage.seen) == 4
    assert best["epoch"] == 2
    assert best["validation_loss"] == 1.0


def test_every_epoch_has_its_own_seed_that_only_the_seed_decides():
    first, second, other = Line(), Line(), Line()
    for stage, seed in ((first, 1), (second, 1), (other, 2)):
        fit(stage, seed=seed)
    assert first.seen == second.seen
    assert len(set(first.seen + other.seen)) == 12


def test_divergence_is_an_error():
    with pytest.raises(UsageError, match="training of the line diverged in epoch 2"):
        fit(Line(script=[1.0, float("nan")]), seed=0)


def test_the_main_process_judges_for_all(monkeypatch):
    """Others may differ in the last bits; one that stopped alone would leave the rest waiting."""
    stage, seen = Line(epochs=3, patience=1), []
    stage.validate = lambda: {"loss": float(len(seen))}
    told = iter([{"loss": 2.0}, {}, {"loss": 1.0}, {}, {"loss": 3.0}, {}])
    monkeypatch.setattr(stage.compute, "broadcast", lambda value: next(told))
    assert fit(stage, seed=0, report=lambda history: seen.append(None))["epoch"] == 2
    assert len(seen) == 3


def test_metrics_hold_every_epoch_once(tmp_path):
    path, said = tmp_path / "metrics.jsonl", []
    with pytest.raises(KeyboardInterrupt):
        fit(
            Line(stop_after=4),
            seed=0,
            checkpoint=tmp_path / "c.safetensors",
            report=Recorder(path, Said(said)).stage("line", 6),
        )
    path.write_text(path.read_text() + '{"stage": "line", "epo')  # torn by a kill
    recorder = Recorder(path, Said(said))
    fit(Line(), seed=0, checkpoint=tmp_path / "c.safetensors", report=recorder.stage("line", 6))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]


def test_seeds_depend_on_every_part():
    seeds = {derive_seed(*parts) for parts in ((0, "a", 1), (0, "a", 2), (0, "b", 1), (1, "a", 1))}
    assert len(seeds) == 4
    assert derive_seed(0, "a") == derive_seed(0, "a")
    assert 0 <= derive_seed("x") < 2**63
