"""Mosaics put together again: what patches of one person in many images tell when they are joined.

`baselines.mosaic` shows m patches of a patient, each in other company. This attacker looks for them
in all probes at once. It finds the grid; takes patches that several outputs show for one, so that
what they pass into falls out of their mean; and asks of every two patches at different places
whether they go together (`attacks.training.affinity`): edges that go on, an outline, a way to lie.
What the mates of a patch say of a gallery image then counts for the patch (`attacks.training.
assembly`). All of it stands beside the windows by themselves, `patchwise`, and is left out where it
does not help on the validation part.

A score depends on the whole set of probes: patches are looked for in all of them.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.patchwise import Patchwise, PatchwiseOptions
from attacks.measuring.similarity import FEW, check_sets
from attacks.training.affinity import Affinity
from attacks.training.assembly import Puzzle
from attacks.training.outputs import Outputs, distinct, each_once
from attacks.training.patches import (
    UNLIKE,
    copies,
    grid_of,
    insides,
    likeness_of_copies,
    patch_levels,
    standing,
)
from attacks.training.pooling import POOLINGS

GAIN = 0.01  # AUC that putting together must bring
TINY = 1e-9  # deviation below which scores are all one


class JigsawOptions(PatchwiseOptions):
    """The attacker ``jigsaw``: windows as of ``patchwise``, and the patches of the grid."""

    grids: tuple[int, ...] = Field(
        (2, 3, 4, 5, 6), description="patches along a side; the one that pairs show is taken"
    )
    levels: int = Field(
        30, ge=1, description="principal components of a patch's gray levels that affinity sees"
    )
    mates: tuple[float, ...] = Field(
        (0.1, 0.3, 0.9),
        description="share of the other places at which a person has a patch, too; the best on "
        "validation is taken, or none",
    )

    @model_validator(mode="after")
    def _puzzles(self) -> Self:
        if not self.grids or min(self.grids) < 2 or max(self.grids) > self.cells // 2:
            raise ValueError(
                f"grids must be 2 to {self.cells // 2} (patches of two cells), got {self.grids}"
            )
        if not all(0 < share < 1 for share in self.mates):
            raise ValueError(f"mates must lie in (0, 1), got {self.mates}")
        return self


@dataclass(frozen=True)
class Way:
    """How patches come together.

    Attributes:
        share: of the places at which mates are expected; 0: copies alone are joined.
        pooling: of the places.
        alone, joined: deviation of the scores of windows, and of what is added to them.
    """

    share: float
    pooling: str
    alone: float
    joined: float


class Jigsaw(Patchwise):
    """Windows by themselves, and what their mates in other images add.

    Attributes:
        grid: patches along a side.
        affinity: says how well pairs of patches are told, by ``affinity.worth``.
        way: how patches come together; None: they do not, and windows score by themselves.
    """

    name = "jigsaw"
    Options = JigsawOptions
    what = "windows, and the patches of one person put together; metrics"

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the windows, the grid and what goes together; whether to put together is chosen
        on the validation part."""
        super().fit(auxiliary, seed=seed)
        informed = self.knowledge == "informed"
        real = each_once(auxiliary.real)
        real = real[np.arange(len(real))[: self.options.most]]
        probes, gallery = Outputs.to_choose_by(auxiliary, informed=informed)
        shown = self._patches(probes.images)
        self.likeness = UNLIKE
        if informed:
            known = Outputs.of(auxiliary.released)
            stands = standing(self._of(known), real, self.grid)
            self.likeness = likeness_of_copies(insides(self._patches(known.images)), stands)
            stands = standing(self._of(probes), gallery, self.grid)
        else:
            stands = np.repeat(np.arange(len(shown))[:, None], shown.shape[1], axis=1)
        owners = gallery.owners
        whose = np.where((stands >= 0) & owners.identified[stands], owners.patient[stands], -1)
        taught = Affinity.taught(
            patch_levels(real.images, self.grid), components=self.options.levels
        )
        self.affinity = taught.judged(shown, whose)
        self._decide(probes, gallery)
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): the score of `patchwise`, and what patches say together; deviations."""
        check_sets(probes, gallery)
        alone = super().score(probes, gallery)
        if self.way is None:
            return alone
        first, number = distinct(probes)
        puzzle, ratios = self._puzzle(probes[first], gallery)
        added = self._added(puzzle.assembled(ratios, self.way.share), self.way.pooling)
        return alone / self.way.alone + added[number] / self.way.joined

    def _decide(self, probes: Outputs, gallery: ImageSet) -> None:
        """The way with the best AUC on the validation part, where one is clearly better than none;
        judged as `patchwise` judges its windows."""
        alone = super().score(probes.images, gallery.images)
        puzzle, ratios = self._puzzle(probes.images, gallery.images)

        def told(scores: np.ndarray) -> float:
            owners = gallery.owners
            return probes.link_auc(scores, owners) + probes.origin_auc(scores, owners)

        best, self.way = told(alone) + GAIN, None
        for share in (0.0, *self.options.mates):
            joined = puzzle.assembled(ratios, share)
            for pooling in self.options.pooling:
                added = self._added(joined, pooling)
                way = Way(share, pooling, *(max(float(s.std()), TINY) for s in (alone, added)))
                found = told(alone / way.alone + added / way.joined)
                if found > best:
                    best, self.way = found, way

    def _puzzle(self, probes: Tensor, gallery: Tensor) -> tuple[Puzzle, np.ndarray]:
        """The patches of distinct probes (U, 1, H, W), and the likelihood ratios (g², U, G) of
        each, copies taken together."""
        patches = self._patches(probes)
        label = copies(insides(patches), self.likeness)
        puzzle = Puzzle(label, self.affinity, self.affinity.reduced(patches))
        asked, known = self._maps(self._restored(probes)), self._gallery(gallery)
        cosines = (
            self._windows[window].cosine(puzzle.averaged(asked, place), known, self._reach)
            for place, window in enumerate(self._places)
        )
        return puzzle, np.stack([*self._ratios(cosines, self._places)])

    def _added(self, ratios: np.ndarray, pooling: str) -> np.ndarray:
        """float32 (U, G) of ratios (g², U, G). What a gallery image has in common with all outputs
        says nothing of either, so the median over outputs is 0."""
        found = self._together(ratios, self._places, POOLINGS[pooling])
        return found if len(found) < FEW else found - np.median(found, axis=0)

    def _parts(self, probes: Outputs, after: Tensor, before: Tensor) -> tuple[int, ...]:
        """The grids of `patchwise`, and that of the mosaics: who knows no released image takes the
        first of them for it."""
        o = self.options
        largest = min(o.cells, *before.shape[-2:]) // 2
        self.grid = max(o.parts[0], 2)
        if self.knowledge == "informed":
            grids = [g for g in o.grids if g <= largest] or [self.grid]
            self.grid = grid_of(self._restored(after), before, grids)
        parts = tuple(dict.fromkeys((*o.parts, self.grid)))
        across = 2 * self.grid - 1  # windows along a side, every half patch
        start = sum((2 * n - 1) ** 2 for n in parts[: parts.index(self.grid)])
        whole = 2 * np.arange(self.grid)
        self._places = (start + across * whole[:, None] + whole).ravel()
        return parts

    def _patches(self, images: Tensor) -> np.ndarray:
        return patch_levels(self._restored(images), self.grid)

    def _of(self, outputs: Outputs) -> Outputs:
        """Outputs as the attacker sees them."""
        return replace(outputs, images=self._restored(outputs.images))
