"""Marks in the lowest bits of the gray levels, which no eye sees: do two released images share one?

A watermark that names the patient links a release within itself, whatever its images show: who
knows one released image of a patient has all others. Nothing is learnt, so that no kind of mark
must have been met before; real images carry none, so that they are no help in finding it.
"""

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from anonymize.section import Options
from attacks.attacker import Described
from attacks.knowledge.levels import Ladder, Level, own


class BitPlanesOptions(Options):
    """The attacker ``bit-planes``."""

    planes: int = Field(1, ge=1, le=8, description="lowest bits of each gray level")


class BitPlanes(Described):
    """Correlation of the lowest bits of two released images, pixel by pixel.

    A bit weighs as much as it varies among the images: planes that are equal in all tell nothing.
    """

    name = "bit-planes"
    Options = BitPlanesOptions

    @classmethod
    def ladder(cls) -> Ladder:
        return {
            "ignorant": Level(
                lambda setting: cls(own(cls, setting.options)),
                lambda o: f"the {own(cls, o).planes} lowest bits of released images",
                compares="released-released",
                marks=True,
            )
        }

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, planes · H · W), 0 or 1; of 16 bits where the levels are none of 8."""
        levels = images.flatten(1)
        if images.dtype != torch.uint8:
            eight = levels.double() * 255
            fits = (eight - eight.round()).abs().max() < 1e-3
            levels = eight.round() if fits else (levels.double() * 65535).round()
        whole = levels.to(torch.int32)
        bits = [(whole >> plane) & 1 for plane in range(self.settings.planes)]
        return torch.cat(bits, dim=1).float().numpy()
