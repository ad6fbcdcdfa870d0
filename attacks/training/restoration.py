"""A linear map from released images to what the real ones would show (ridge regression).

It sees a released image as components of its histograms, and as coarse gray levels: pixelization
and noise leave little of the first, but much of the second.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from attacks.attacker import unit_float
from attacks.networks.resolution import standardised

SIDES = (8, 16)


@dataclass(frozen=True)
class Restoration:
    """Components and gray levels of a released image → components of the real one.

    Attributes:
        components: (C, C).
        gray: (G, C).
    """

    components: np.ndarray
    gray: np.ndarray

    @classmethod
    def fit(cls, released: np.ndarray, gray: np.ndarray, real: np.ndarray, *, ridge: float) -> Self:
        """Least squares with a penalty on the size of the map.

        Args:
            released, real: components (N, C) of an image each, around their means.
            gray: levels (N, G) of the released image.
            ridge: weight of the penalty, in units of the mean variance; both kinds of input are
                brought to the same variance before.
        """
        blocks = (released, gray - gray.mean(axis=0))
        scales = [np.sqrt(np.square(block).sum(axis=1).mean()) or 1.0 for block in blocks]
        given = np.hstack([block / scale for block, scale in zip(blocks, scales, strict=True)])
        gram = given.T @ given
        penalty = ridge * np.trace(gram) / len(gram) * np.eye(len(gram))
        matrix = np.linalg.solve(gram + penalty, given.T @ real)
        cut = released.shape[1]
        return cls(matrix[:cut] / scales[0], matrix[cut:] / scales[1])

    def restored(self, wide: np.ndarray) -> np.ndarray:
        """Components (N, C) of components and gray levels (N, C + G)."""
        return wide @ np.concatenate([self.components, self.gray])

    def of_descriptions(self, axes: np.ndarray) -> np.ndarray:
        """The same map (D + G, C) for histograms (N, D) and gray levels, of components with these
        axes (C, D)."""
        return np.concatenate([axes.T @ self.components, self.gray])


def gray_levels(images: Tensor) -> np.ndarray:
    """Standardised coarse gray levels (N, G) of images (N, 1, H, W)."""
    known = unit_float(images.cpu())
    return torch.cat([standardised(known, side) / side for side in SIDES], dim=1).numpy()
