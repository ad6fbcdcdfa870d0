"""Images by row number, in batches; whatever holds them gives ``batch``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.data.cached_images import ImageCache


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
        chosen = self.pixels[on_device(torch.as_tensor(rows), self.pixels.device)]
        return chosen.float() / 255 if chosen.dtype == torch.uint8 else chosen


@dataclass(frozen=True)
class Rows:
    """Some of ``images``, in the order of ``rows``."""

    images: Images
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: np.ndarray) -> Tensor:
        return self.images.batch(self.rows[rows])


def on_device(values: Tensor, device: torch.device) -> Tensor:
    """``values`` on the device; a GPU is not waited for."""
    if device.type != "cuda" or values.is_cuda:
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def held(images: Images, device: torch.device, room: int) -> Images:
    """``images`` in the memory of the device, if they are known to take no more than ``room`` bytes
    there; else themselves."""
    if isinstance(images, HeldImages) and images.pixels.nbytes <= room:
        return HeldImages(images.pixels.to(device))
    if isinstance(images, ImageCache) and images.dtype == np.uint8 and images.nbytes <= room:
        levels = torch.from_numpy(images.array(np.arange(len(images))))
        return HeldImages(levels.unsqueeze(1).to(device))
    return images


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
    import kornia.augmentation as K  # here, since releases begin without it

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
