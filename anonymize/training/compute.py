"""Who computes a training step: one process or many, in full or mixed precision.

A batch is a batch whatever computes it: processes and micro-batches share its rows out, and their
gradients add up to the gradient of the whole. Collectives run in one order in every process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.errors import UsageError


@dataclass(frozen=True)
class Part:
    """The rows that all processes work on at once, and their share in the batch.

    Attributes:
        shares: rows of each process.
        rank: whose share is ``rows``.
        batch: number of rows in the whole batch.
    """

    shares: list[np.ndarray]
    rank: int
    batch: int

    @property
    def rows(self) -> np.ndarray:
        """The rows of this process."""
        return self.shares[self.rank]

    @property
    def weight(self) -> float:
        """Factor of a mean loss over ``rows``; gradients are averaged over the processes."""
        return len(self.rows) * len(self.shares) / self.batch

    @property
    def common_weight(self) -> float:
        """Factor of a loss that every process computed over all shares."""
        return sum(map(len, self.shares)) / self.batch


class Compute:
    """One process in full precision; the base of :class:`Accelerated`.

    Args:
        device: where networks and batches live.
        accumulation: micro-batches that a batch is split into, so that it needs less memory.
    """

    rank, world = 0, 1

    def __init__(self, device: torch.device, *, accumulation: int = 1) -> None:
        self.device, self.accumulation = device, accumulation

    @property
    def main(self) -> bool:
        """True in the one process that writes files."""
        return self.rank == 0

    def parts(self, rows: np.ndarray) -> Iterator[Part]:
        """The batch in parts; each process has at least two rows of each, or there is no part.

        Batch norm cannot train on one row. Only the last batch of an epoch can be that small.
        """
        pieces = min(self.accumulation, len(rows) // (2 * self.world))
        shares = np.array_split(rows, pieces * self.world) if pieces else []
        for start in range(0, len(shares), self.world):
            yield Part(shares[start : start + self.world], self.rank, len(rows))

    def ready(self, network: nn.Module) -> nn.Module:
        """The network on the device, with batch statistics over all processes."""
        return network.to(self.device)

    def autocast(self) -> AbstractContextManager:
        """Forward passes of training run in here."""
        return nullcontext()

    def backward(self, loss: Tensor, weight: float) -> None:
        """Adds the gradients of ``weight * loss``."""
        (loss * weight if weight != 1 else loss).backward()

    def step(self, *optimizers: torch.optim.Optimizer) -> None:
        """One step with the gradients of all parts and processes, which are then forgotten."""
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def gather(self, own: Tensor, part: Part) -> Tensor:
        """Rows (n, features) of all processes in their order; gradients flow back to each."""
        return own

    def total(self, values: list[float]) -> list[float]:
        """Sums over the processes."""
        return values

    def agreed(self, value: Any) -> Any:
        """The main process's value, in every process; all wait here for each other."""
        return value

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep besides networks and optimizers."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continues from :meth:`state`."""


class Accelerated(Compute):
    """Many processes, mixed precision, or both, through accelerate.

    Args:
        precision: "no", "bf16" or "fp16".
    """

    def __init__(self, device: torch.device, *, precision: str, accumulation: int = 1) -> None:
        from accelerate import Accelerator
        from accelerate.state import AcceleratorState

        # The state is global and keeps the first precision that it was made with.
        AcceleratorState._reset_state(reset_partial_state=False)
        try:
            self._accelerator = Accelerator(mixed_precision=precision, cpu=device.type == "cpu")
        except ValueError as error:
            raise UsageError(f"precision {precision} is not available here: {error}") from None
        if precision != "no" and not self._accelerator.native_amp:
            raise UsageError(f"precision {precision} needs a GPU; take bf16 or no")
        self.rank, self.world = self._accelerator.process_index, self._accelerator.num_processes
        super().__init__(
            self._accelerator.device if self.world > 1 else device, accumulation=accumulation
        )

    def ready(self, network: nn.Module) -> nn.Module:
        if self.world > 1:
            share_statistics(network)
        return network.to(self.device)

    def autocast(self) -> AbstractContextManager:
        return self._accelerator.autocast()

    def backward(self, loss: Tensor, weight: float) -> None:
        self._accelerator.backward(loss * weight)

    def step(self, *optimizers: torch.optim.Optimizer) -> None:
        scaler = self._accelerator.scaler
        for optimizer in optimizers:
            self._average_gradients(optimizer)
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        if scaler is not None:
            scaler.update()

    def _average_gradients(self, optimizer: torch.optim.Optimizer) -> None:
        gradients = [
            p.grad
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None
        ]
        if self.world == 1 or not gradients:
            return
        flat = torch.cat([g.reshape(-1) for g in gradients])
        torch.distributed.all_reduce(flat)
        parts = (flat / self.world).split([g.numel() for g in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def gather(self, own: Tensor, part: Part) -> Tensor:
        if self.world == 1:
            return own
        images_a_row = len(own) // len(part.rows)
        sizes = [images_a_row * len(share) for share in part.shares]
        before, after = sum(sizes[: self.rank]), sum(sizes[self.rank + 1 :])
        return _Sum.apply(nn.functional.pad(own.float(), (0, 0, before, after)))

    def total(self, values: list[float]) -> list[float]:
        if self.world == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(summed)
        return summed.tolist()

    def agreed(self, value: Any) -> Any:
        if self.world == 1:
            return value
        told = [value]
        torch.distributed.broadcast_object_list(told, src=0)
        return told[0]

    def state(self) -> dict[str, Any]:
        scaler = self._accelerator.scaler
        return {} if scaler is None else {"scaler": scaler.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        if "scaler" in state:
            self._accelerator.scaler.load_state_dict(state["scaler"])


def launched(device: torch.device, *, precision: str = "no", accumulation: int = 1) -> Compute:
    """The compute of this process: as `accelerate launch` or torchrun started it, or alone.

    Raises:
        UsageError: a precision that this machine does not have.
    """
    if precision == "no" and int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Compute(device, accumulation=accumulation)
    return Accelerated(device, precision=precision, accumulation=accumulation)


class _Sum(torch.autograd.Function):
    """The sum over all processes; so is its gradient."""

    @staticmethod
    def forward(ctx, own: Tensor) -> Tensor:
        summed = own.clone()
        torch.distributed.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        summed = gradient.clone()
        torch.distributed.all_reduce(summed)
        return summed


class SharedBatchNorm2d(nn.BatchNorm2d):
    """Batch norm whose training statistics are those of all processes, on any device.

    torch's own (SyncBatchNorm) knows GPUs only.
    """

    def forward(self, images: Tensor) -> Tensor:
        if not self.training:
            return super().forward(images)
        values = images.float()
        count = torch.tensor([values.numel() / values.shape[1]], device=images.device)
        sums = _Sum.apply(torch.cat((values.sum((0, 2, 3)), count)))
        count = sums[-1]
        mean = sums[:-1] / count
        centred = values - mean[:, None, None]
        variance = _Sum.apply((centred**2).sum((0, 2, 3))) / count
        with torch.no_grad():
            self.num_batches_tracked += 1
            unbiased = variance * count / (count - 1)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_var += self.momentum * (unbiased - self.running_var)
        scale = self.weight * (variance + self.eps).rsqrt()
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(images.dtype)


def share_statistics(network: nn.Module) -> None:
    """Turns every batch norm of ``network`` into a :class:`SharedBatchNorm2d`; same state."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = SharedBatchNorm2d
