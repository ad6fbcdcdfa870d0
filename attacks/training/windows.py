"""Windows of an image, each described and compared by a metric of its own.

A window is a square of cells at a place; it is described by gradient histograms at two scales
(Dalal and Triggs 2005) beside its gray levels, each without its mean and of length 1, so that no
gain of gray levels changes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.networks.gradients import ORIENTATIONS, pooled_orientations
from anonymize.whitening import whitening
from attacks.attacker import unit_batches
from attacks.measuring.metrics import Owners
from attacks.measuring.similarity import centred, unit
from attacks.networks.resolution import averaged
from attacks.training.whitening import of_copies, of_patients

BATCH = 64
BINS = (3, 6)  # histograms along a side of a window, scale by scale
LEVELS = 6  # gray levels along a side of a window
SHARE_OF_GRAY = 0.5  # its length, that of a scale of histograms being 1
STEADY = 1e-4  # length below which gray levels are not scaled up


@dataclass(frozen=True)
class Place:
    """Where a window lies: row and column of its upper left cell, and cells along its side."""

    row: int
    column: int
    side: int


def grid(cells: int, parts: int) -> list[Place]:
    """Windows of 1 / ``parts`` of the side of ``cells``, every half window."""
    side = max(cells // parts, 1)
    starts = np.unique(np.linspace(0, cells - side, 2 * parts - 1).round().astype(int))
    return [Place(int(r), int(c), side) for r, c in product(starts, starts)]


def cell_maps(images: Tensor, cells: int) -> Tensor:
    """Orientations and gray level (N, 10, c, c) of c = ``cells`` cells along a side, or as many as
    images (N, 1, H, W) have pixels."""
    count = min(cells, *images.shape[-2:])
    found = []
    for batch in unit_batches(images, BATCH, torch.device("cpu")):
        (oriented,) = pooled_orientations(batch, count)
        found.append(torch.cat([oriented, averaged(batch, count)], dim=1))
    return torch.cat(found)


def described(maps: Tensor, place: Place, shift: tuple[int, int] = (0, 0)) -> np.ndarray:
    """float32 (N, D) of the window at a place, or some cells down and right of it, as far as
    maps (N, 10, c, c) go."""
    last = maps.shape[-1] - place.side
    top, left = (
        min(max(at + by, 0), last) for at, by in zip((place.row, place.column), shift, strict=True)
    )
    window = maps[:, :, top : top + place.side, left : left + place.side]
    parts = []
    for bins in dict.fromkeys(min(n, place.side) for n in BINS):
        bars = F.adaptive_avg_pool2d(window[:, :ORIENTATIONS], bins).flatten(1)
        bars = F.normalize(bars, dim=1).sqrt()
        parts.append(F.normalize(bars - bars.mean(dim=1, keepdim=True), dim=1))
    levels = averaged(window[:, ORIENTATIONS:], LEVELS).flatten(1)
    levels = levels - levels.mean(dim=1, keepdim=True)
    parts.append(SHARE_OF_GRAY * F.normalize(levels, dim=1, eps=STEADY))
    return torch.cat(parts, dim=1).numpy()


@dataclass(frozen=True)
class Window:
    """A place, and the map (D, C) of its descriptions whose cosine is taken."""

    place: Place
    metric: np.ndarray

    @classmethod
    def taught(
        cls,
        place: Place,
        maps: Sequence[Tensor],
        owners: Owners,
        *,
        components: int,
        shrinkage: float,
    ) -> Self:
        """Whitened by what varies within patients, and between images and their changed copies.

        Args:
            maps: of the images (N,), and of changed copies of each.
            owners: of the images.

        Raises:
            DataError: no patient of several images.
        """
        whole = [described(kind, place) for kind in maps]
        mean = whole[0].mean(axis=0)
        gram = (whole[0] - mean).T @ (whole[0] - mean)
        axes = np.linalg.eigh(gram)[1][:, ::-1][:, : min(components, len(whole[0]) - 1)]
        reduced = [(kind - mean) @ axes for kind in whole]
        within = of_patients(reduced[0], owners)
        if len(reduced) > 1:
            within = within + of_copies(reduced)
        return cls(place, (axes @ whitening(within, shrinkage)).astype(np.float32))

    def cosine(self, asked: Tensor, known: Tensor, reach: int) -> np.ndarray:
        """float32 (P, G) of maps (P, 10, c, c) and (G, 10, c, c): the highest with the window of
        the second up to ``reach`` cells away."""
        return self._highest(asked, known, reach, lambda a, k: a @ k.T)

    def of_rows(self, asked: Tensor, known: Tensor, orders: np.ndarray, reach: int) -> np.ndarray:
        """float32 (K, N), the same of each row of maps (N, 10, c, c) and, for each of ``orders``
        (K, N), the row of the others that it names."""
        return self._highest(
            asked, known, reach, lambda a, k: np.stack([(a * k[o]).sum(axis=1) for o in orders])
        )

    def _highest(
        self,
        asked: Tensor,
        known: Tensor,
        reach: int,
        compare: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        own, best = described(asked, self.place), None
        around = range(-reach, reach + 1)
        for shift in product(around, around):
            probes, gallery = centred(own, described(known, self.place, shift))
            found = compare(unit(probes @ self.metric), unit(gallery @ self.metric))
            best = found if best is None else np.maximum(best, found, out=best)
        assert best is not None  # a shift of nothing is one
        return best
