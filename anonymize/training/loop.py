"""The epoch loop of every stage: best on validation, early stopping, a checkpoint each epoch.

All randomness of an epoch follows from (seed, stage, epoch); a checkpoint therefore holds
networks, optimizers and figures, and a resumed stage ends as an uninterrupted one would.
"""

import json
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.data.batches import shuffled
from anonymize.errors import UsageError
from anonymize.model_file import load_tensors, save_tensors
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute, Part
from anonymize.training.recorded import Recorded

Figures = dict[str, float]
History = list[dict[str, Any]]


class Stage(ABC):
    """One thing to train."""

    name: str  # unique within a run
    network: nn.Module  # its best state is the result
    modules: dict[str, nn.Module]  # every network that changes
    optimizers: dict[str, torch.optim.Optimizer]
    epochs: int  # at most
    patience: int  # epochs without improvement that end it
    epoch: int = 0  # how many are over
    compute: Compute  # the processes that train it

    @abstractmethod
    def train_epoch(self, seed: int) -> Figures:
        """One pass over the training part; mean figures of it."""

    @abstractmethod
    def validate(self) -> Figures:
        """Figures on the validation part."""

    def observe(self) -> Figures:
        """Further figures after :meth:`validate`; one process alone asks for them."""
        return {}

    def best(self, history: History) -> int:
        """Index of the epoch whose state is the result: of the lowest validation "loss"."""
        losses = [line["validation_loss"] for line in history]
        return losses.index(min(losses))

    def settled(self, history: History) -> bool:
        """Whether it ends here, before its epochs are over."""
        return bool(history) and _stale(self, history) >= self.patience


class Mean:
    """Mean of batch losses, weighted with the batch sizes."""

    def __init__(self) -> None:
        self._values: list[Tensor] = []
        self._counts: list[int] = []

    def add(self, value: Tensor, count: int) -> None:
        """Of one batch. The value stays on its device until it is asked for: to fetch it here
        would make each step wait for the device."""
        self._values.append(value.detach())
        self._counts.append(count)

    @property
    def total(self) -> float:
        values = torch.stack(self._values).tolist() if self._values else []
        return sum((v * n for v, n in zip(values, self._counts, strict=True)), start=0.0)

    @property
    def count(self) -> int:
        return sum(self._counts)

    @property
    def value(self) -> float:
        return self.total / max(self.count, 1)

    def over(self, compute: Compute) -> float:
        """The mean over all processes."""
        total, count = compute.total([self.total, self.count])
        return total / max(count, 1)


class SteppedStage(Stage):
    """A stage of which an epoch is a step of all optimizers for each batch of rows."""

    options: Any  # with ``batch``
    rows: np.ndarray  # that an epoch is made of
    recordable = True  # whether a step may be :class:`Recorded`

    def begin(self, seed: int) -> np.ndarray:
        """The rows of the epoch with this seed."""
        return self.rows

    @abstractmethod
    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        """What this process's rows of a batch are, on the device."""

    @abstractmethod
    def gradients(self, part: Part, *inputs: Tensor) -> dict[str, Tensor]:
        """Adds those of a part of a batch; its mean losses, "loss" among them."""

    def stepped(self) -> None:
        """Called after each step."""

    def train_epoch(self, seed: int) -> Figures:
        means: dict[str, Mean] = defaultdict(Mean, loss=Mean())
        step = self._recorded or self.gradients
        for rows in shuffled(self.begin(seed), self.options.batch, seed):
            for part in self.compute.parts(rows):
                for name, loss in step(part, *self.inputs(part)).items():
                    means[name].add(loss, len(part.rows))
            if self._recorded is None:
                self.compute.step(*self.optimizers.values())
            self.stepped()
        return {name: mean.over(self.compute) for name, mean in means.items()}

    @cached_property
    def _recorded(self) -> Recorded | None:
        if not (self.recordable and self.compute.records):
            return None
        return Recorded(self.gradients, self.optimizers, self.compute)


