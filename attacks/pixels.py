"""Re-identification by the pixels themselves: small standardised images, compared as they are."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from anonymize.attacker_options import PixelsOptions
from attacks.attacker import unit_float
from attacks.resolution import averaged
from attacks.similarity import Described

STEADY = 1e-3  # gray-level deviation below which an image is not scaled up


class Pixels(Described):
    """Each image down-sampled by averaging and brought to mean 0 and deviation 1.

    Args:
        options: side of the small image, and the distance.
    """

    name = "pixels"

    def __init__(self, options: PixelsOptions | None = None) -> None:
        self.options = options or PixelsOptions()
        super().__init__(distance=self.options.distance)

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, side²) gray levels of images (N, 1, H, W); an image is never enlarged."""
        return standardised(unit_float(images.cpu()), self.options.side).numpy()


def standardised(images: Tensor, side: int) -> Tensor:
    """Gray levels (N, side²) of averaged images (N, 1, H, W), of mean 0 and deviation 1 each."""
    small = averaged(images, side).flatten(1)
    centred = small - small.mean(1, keepdim=True)
    return centred / (centred.std(1, keepdim=True, correction=0) + STEADY)
