"""One score of a pair from those of its windows, when not all of them need be of one person."""

import math
from dataclasses import dataclass

import numpy as np

TOP = 3  # windows


@dataclass(frozen=True)
class Pooling:
    """How the windows come together.

    Attributes:
        power: of the likelihood ratios before their mean over windows (weighed by share) is taken;
            0: the mean of their logarithms; infinite: the largest.
        top: of them, those that count; 0: all.
    """

    power: float
    top: int = 0

    def start(self, shape: tuple[int, int]) -> np.ndarray:
        """Of no window yet."""
        if self.top:
            return np.full((self.top, *shape), -np.inf, np.float32)
        return np.full(shape, 0.0 if self.power == 0 else -np.inf, np.float32)

    def add(self, total: np.ndarray, ratios: np.ndarray, share: float) -> np.ndarray:
        """With one window more, of log-likelihood ratios (P, G)."""
        if self.top:
            ordered = np.concatenate([total, ratios[None] + math.log(share)])
            return np.partition(ordered, -self.top, axis=0)[-self.top :]
        if self.power == 0:
            return total + ratios
        if math.isinf(self.power):
            return np.maximum(total, ratios + math.log(share))
        return np.logaddexp(total, self.power * ratios + math.log(share))

    def end(self, total: np.ndarray) -> np.ndarray:
        """float32 (P, G)."""
        if self.top:
            total = np.where(np.isfinite(total), total, 0).mean(axis=0)
        return (total / (self.power if 0 < self.power < math.inf else 1)).astype(np.float32)


POOLINGS = {
    "mean": Pooling(0),
    "soft": Pooling(0.5),
    "likelihood": Pooling(1),
    "sharp": Pooling(2),
    "max": Pooling(math.inf),
    "top": Pooling(math.inf, TOP),
}
