"""Learning rates over a training, as functions of how much of it is done: no state to keep."""

import math

import torch
from torch import Tensor, nn

RISE = 0.3  # of a cycle
FIRST, LAST = 1 / 25, 1e-4  # of the greatest rate, at both ends of a cycle


def step_rate(done: float, rate: float) -> float:
    """The rate, and a fifth of it once half is done (Schmahl et al. 2025)."""
    return rate if done < 0.5 else rate / 5


def one_cycle_rate(done: float, rate: float) -> float:
    """Cosine from rate/25 up to the rate, then down to rate/10⁴ (Smith and Topin 2018).

    Args:
        done: share of the training, 0 to 1.
        rate: the greatest.
    """
    if done < RISE:
        return _cosine(rate * FIRST, rate, done / RISE)
    return _cosine(rate, rate * LAST, (done - RISE) / (1 - RISE))


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The rate of every parameter from the next step on."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class Clock(nn.Module):
    """Counts epochs, and holds a rate that was found, in buffers: so a checkpoint of a stage's
    modules knows them."""

    epochs: Tensor
    rate: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("epochs", torch.zeros((), dtype=torch.long))
        self.register_buffer("rate", torch.zeros((), dtype=torch.float64))

    @property
    def now(self) -> int:
        """Epochs that are over."""
        return int(self.epochs)

    def tick(self) -> None:
        """An epoch is over."""
        self.epochs += 1


def _cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * min(done, 1.0))) / 2
