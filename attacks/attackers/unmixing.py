"""A mean of several people, taken apart: which images of the gallery is a probe made of?

Gray levels at several scales are linear in the pixels, so those of a mean are the mean of those.
They are compared by a metric that patients teach, and that knows that others are in the way; and a
probe is explained as a sum of few gallery images with shares that are not negative (linear spectral
unmixing, Keshava and Mustard 2002). The share finds the very image that went in, the correlation
other images of the same patient.

Who has pairs of a real image and its release first undoes what was done alike to all images
(`attacks.attackers.pixel_map`), where that links better on the validation part.
"""

from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from anonymize.data.batches import augmentation
from anonymize.section import Options
from anonymize.seeds import derive_seed
from attacks.attacker import Auxiliary, Remembered, unit_float
from attacks.attackers.pair_learner import PairLearner
from attacks.attackers.pixel_map import PixelMap, seen
from attacks.measuring.similarity import check_sets
from attacks.training.mixtures import Spread, directions, gray, shares
from attacks.training.outputs import Outputs, distinct


class UnmixingOptions(Options):
    """The attacker ``unmixing``: a probe as a sum of gallery images."""

    sides: tuple[int, ...] = Field(
        (16, 32),
        description="pixels along a side of what is compared, ascending; each alone, and all of "
        "them as a pyramid; the best on validation is taken",
    )
    components: int = Field(400, ge=2, description="principal components, at most")
    shrinkage: tuple[float, ...] = Field(
        (0.1, 0.3), description="of the scatter towards a multiple of the identity, likewise"
    )
    people: tuple[float, ...] = Field(
        (0, 1, 2, 5, 100),
        description="how many people the metric takes a probe to be made of, likewise; 0: their "
        "number has no part in it",
    )
    sparsity: tuple[float, ...] = Field(
        (0.03, 0.1, 0.3),
        description="penalty on shares; the one on validation that finds best what went in",
    )
    committee: int = Field(
        8, ge=1, description="candidates whose correlations are averaged, the best on validation"
    )
    undo: int = Field(
        48, ge=0, description="side of images in which a map of pixels is undone; 0: none is"
    )
    most: int = Field(6000, ge=2, description="training images, drawn where there are more")

    @model_validator(mode="after")
    def _candidates(self) -> Self:
        if not (self.sides and self.shrinkage and self.people and self.sparsity):
            raise ValueError("sides, shrinkage, people and sparsity need one value or more each")
        if min(self.sides) < 2 or list(self.sides) != sorted(set(self.sides)):
            raise ValueError(f"sides must be ascending, 2 or more, got {self.sides}")
        if not all(0 < s <= 1 for s in self.shrinkage):
            raise ValueError("shrinkage must lie in (0, 1]")
        if not all(n == 0 or n >= 1 for n in self.people):
            raise ValueError(f"people must be 0, or 1 or more, got {self.people}")
        if not all(0 < s < 1 for s in self.sparsity):
            raise ValueError("sparsity must lie in (0, 1): 1 leaves no share of anything")
        return self

    @property
    def views(self) -> list[tuple[int, ...]]:
        """Sides of what is looked at, candidate by candidate."""
        alone: list[tuple[int, ...]] = [(side,) for side in self.sides]
        return [*alone, self.sides] if len(self.sides) > 1 else alone


@dataclass(frozen=True)
class _Way:
    """One way to look at probes and gallery.

    Attributes:
        sides: of the gray levels.
        metric: (D, C).
        undone: what gives probes back; None: they are looked at as they are.
    """

    sides: tuple[int, ...]
    metric: np.ndarray
    undone: PixelMap | None


class Unmixing(PairLearner):
    """Correlation of whitened gray levels, and the share that a gallery image has in a probe."""

    name = "unmixing"
    Options = UnmixingOptions
    what = "shares of gallery images in a probe; a metric of gray levels"

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the metric; the candidates are compared on the validation part."""
        rng = np.random.default_rng(derive_seed(seed, self.name))
        torch.manual_seed(int(rng.integers(2**31)))
        informed = self.knowledge == "informed"
        first, _ = distinct(auxiliary.real.images)
        rows = np.sort(rng.permutation(first)[: self.options.most])
        real = auxiliary.real[rows]
        probes, gallery = Outputs.to_choose_by(auxiliary, informed=informed)
        ways: list[PixelMap | None] = [None]
        if informed and self.options.undo:
            after = auxiliary.released[rows].images
            ways.append(PixelMap.small(after, real.images, self.options.undo))
        changed = torch.cat([augmentation()(unit_float(b)) for b in real.images.split(256)])
        found: list[tuple[float, _Way]] = []
        for sides in self.options.views:
            whole, copies = (gray(images, sides) for images in (real.images, changed))
            spread = Spread.of(whole, copies, real.owners, components=self.options.components)
            known = gray(gallery.images, sides)
            for undone in ways:
                asked = gray(seen(probes.images, undone), sides)
                for shrinkage, people in product(self.options.shrinkage, self.options.people):
                    metric = spread.metric(shrinkage=shrinkage, people=people)
                    a, k = directions(asked, known, metric)
                    auc = probes.link_auc(a @ k.T, gallery.owners)
                    found.append((auc, _Way(sides, metric, undone)))
        found.sort(key=lambda one: -one[0])
        self._ways = [way for _, way in found[: self.options.committee]]
        self._gallery = Remembered(
            lambda images: {s: gray(images, s) for s in {way.sides for way in self._ways}}
        )
        self._sparsity = max(
            self.options.sparsity,
            key=lambda s: probes.origin_auc(
                self._scores(probes.images, gallery.images, s), gallery.owners
            ),
        )
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): mean cosine in the metrics, plus the share."""
        check_sets(probes, gallery)
        first, number = distinct(probes)
        return self._scores(probes[first], gallery, self._sparsity)[number]

    def _scores(self, probes: Tensor, gallery: Tensor, sparsity: float) -> np.ndarray:
        """Shares are those of the first of the committee."""
        known = self._gallery(gallery)
        pairs = []
        for way in self._ways:
            asked = gray(seen(probes, way.undone), way.sides)
            pairs.append(directions(asked, known[way.sides], way.metric))
        alike = np.mean([a @ k.T for a, k in pairs], axis=0)
        return alike + shares(*pairs[0], sparsity=sparsity)
