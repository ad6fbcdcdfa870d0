"""Down-sampling, and back to the size of the image."""

from functools import partial

import torch.nn.functional as F
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from baselines.options import DownSamplingOptions

SIDE, LARGEST = 32, 48  # pixels of a small image that are advised, and that still pass


class DownSampling(Anonymizer):
    """Bilinear with antialiasing down to a small image, bilinear back to the size.

    ``factor`` leaves more of a large file than of a small one: 256 px of 2048, 12 px of 96. With
    ``side`` every file keeps equally much, and what is measured on small images also holds for
    large ones. An image whose shorter side is no longer than ``side`` stays as it is.
    """

    name = "down-sampling"
    is_concurrent = True
    Options = DownSamplingOptions

    @property
    def changes_nothing(self) -> bool:
        return self.settings.factor == 1

    def unfit(self, height: int, width: int) -> str:
        side, factor = min(height, width), self.settings.factor
        left = min(side, self.settings.side or side) if factor is None else side / factor
        if left <= LARGEST:
            return ""
        cause = f"side={left}" if factor is None else f"a factor of {factor:g}"
        return (
            f"{cause} leaves {left:.0f} px of {side}, a clear picture; use side={SIDE}, the same "
            "for every file"
        )

    def anonymize(self, images: Tensor) -> Tensor:
        h, w = images.shape[-2:]
        factor = self.settings.factor or max(1.0, min(h, w) / self.settings.side)
        small = (max(1, round(h / factor)), max(1, round(w / factor)))
        if small == (h, w):
            return images
        resize = partial(F.interpolate, mode="bilinear", align_corners=False, antialias=True)
        return resize(resize(images, size=small), size=(h, w))