class BatchStage(SteppedStage):
    """A stage whose loss is a mean over the rows of a batch; Adam."""

    def __init__(
        self, name: str, options: Any, modules: dict[str, nn.Module], compute: Compute
    ) -> None:
        """``options`` have ``epochs``, ``patience``, ``batch``, ``rate``, maybe ``weight_decay``;
        the first of ``modules`` is the network whose best state is the result."""
        self.name, self.epochs, self.patience = name, options.epochs, options.patience
        self.options, self.compute, self.device = options, compute, compute.device
        self.modules = {key: compute.ready(module) for key, module in modules.items()}
        self.network = next(iter(self.modules.values()))
        decay = getattr(options, "weight_decay", 0.0)
        self.optimizers = {
            key: compute.adam(module, options.rate, decay) for key, module in self.modules.items()
        }

    @abstractmethod
    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        """The mean loss over this process's rows of a batch."""

    def weight(self, part: Part) -> float:
        """Factor of :meth:`loss` in the batch."""
        return part.weight

    def gradients(self, part: Part, *inputs: Tensor) -> dict[str, Tensor]:
        with self.compute.autocast():
            loss = self.loss(part, *inputs)
        self.compute.backward(loss, self.weight(part))
        return {"loss": loss}


def fit(
    stage: Stage,
    *,
    seed: int,
    checkpoint: Path | None = None,
    report: Callable[[History], None] = lambda history: None,
) -> Figures:
    """Trains ``stage``, leaves the best state in ``stage.network`` and gives that epoch's figures.

    Args:
        checkpoint: file that is written after every epoch and continued from when it is there.
        report: called after each epoch, and once on resuming, with every epoch's figures so far.

    Raises:
        UsageError: a loss that is not finite.
    """
    history: History = []
    best: dict[str, Tensor] = {}
    if checkpoint is not None and stage.compute.broadcast(checkpoint.is_file()):
        history, best = _restore(stage, checkpoint)
        report(history)
    while len(history) < stage.epochs and not stage.settled(history):
        stage.epoch = len(history)
        epoch_seed = derive_seed(seed, stage.name, stage.epoch)
        torch.manual_seed(epoch_seed + stage.compute.rank)
        for module in stage.modules.values():
            module.train()
        training = stage.train_epoch(epoch_seed)
        for module in stage.modules.values():
            module.eval()
        with torch.no_grad():  # one verdict for all: the last bits may differ between processes
            validation = stage.compute.broadcast(stage.validate())
        if not math.isfinite(validation["loss"]):
            raise UsageError(
                f"training of the {stage.name} diverged in epoch {len(history) + 1}; lower its rate"
            )
        with torch.no_grad():
            observed = stage.observe() if stage.compute.main else {}
        history.append(
            {
                "stage": stage.name,
                "epoch": len(history) + 1,
                **{f"train_{k}": v for k, v in training.items()},
                **{f"validation_{k}": v for k, v in validation.items()},
                **{f"observed_{k}": v for k, v in stage.compute.broadcast(observed).items()},
            }
        )
        if _stale(stage, history) == 0:
            best = {k: v.detach().clone() for k, v in stage.network.state_dict().items()}
        if checkpoint is not None and stage.compute.main:
            _save(stage, checkpoint, history, best)
        report(history)
    stage.network.load_state_dict(best)
    stage.network.eval()
    return history[stage.best(history)]


def _stale(stage: Stage, history: History) -> int:
    return len(history) - 1 - stage.best(history)


def _save(stage: Stage, path: Path, history: History, best: dict[str, Tensor]) -> None:
    tensors = {f"best/{k}": v for k, v in best.items()}
    groups = {}
    for name, module in stage.modules.items():
        tensors |= {f"module/{name}/{k}": v for k, v in module.state_dict().items()}
    for name, optimizer in stage.optimizers.items():
        state = optimizer.state_dict()
        groups[name] = state["param_groups"]
        for index, values in state["state"].items():
            tensors |= {
                f"optimizer/{name}/{index}/{k}": torch.as_tensor(v) for k, v in values.items()
            }
    tensors = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    plain = {"groups": groups, "history": history, "compute": stage.compute.state()}
    save_tensors(tensors, {key: json.dumps(value) for key, value in plain.items()}, path)


def _restore(stage: Stage, path: Path) -> tuple[History, dict[str, Tensor]]:
    tensors, metadata = load_tensors(path)
    groups = json.loads(metadata["groups"])

    def under(prefix: str) -> dict[str, Tensor]:
        return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}

    for name, module in stage.modules.items():
        module.load_state_dict(under(f"module/{name}/"))
    for name, optimizer in stage.optimizers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in under(f"optimizer/{name}/").items():
            index, _, field = key.partition("/")
            state.setdefault(int(index), {})[field] = value
        # How it computes is this device's matter, and not the other's that it learnt on before.
        own = {k: v for k, v in optimizer.param_groups[0].items() if k in ("fused", "capturable")}
        told = [{**group, **own} for group in groups[name]]
        optimizer.load_state_dict({"state": state, "param_groups": told})
    stage.compute.restore(json.loads(metadata.get("compute", "{}")))
    return json.loads(metadata["history"]), under("best/")
