"""What is done alike to every image can be undone by whoever has pairs of before and after.

Turned, mirrored, inverted, or its pixels in a secret order: of each pixel of the real image some
pixels of the released one tell most, and over a few hundred pairs their correlation says which.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from attacks.attacker import Attacker, Auxiliary, ImageSet, unit_float
from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.knowledge.levels import Ladder, Level, own
from attacks.networks.resolution import averaged
from attacks.training.learning import Learning

AT_ONCE = 512  # real pixels whose correlations are held
UNMOVED = 1e-6  # deviation below which a pixel is the same in all images


class PixelMapOptions(HistogramMetricOptions):
    """The attacker ``pixel-map``; the metric learns as that of ``histogram-metric``."""

    side: int = Field(64, ge=24, le=256, description="restored images are side × side pixels")
    pixels: int = Field(8, ge=1, le=64, description="of the released image, for each restored one")
    pairs: int = Field(2000, ge=2, description="training pairs, drawn where there are more")


@dataclass(frozen=True)
class PixelMap:
    """Each pixel of a real image as a sum of a few of the released one.

    Attributes:
        where: int64 (T, k), the released pixels of each of T = H · W real ones.
        weight: float32 (T, k).
        offset: float32 (T,).
        shape: (H, W).
    """

    where: Tensor
    weight: Tensor
    offset: Tensor
    shape: tuple[int, int]

    @classmethod
    def fit(cls, released: Tensor, real: Tensor, *, pixels: int) -> Self:
        """The mean of a real pixel given those that correlate most with it, taken as independent
        of each other given it: Σ zᵢ rᵢ/(1 − rᵢ²) / (1 + Σ rᵢ²/(1 − rᵢ²)), in deviations.

        Args:
            released: float32 (N, 1, H', W').
            real: float32 (N, 1, H, W), of the same images.
            pixels: how many are taken.
        """
        asked, mean, spread = _scaled(released.flatten(1))
        known, middle, width = _scaled(real.flatten(1))
        count, k = len(real), min(pixels, asked.shape[1])
        where, weight = [], []
        for part in known.split(AT_ONCE, dim=1):
            r = part.T @ asked / count
            best = r.abs().topk(k, dim=1).indices
            r = r.gather(1, best)
            left = (1 - r.square()).clamp(min=1 / count)
            weight.append((r / left) / (1 + (r.square() / left).sum(1, keepdim=True)))
            where.append(best)
        found, scale = torch.cat(where), torch.cat(weight) * width[:, None]
        scale = scale / spread[found]
        rows, columns = real.shape[-2:]
        return cls(found, scale, middle - (scale * mean[found]).sum(1), (rows, columns))

    @classmethod
    def small(cls, released: Tensor, real: Tensor, side: int) -> Self:
        """:meth:`fit` of images of any kind and size, averaged to side × side pixels."""
        return cls.fit(*(averaged(unit_float(i), side) for i in (released, real)), pixels=8)

    def restored(self, released: Tensor) -> Tensor:
        """float32 (N, 1, H, W) in [0, 1] of images (N, 1, H', W')."""
        flat = released.flatten(1)
        total = self.offset.expand(len(flat), -1).clone()
        for where, weight in zip(self.where.T, self.weight.T, strict=True):
            total += flat[:, where] * weight
        return total.clamp(0, 1).unflatten(1, (1, *self.shape))


def small(images: Tensor, undone: PixelMap | None) -> Tensor:
    """Images (N, 1, H, W) at the size of those that a map gives back; as they are without one."""
    return images if undone is None else averaged(unit_float(images), max(undone.shape))


def seen(images: Tensor, undone: PixelMap | None) -> Tensor:
    """Probes (N, 1, H, W), undone by a map that was learnt at its own size; as they are without."""
    return images if undone is None else undone.restored(small(images, undone))


def _scaled(levels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Columns of mean 0 and deviation 1, or 0 where it has none; mean and deviation."""
    mean, spread = levels.mean(0), levels.std(0, correction=0)
    moved = spread > UNMOVED
    return (levels - mean) / torch.where(moved, spread, 1) * moved, mean, spread.clamp(min=UNMOVED)


class MappedPixels(Attacker):
    """The metric of ``histogram-metric``, for images of which a map of pixels was undone.
    ``learning``: where it learns; its checkpoint holds the metric once it was learnt."""

    name = "pixel-map"
    Options = PixelMapOptions
    knowledge = "informed"

    @classmethod
    def ladder(cls) -> Ladder:
        words = "a map of pixels undone, then a metric of gradient histograms"
        return {
            "informed": Level(
                lambda setting: cls(own(cls, setting.options), learning=setting.learning),
                lambda options: words,
                learns="released",
                compares="released-real",
            )
        }

    def __init__(
        self, options: PixelMapOptions | None = None, *, learning: Learning | None = None
    ) -> None:
        self.options = options or PixelMapOptions()
        self._metric = HistogramMetric(self.options, learning=learning)

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the map, then the metric of what it gives back."""
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.permutation(len(auxiliary.real))[: self.options.pairs])
        released, real = auxiliary.released[rows], auxiliary.real[rows]
        self._map = PixelMap.fit(
            unit_float(released.images), self._small(real.images), pixels=self.options.pixels
        )
        undone = replace(
            auxiliary,
            real=self._seen(auxiliary.real),
            validation_real=self._seen(auxiliary.validation_real),
            released=self._restored(auxiliary.released),
            validation_released=self._restored(auxiliary.validation_released),
        )
        self._metric.fit(undone, seed=seed)
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): cosine of the whitened histograms."""
        return self._metric.score(self._map.restored(unit_float(probes)), self._small(gallery))

    def _small(self, images: Tensor) -> Tensor:
        return averaged(unit_float(images), self.options.side)

    def _seen(self, images: ImageSet) -> ImageSet:
        return ImageSet(self._small(images.images), images.owners)

    def _restored(self, images: ImageSet) -> ImageSet:
        return ImageSet(self._map.restored(unit_float(images.images)), images.owners)
