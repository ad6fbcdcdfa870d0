"""Re-identification by the pixels themselves: small standardised images, compared as they are."""

from typing import Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from anonymize.section import Options
from attacks.attacker import Described, unit_float
from attacks.knowledge.levels import Ladder, Level, ladder_of_untaught, own
from attacks.networks.resolution import standardised


class PixelsOptions(Options):
    """The attacker ``pixels``."""

    side: int = Field(32, ge=2, le=1024, description="images are averaged to side × side pixels")
    distance: Literal["cosine", "euclidean"] = Field("cosine", description="of standardised pixels")


class Pixels(Described):
    """Each image down-sampled by averaging and brought to mean 0 and deviation 1."""

    name = "pixels"
    Options = PixelsOptions

    @classmethod
    def ladder(cls) -> Ladder:
        return ladder_of_untaught(
            Level(
                lambda setting: cls(own(cls, setting.options)),
                lambda options: (
                    f"standardised images of {(side := own(cls, options).side)} × {side} pixels, "
                    "nothing learnt"
                ),
                floor=True,
            )
        )

    def __init__(self, options: PixelsOptions | None = None) -> None:
        super().__init__(options)
        self.distance = self.settings.distance

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, side²) gray levels of images (N, 1, H, W); an image is never enlarged."""
        return standardised(unit_float(images.cpu()), self.settings.side).numpy()
