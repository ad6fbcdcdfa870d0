"""Images by row number, in batches; whatever holds them gives ``batch``."""

from collections.abc import Iterator
from typing import Protocol

import kornia.augmentation as K
import numpy as np
import torch
from torch import Tensor, nn


class Images(Protocol):
    """Holds one image a table row: the HDF5 cache, or :class:`HeldImages`."""

    def __len__(self) -> int: ...

    def batch(self, rows: np.ndarray) -> Tensor:
        """float32 (n, 1, H, W) in [0, 1] of the rows, in their order."""
        ...


class HeldImages:
    """Images in memory: uint8 over the full range, or float32 in [0, 1], (N, 1, H, W)."""

    def __init__(self, pixels: Tensor) -> None:
        self.pixels = pixels

    def __len__(self) -> int:
        return len(self.pixels)

    def batch(self, rows: np.ndarray) -> Tensor:
        chosen = self.pixels[torch.as_tensor(rows)]
        return chosen.float() / 255 if chosen.dtype == torch.uint8 else chosen


def in_batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """``rows`` in their order, ``size`` at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def shuffled(rows: np.ndarray, size: int, seed: int | tuple[int, ...]) -> Iterator[np.ndarray]:
    """``rows`` in an order that the seed decides, ``size`` at a time.

    A last batch of a single row is left out, since batch norm cannot train on it.
    """
    order = np.random.default_rng(seed).permutation(rows)
    for batch in in_batches(order, size):
        if len(batch) > 1:
            yield batch


def augmentation() -> nn.Module:
    """Small affine maps and gray-scale changes, one drawn for each image of a batch."""
    return nn.Sequential(
        K.RandomAffine(
            degrees=5.0,
            translate=(0.04, 0.04),
            scale=(0.93, 1.07),
            padding_mode="border",
            align_corners=True,
            p=1.0,
        ),
        K.RandomGamma(gamma=(0.8, 1.25), gain=(0.95, 1.05), p=1.0),
    )
