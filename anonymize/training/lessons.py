"""What the opponents are shown: releases of today and of earlier epochs, against real images or
released ones; and when they start again."""

import copy
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.options import AdversarialOptions
from anonymize.seeds import derive_seed
from anonymize.trained import Generator

RELEASED_SECOND = {"released-real": 0.0, "mixed": 0.5, "released-released": 1.0}
REPLAYED = 0.5  # share of the pairs, as in Shrivastava et al. 2017


class Replay(nn.Module):
    """The generators of the last epochs, as each began; their state is in the checkpoint."""

    def __init__(self, generator: Generator, epochs: int) -> None:
        super().__init__()
        self.earlier = nn.ModuleList(copy.deepcopy(generator) for _ in range(epochs))
        self.requires_grad_(False)

    def keep(self, generator: Generator, epoch: int) -> None:
        """Takes the place of the oldest."""
        self.earlier[epoch % len(self.earlier)].load_state_dict(generator.state_dict())

    def redraw(self, seed: int) -> None:
        """Each takes random numbers of its own."""
        for number, generator in enumerate(self.earlier):
            cast(Generator, generator).redraw(derive_seed(seed, "replay", number))

    def known(self, epoch: int) -> int:
        """How many there are in this epoch, counted from 0."""
        return min(epoch + 1, len(self.earlier))


class Lessons:
    """The lessons of one epoch; all draws follow from its seed and are those of every process."""

    def __init__(
        self,
        options: AdversarialOptions,
        replay: Replay | None,
        *,
        pairs: int,
        epoch: int,
        seed: int,
    ) -> None:
        self.replay, self.epoch = replay, epoch
        self.rng = np.random.default_rng((seed, 1))
        self.replayed = self.rng.random(pairs) < REPLAYED
        self.both = self.rng.random(pairs) < RELEASED_SECOND[options.opponent_pairs]

    @torch.no_grad()
    def released(self, anonymized: Tensor, first: Tensor, rows: np.ndarray) -> Tensor:
        """``anonymized``, where they are replayed as an earlier generator made them."""
        if self.replay is None:
            return anonymized
        earlier = self.replay.earlier[int(self.rng.integers(self.replay.known(self.epoch)))].eval()
        return _where(self.replayed[rows], earlier(first), anonymized)

    @torch.no_grad()
    def second(self, generator: nn.Module, second: Tensor, rows: np.ndarray) -> Tensor:
        """The ``second`` images, released by the generator where they are to be."""
        if not self.both.any():
            return second
        generator.eval()
        released = generator(second)
        generator.train()
        return _where(self.both[rows], released, second)


def _where(chosen: np.ndarray, then: Tensor, otherwise: Tensor) -> Tensor:
    mask = torch.from_numpy(chosen).to(otherwise.device)[:, None, None, None]
    return torch.where(mask, then.float(), otherwise)
