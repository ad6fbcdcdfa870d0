"""A mosaic: every patch of an image is of another patient."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from anonymize.data.batches import Images
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient
from baselines.options import MosaicOptions
from baselines.patchwork import CUT, Warps, patchwork, shares, weights
from baselines.placing import placed
from baselines.set_method import SetMethod

BEYOND = 1e-3  # of the share that is promised: what is lost where pixels are few for a fade


class Mosaic(SetMethod):
    """An image of g × g patches, each of another patient of one utility code, at the place where it
    was; they pass into each other, and gray levels, sharpness and noise are made equal.

    A patient is shown in at most ``m`` different patches over the whole release, of images drawn by
    lot, each in ``uses`` mosaics. Their weights add up to m/g² of an image, which is all that
    anybody can put together of him; with ``warp``, of which each has another one wherever it is
    shown, other pixels around come into it: together up to ``uses``·m/g². Patches are left over
    where g² does not divide them, and not shown. What is not promised: docs/methods.md.
    """

    name = "mosaic"
    Options = MosaicOptions

    @property
    def people(self) -> int:
        return self.settings.g**2

    @property
    def shown(self) -> float:
        o = self.settings
        times = 1 if o.warp is None else o.uses
        return min(1.0, times * o.m / o.g**2)

    def unfit(self, height: int, width: int) -> str:
        o = self.settings
        share = shares((height, width), o.g, o.feather)[-o.m :].sum().item()
        promised = o.m / o.g**2
        if share <= (1 + BEYOND) * promised:
            return ""
        return (
            f"patches of {o.g} × {o.g} are not equally large in {width} × {height} pixels: those "
            f"of one patient may be {share:.3g} of an image, {promised:.3g} is promised; take a "
            f"multiple of {o.g} pixels, or a wider feather"
        )

    def mixed(self, given: Radiographs, rng: np.random.Generator) -> list[list[np.ndarray]]:
        images, o = by_patient(given.patients), self.settings
        return [
            [*placed([images[i] for i in cluster], self.people, o.m, o.uses, rng)]
            for cluster in self.clusters(given, rng)
        ]

    def made(
        self, images: Images, outputs: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Tensor:
        (height, width), o = images.batch(np.zeros(0, int)).shape[-2:], self.settings
        placed, weight = np.stack(outputs), weights((height, width), o.g, o.feather)
        warps = None if o.warp is None else Warps.drawn(o.warp, placed.shape, rng)
        return patchwork(images, placed, weight, warps, o.band, o.cut or CUT)
