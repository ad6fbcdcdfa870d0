"""A fresh attacker: how well would somebody link who learns from what is released now?

It learns in seconds, each time anew, from released beside real images of training patients, and is
measured on validation patients, released probe against real gallery. Gradient histograms (Dalal and
Triggs 2005) are reduced by principal components and whitened by what varies within patients
(within-class covariance normalization, Hatch et al. 2006): a closed form, so that its AUC moves
with the release and not with luck in training. `attacks evaluate` has it with all it can do, as
``histogram-metric``, and stronger attackers than this: what it cannot link, they may.
"""

from functools import cached_property

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from anonymize.auc import plain_auc
from anonymize.data.batches import Images, in_batches
from anonymize.data.pairs import Pairs
from anonymize.networks.gradients import histograms
from anonymize.seeds import derive_seed
from anonymize.trained import Generator
from anonymize.training.stages import Paired
from anonymize.whitening import scatter, whitening

BATCH = 32
CELLS = (8, 12)  # along a side
COMPONENTS = 400
SHRINKAGE = 0.2  # of the scatter towards a multiple of the identity
POWER = 2  # iterations of the randomized decomposition: trailing components need not be exact


class Released:
    """The images of a data set through a generator, made when they are asked for; not rounded."""

    def __init__(self, generator: Generator, images: Images, device: torch.device) -> None:
        self.generator, self.images, self.device = generator, images, device

    def __len__(self) -> int:
        return len(self.images)

    @torch.no_grad()
    def batch(self, rows: np.ndarray) -> Tensor:
        """float32 (n, 1, H, W) in [0, 1] of the rows, on the device."""
        return self.generator(self.images.batch(rows).to(self.device))


class FreshAttacker:
    """Measures releases of the same patients, one after the other.

    ``targets`` are float32 (images, labels), NaN where unknown; images compared have the same. It
    learns from ``most`` images, and is measured on as many: of patients drawn among those with a
    genuine pair.
    """

    def __init__(
        self, data: Paired, targets: np.ndarray, *, most: int, device: torch.device
    ) -> None:
        seed = derive_seed("fresh attacker")
        self.real, self.device = data.second, device
        self.rows = of_several(data.pairs(seed), data.patients, most=most, seed=seed)
        self.probes = of_several(data.validation, data.patients, most=most, seed=seed)
        self.patients = data.patients[self.rows]
        self.genuine, self.counted = comparisons(data.patients[self.probes], targets[self.probes])

    @property
    def measurable(self) -> bool:
        """Whether there are patients to learn from, matched pairs of both kinds."""
        impostors = self.counted & ~self.genuine
        return len(self.rows) > 1 and bool(self.genuine.any() and impostors.any())

    def auc(self, released: Images) -> float:
        """AUC (0.5 is chance) of released probes against real images, pairs matched."""
        real, gallery = self._known
        learnt, asked = self._describe(released, self.rows), self._describe(released, self.probes)
        centres = real.mean(axis=0), learnt.mean(axis=0)
        shown = np.concatenate([real - centres[0], learnt - centres[1]])
        basis = PCA(
            min(COMPONENTS, len(real) - 1),
            svd_solver="randomized",
            iterated_power=POWER,
            random_state=0,
        ).fit(shown)
        within = scatter(basis.transform(shown), np.tile(self.patients, 2))
        axes = basis.components_.T @ whitening(within, SHRINKAGE)
        scores = _unit((asked - centres[1]) @ axes) @ _unit((gallery - centres[0]) @ axes).T
        return plain_auc(scores[self.counted], self.genuine[self.counted])

    @cached_property
    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """Histograms of the real images that it learns from, and of the gallery."""
        return self._describe(self.real, self.rows), self._describe(self.real, self.probes)

    def _describe(self, images: Images, rows: np.ndarray) -> np.ndarray:
        parts = (images.batch(batch).to(self.device) for batch in in_batches(rows, BATCH))
        return torch.cat([histograms(part, *CELLS).cpu() for part in parts]).numpy()


def of_several(pairs: Pairs, patients: np.ndarray, *, most: int, seed: int) -> np.ndarray:
    """Rows in genuine pairs, in order; of patients (their codes are (images,)) drawn until there
    would be more than ``most``."""
    rows = np.unique([pairs.first[pairs.same], pairs.second[pairs.same]])
    codes, owner = np.unique(patients[rows], return_inverse=True)
    turn = np.random.default_rng(seed).permutation(len(codes))[owner]
    drawn = np.cumsum(np.bincount(turn, minlength=len(codes))) <= most
    return rows[drawn[turn]] if len(rows) else rows


def comparisons(patients: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bool (n, n) each: which comparisons are genuine, and which count, genuine or not: those of
    two images with the same ``targets`` (n, labels); unknown (NaN) equals unknown."""
    known = np.nan_to_num(targets, nan=-1)
    alike = (known[:, None] == known[None]).all(axis=2)
    np.fill_diagonal(alike, False)
    return alike & (patients[:, None] == patients), alike


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
