"""How L_aux and L_ver are weighed; a weight that moves is state, equal in all processes."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.options import AdversarialOptions
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import Figures
from anonymize.training.losses import generator_loss

LARGEST = math.log(1e4)  # the factors of Esser et al. 2021 are at most 1e4, too


class Terms(NamedTuple):
    """L_aux and L_ver, and what they are for the real images; means over a part of a batch."""

    auxiliary: Tensor
    verification: Tensor
    real_auxiliary: Tensor
    real_verification: Tensor


class Fixed(nn.Module):
    """Eq. 4: L_aux + w · L_ver, with w = ``verification_weight``."""

    moves = False  # whether the weight of one step is another's
    bounded = False  # whether a step needs L_aux of the real images

    def __init__(self, options: AdversarialOptions) -> None:
        super().__init__()
        self.options = options

    @property
    def weights(self) -> tuple[float, float]:
        """Of L_aux and of L_ver."""
        return 1.0, self.options.verification_weight

    def loss(self, terms: Terms) -> Tensor:
        """What the generator minimises."""
        auxiliary, verification = self.weights
        return generator_loss(auxiliary * terms.auxiliary, terms.verification, weight=verification)

    def verdict(self, terms: Terms) -> Tensor:
        """What epochs are judged by on validation; the least is the best."""
        return self.loss(terms)

    def observe(self, terms: Terms, output: Tensor, part: Part, compute: Compute) -> None:
        """Sees the terms of one part of a batch, and the generator's output that led to them."""

    def step(self, compute: Compute) -> None:
        """Moves the weight by what was seen of the batch."""

    def figures(self) -> Figures:
        """The weight, where it moves."""
        return {}


class Moving(Fixed):
    """A weight that every step moves; its logarithm is kept.

    :meth:`verdict` does not depend on it, so that epochs compare.
    """

    moves = True
    log_weight: Tensor
    steps: Tensor

    def __init__(self, options: AdversarialOptions) -> None:
        super().__init__(options)
        self.register_buffer("log_weight", torch.zeros((), dtype=torch.float64))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.seen = np.zeros(2)

    @property
    def weight(self) -> float:
        return math.exp(float(self.log_weight))

    def figures(self) -> Figures:
        return {"weight": self.weight}

    def total(self, compute: Compute) -> list[float]:
        """What all parts of all processes added to ``seen``, which is then forgotten."""
        total, self.seen = compute.total(self.seen.tolist()), np.zeros(2)
        return total

    def move(self, by: float) -> None:
        moved = float(self.log_weight) + by
        self.log_weight.fill_(max(-LARGEST, min(LARGEST, moved)))
        self.steps += 1


class GradientNorms(Moving):
    """L_aux + w · r · L_ver, where r makes both gradients equally long at the generator's output.

    r is the ratio of their norms (the adaptive weight of Esser et al. 2021, "Taming transformers",
    Eq. 7; GradNorm, Chen et al. 2018), averaged over steps. The generator's output is what its
    network gives: the raw field G(x) of Eq. 1, the image of Privacy-Net.
    """

    @property
    def weights(self) -> tuple[float, float]:
        return 1.0, self.options.verification_weight * self.weight

    def observe(self, terms: Terms, output: Tensor, part: Part, compute: Compute) -> None:
        """Adds the squared norms of both gradients on ``output``."""
        squares = []
        for term in (terms.auxiliary, terms.verification):
            scaled = compute.scaled(term * part.weight)
            (gradient,) = torch.autograd.grad(scaled, output, retain_graph=True)
            squares.append(float(gradient.float().square().sum()))
        self.seen += squares

    def step(self, compute: Compute) -> None:
        auxiliary, verification = self.total(compute)
        if 0 < auxiliary < math.inf and 0 < verification < math.inf:  # half precision overflows
            wanted = math.log(auxiliary / verification) / 2
            rate = max(self.options.balance_rate, 1 / (1 + int(self.steps)))
            self.move(rate * (wanted - float(self.log_weight)))

    def verdict(self, terms: Terms) -> Tensor:
        """Both terms as shares of what they are for the real images."""
        auxiliary = terms.auxiliary / terms.real_auxiliary.clamp(min=1e-6)
        verification = terms.verification / terms.real_verification.clamp(min=1e-6)
        return generator_loss(auxiliary, verification, weight=self.options.verification_weight)


class Constraint(Moving):
    """Least L_ver under L_aux ≤ L_aux of the real images + tolerance: λ · L_aux + w · L_ver.

    The multiplier λ rises while the constraint is violated and falls while there is room (dual
    ascent on its logarithm: GECO, Rezende and Viola 2018, "Taming VAEs").
    """

    bounded = True

    @property
    def weights(self) -> tuple[float, float]:
        return self.weight, self.options.verification_weight

    def observe(self, terms: Terms, output: Tensor, part: Part, compute: Compute) -> None:
        """Adds by how much L_aux exceeds that of the real images."""
        rows = len(part.rows)
        self.seen += float(terms.auxiliary.detach() - terms.real_auxiliary) * rows, rows

    def step(self, compute: Compute) -> None:
        excess, rows = self.total(compute)
        if rows:
            self.move(self.options.balance_rate * max(-1.0, min(1.0, self._over(excess / rows))))

    def verdict(self, terms: Terms) -> Tensor:
        """L_ver as a share of the real images', and what the constraint is violated by."""
        share = terms.verification / terms.real_verification.clamp(min=1e-6)
        over = self._over(terms.auxiliary - terms.real_auxiliary)
        return self.options.verification_weight * share + over.clamp(min=0)

    def _over(self, excess):
        return excess / self.options.tolerance - 1


BALANCES: dict[str, type[Fixed]] = {
    "fixed": Fixed,
    "norms": GradientNorms,
    "constraint": Constraint,
}
