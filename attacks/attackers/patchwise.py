"""Patches of several people in one image: the windows of a probe, each compared by itself.

Every window is compared with the same place of a gallery image, and a little around it, by a metric
of its own that patients teach (`attacks.training.windows`). How far genuine pairs lie above
impostors there is measured on the validation part, so background counts little. Windows come
together not by their mean alone: where one window in many is of a person, the likelihood of the
pair is that of a mixture (as in multiple instance learning, Dietterich et al. 1997), and its soft
maximum over windows tells more.

Who has pairs of a real image and its release learns from them, too, in how many of them a window
shows what it showed, and how clearly; and undoes what was done alike to all images
(`attacks.attackers.pixel_map`) where that helps on the validation part.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from anonymize.data.batches import augmentation
from anonymize.networks.gradients import histograms
from anonymize.section import Options
from anonymize.seeds import derive_seed
from attacks.attacker import Auxiliary, ImageSet, Remembered, unit_batches
from attacks.attackers.pair_learner import PairLearner
from attacks.attackers.pixel_map import PixelMap, seen, small
from attacks.measuring.metrics import Owners, slices
from attacks.measuring.similarity import check_sets, similarity
from attacks.training.outputs import Outputs, distinct, each_once
from attacks.training.pooling import POOLINGS, Pooling
from attacks.training.window_weights import of_pairs, of_patients
from attacks.training.windows import Window, cell_maps, grid

CPU = torch.device("cpu")
BLOCK = 1 << 26  # scores of a window held at a time
MARGIN = 0.01  # AUC by which a map must be better
LOOKED_AT = 8  # cells of the histograms that tell whether a map is better


class PatchwiseOptions(Options):
    """The attacker ``patchwise``: windows that each may be of another person."""

    cells: int = Field(24, ge=6, le=128, description="cells along a side")
    parts: tuple[int, ...] = Field(
        (4, 3, 2),
        description="windows of 1/n of a side, every half window; each grid, and all of them "
        "together; the best on validation is taken",
    )
    reach: tuple[int, ...] = Field(
        (0, 1),
        description="cells that a window may lie beside its place; the one by which patients of "
        "the validation part are farther apart is taken",
    )
    components: int = Field(100, ge=2, description="principal components of a window, at most")
    shrinkage: float = Field(
        0.1, gt=0, le=1, description="of the scatter towards a multiple of the identity"
    )
    pooling: tuple[Literal["mean", "soft", "likelihood", "sharp", "max", "top"], ...] = Field(
        ("mean", "soft", "likelihood", "sharp", "max", "top"),
        description="of the windows: their mean, the likelihood of a mixture at several powers, "
        "the best window, the mean of the best three; the best on validation is taken",
    )
    copies: int = Field(1, ge=0, description="changed copies of each training image")
    pairs: int = Field(
        1500, ge=2, description="training pairs of a real and a released image, drawn likewise"
    )
    undo: int = Field(
        64, ge=0, description="side of images in which a map of pixels is undone; 0: none is"
    )
    most: int = Field(4000, ge=2, description="training images, drawn where there are more")

    @model_validator(mode="after")
    def _candidates(self) -> Self:
        if not (self.parts and self.reach and self.pooling):
            raise ValueError("parts, reach and pooling need one value or more each")
        if min(self.parts) < 1 or max(self.parts) > self.cells // 2:
            raise ValueError(
                f"parts must be 1 to {self.cells // 2} (windows of two cells), got {self.parts}"
            )
        if min(self.reach) < 0:
            raise ValueError("reach must be 0 or more")
        return self


class Patchwise(PairLearner):
    """Likelihood ratios of windows, brought together as the validation part says."""

    name = "patchwise"
    Options = PatchwiseOptions
    what = "windows that each may be of another person; metrics"

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the windows; the candidates are compared on the validation part."""
        rng = np.random.default_rng(derive_seed(seed, self.name))
        torch.manual_seed(int(rng.integers(2**31)))
        informed, o = self.knowledge == "informed", self.options
        pairs = np.sort(rng.permutation(len(auxiliary.real))[: o.pairs])
        real = each_once(auxiliary.real)
        real = real[np.sort(rng.permutation(len(real))[: o.most])]
        probes, gallery = Outputs.to_choose_by(auxiliary, informed=informed)
        before, after = (kind[pairs].images for kind in (auxiliary.real, auxiliary.released))
        self._undone = self._map(after, before, probes, gallery) if informed and o.undo else None

        self._windows = self._taught(real, self._parts(probes, after, before))
        self._gallery = Remembered(self._maps)
        known = self._maps(gallery.images)
        found = [of_patients(self._windows, known, gallery.owners, reach) for reach in o.reach]
        best = int(np.argmax([weights.apart.mean() for weights in found]))
        self._reach, weights = o.reach[best], found[best]
        if informed:
            both = self._maps(self._restored(after)), self._maps(before)
            owners = auxiliary.real.owners[pairs]
            weights = of_pairs(weights, self._windows, both, owners, reach=self._reach, rng=rng)
        self._weights = weights
        self._choose(self._maps(self._restored(probes.images)), known, probes, gallery.owners)
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): a log-likelihood ratio, up to a constant."""
        check_sets(probes, gallery)
        first, number = distinct(probes)
        asked, known = self._maps(self._restored(probes[first])), self._gallery(gallery)
        found = np.empty((len(first), len(gallery)), np.float32)
        for rows in slices(len(first), max(1, BLOCK // len(gallery))):
            windows = [self._windows[w] for w in self._used]
            cosines = (window.cosine(asked[rows], known, self._reach) for window in windows)
            found[rows] = self._together(
                self._ratios(cosines, self._used), self._used, self._pooling
            )
        return found[number]

    def _ratios(self, cosines: Iterable[np.ndarray], windows: np.ndarray) -> Iterator[np.ndarray]:
        """Log-likelihood ratios (P, G) by the scores (P, G) of some windows."""
        for window, cosine in zip(windows, cosines, strict=True):
            yield self._weights.likelihood(cosine, window)

    def _together(
        self, ratios: Iterable[np.ndarray], windows: np.ndarray, pooling: Pooling
    ) -> np.ndarray:
        """float32 (P, G) of the ratios (P, G) of some windows."""
        total = None
        for window, ratio in zip(windows, ratios, strict=True):
            start = pooling.start(ratio.shape) if total is None else total
            total = pooling.add(start, ratio, self._weights.share[window])
        assert total is not None  # a grid has a window
        return pooling.end(total)

    def _parts(self, probes: Outputs, after: Tensor, before: Tensor) -> tuple[int, ...]:
        """The grids; ``after`` is what became of ``before``, images (N, 1, H, W)."""
        return self.options.parts

    def _taught(self, real: ImageSet, parts: tuple[int, ...]) -> list[Window]:
        """The windows of every grid."""
        o = self.options
        maps = [self._maps(real.images)]
        for _ in range(o.copies):
            changed = [augmentation()(batch) for batch in unit_batches(real.images, 256, CPU)]
            maps.append(self._maps(torch.cat(changed)))
        count = maps[0].shape[-1]
        self._grids = [grid(count, n) for n in parts]
        return [
            Window.taught(place, maps, real.owners, components=o.components, shrinkage=o.shrinkage)
            for places in self._grids
            for place in places
        ]

    def _choose(self, asked: Tensor, known: Tensor, probes: Outputs, gallery: Owners) -> None:
        """The windows and the pooling with the best AUC on the validation part, of images of the
        same patients and of those that went into the probes."""
        scores = [window.cosine(asked, known, self._reach) for window in self._windows]
        ends = np.cumsum([len(places) for places in self._grids])
        sets = np.split(np.arange(ends[-1]), ends[:-1])
        sets += [np.arange(ends[-1])] if len(sets) > 1 else []
        found = []
        for used in sets:
            for name in self.options.pooling:
                ratios = self._ratios((scores[w] for w in used), used)
                pooled = self._together(ratios, used, POOLINGS[name])
                auc = probes.link_auc(pooled, gallery) + probes.origin_auc(pooled, gallery)
                found.append((auc, used, name))
        _, self._used, chosen = max(found, key=lambda one: one[0])
        self._pooling = POOLINGS[chosen]

    def _map(
        self, after: Tensor, before: Tensor, probes: Outputs, gallery: ImageSet
    ) -> PixelMap | None:
        """A map that helps plain histograms to tell what became of what; None where none does."""
        found = PixelMap.small(after, before, self.options.undo)

        def told(undone: PixelMap | None) -> float:
            kinds = (seen(probes.images, undone), small(gallery.images, undone))
            asked, known = (_histograms(images) for images in kinds)
            scores = similarity(asked, known, "cosine")
            return sum(f(scores, gallery.owners) for f in (probes.link_auc, probes.origin_auc)) / 2

        return found if told(found) > told(None) + MARGIN else None

    def _restored(self, images: Tensor) -> Tensor:
        return seen(images, self._undone)

    def _maps(self, images: Tensor) -> Tensor:
        return cell_maps(small(images, self._undone), self.options.cells)


def _histograms(images: Tensor) -> np.ndarray:
    parts = [histograms(batch, LOOKED_AT) for batch in unit_batches(images, 64, CPU)]
    return torch.cat(parts).numpy()
