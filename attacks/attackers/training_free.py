"""Re-identification by gradient histograms, without any training: the floor for every attacker."""

from functools import partial

import numpy as np
from skimage.feature import hog
from torch import Tensor

from anonymize.errors import UsageError
from attacks.attacker import Described, unit_float
from attacks.knowledge.levels import Ladder, Level, ladder_of_untaught

ORIENTATIONS = 9
CELLS_A_BLOCK = 3
CELLS_A_SIDE = 8


class TrainingFree(Described):
    """Cosine of centred histograms of oriented gradients (Dalal and Triggs 2005).

    9 orientations, cells of an eighth of the image's shorter side, 3×3 of them a block, L2-Hys. An
    image without any gradient of its own scores 0.
    """

    name = "training-free"

    @classmethod
    def ladder(cls) -> Ladder:
        words = "histograms of oriented gradients, nothing learnt"
        return ladder_of_untaught(Level(lambda setting: cls(), lambda options: words, floor=True))

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, D) histograms of images (N, 1, H, W), neither centred nor scaled. Raises
        UsageError: images smaller than one block of cells."""
        side = min(images.shape[-2:])
        cell = max(2, round(side / CELLS_A_SIDE))
        if side < cell * CELLS_A_BLOCK:
            raise UsageError(
                f"a block is {CELLS_A_BLOCK} cells of {cell} pixels, the image only {side}; "
                "take larger images"
            )
        describe = partial(
            hog,
            orientations=ORIENTATIONS,
            pixels_per_cell=(cell, cell),
            cells_per_block=(CELLS_A_BLOCK, CELLS_A_BLOCK),
            block_norm="L2-Hys",
        )
        pictures = unit_float(images.cpu())[:, 0].numpy()
        return np.stack([describe(picture) for picture in pictures]).astype(np.float32)
