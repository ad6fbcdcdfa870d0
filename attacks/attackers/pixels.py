"""Re-identification by the pixels themselves: small standardised images, compared as they are."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from anonymize.attacker_options import PixelsOptions
from attacks.attacker import Described, unit_float
from attacks.networks.resolution import standardised


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
