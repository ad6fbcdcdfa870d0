"""What a mean of several images tells of each of them: descriptions that are linear in the pixels,
a metric for them, and the shares of the images that a mean is made of."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.decomposition import PCA
from torch import Tensor

from anonymize.data.batches import in_batches
from anonymize.whitening import whitening
from attacks.attacker import unit_batches
from attacks.measuring.metrics import Owners
from attacks.measuring.similarity import centred, unit
from attacks.networks.resolution import averaged
from attacks.training.whitening import of_copies, of_patients

BATCH = 256
NEAREST = 200  # gallery images that a probe may be made of
ROUNDS = 200  # of the search for shares
AT_ONCE = 64  # probes
POWER = 2  # iterations of the randomized decomposition: trailing components need not be exact


def gray(images: Tensor, sides: tuple[int, ...]) -> np.ndarray:
    """Gray levels float32 (N, D) of images (N, 1, H, W), averaged to the first of ``sides``, and
    for each further one what the one before it lacks (Burt and Adelson 1983); linear in them."""
    return np.concatenate(
        [_pyramid(batch, sides) for batch in unit_batches(images, BATCH, torch.device("cpu"))]
    )


def _pyramid(images: Tensor, sides: tuple[int, ...]) -> np.ndarray:
    coarse = averaged(images, sides[0])
    levels = [coarse]
    for side in sides[1:]:
        fine = averaged(images, side)
        levels.append(fine - F.interpolate(coarse, fine.shape[-2:], mode="bilinear"))
        coarse = fine
    return torch.cat([level.flatten(1) for level in levels], dim=1).numpy()


@dataclass(frozen=True)
class Spread:
    """What varies among descriptions, in their principal components.

    Attributes:
        axes: (D, C), of the components.
        within: (C, C), covariance within patients, and between changed copies of an image.
        between: (C, C), covariance of the patients.
    """

    axes: np.ndarray
    within: np.ndarray
    between: np.ndarray

    @classmethod
    def of(
        cls, described: np.ndarray, copies: np.ndarray, owners: Owners, *, components: int
    ) -> Self:
        """Of descriptions (N, D) and those of a changed copy of each. Raises DataError: no patient
        of several images."""
        mean = described.mean(axis=0)
        basis = PCA(
            min(components, len(described) - 1, described.shape[1]),
            svd_solver="randomized",
            iterated_power=POWER,
            random_state=0,
        ).fit(described)
        axes = basis.components_.T
        whole, changed = (described - mean) @ axes, (copies - mean) @ axes
        within = of_patients(whole, owners)
        between = np.cov(whole.T) - within
        return cls(axes, within + of_copies([whole, changed]), np.atleast_2d(between))

    def metric(self, *, shrinkage: float, people: float) -> np.ndarray:
        """(D, C) that descriptions are mapped with before their cosine is taken.

        A mean of n images and one image of a patient who is in it are jointly Gaussian. In the
        directions in which the scatter within patients is 1 and that of patients λ, the part of
        their log-likelihood ratio that is of both weighs a direction by λ / ((1 + λ)² − λ² / n):
        where patients differ most, the others of the mean are most in the way (two-covariance
        model, Brümmer and de Villiers 2010, for a mean). 0 ``people``: no weights.
        """
        white = whitening(self.within, shrinkage)
        of_patients = white.T @ self.between @ white
        between, turn = np.linalg.eigh((of_patients + of_patients.T) / 2)
        between = between.clip(min=0)
        weight = np.ones_like(between)
        if people:
            weight = between / ((1 + between) ** 2 - between**2 / people)
        return (self.axes @ white @ turn * np.sqrt(weight)).astype(np.float32)


def shares(
    asked: np.ndarray, known: np.ndarray, *, sparsity: float, nearest: int = NEAREST
) -> np.ndarray:
    """float32 (P, G): how much of each of the vectors (G, D) is in each of (P, D), all of length 1.

    Non-negative least squares with a penalty ``sparsity`` on the sum of the shares (Lawson and
    Hanson 1974; Tibshirani 1996), by projected gradients with momentum (Beck and Teboulle 2009),
    among the ``nearest`` vectors of each; what is farther has no share.
    """
    found = np.zeros((len(asked), len(known)), np.float32)
    vectors = torch.from_numpy(known)
    for rows in in_batches(np.arange(len(asked)), AT_ONCE):
        cosine = torch.from_numpy(asked[rows]) @ vectors.T
        met, which = cosine.topk(min(nearest, len(known)), dim=1)
        near = vectors[which]  # (B, nearest, D)
        found[rows[:, None], which.numpy()] = _solved(near @ near.mT, met - sparsity).numpy()
    return found


def _solved(gram: Tensor, met: Tensor) -> Tensor:
    """The s ≥ 0 (B, n) that make ½ sᵀ G s − mᵀ s least, of G (B, n, n) and m (B, n)."""
    steepest = gram.abs().sum(dim=2).amax(dim=1, keepdim=True).clamp(min=1e-6)
    found = ahead = torch.zeros_like(met)
    pace = 1.0
    for _ in range(ROUNDS):
        slope = (gram @ ahead[:, :, None])[..., 0] - met
        step = (ahead - slope / steepest).clamp(min=0)
        faster = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead, found = step + (pace - 1) / faster * (step - found), step
        pace = faster
    return found


def directions(
    probes: np.ndarray, gallery: np.ndarray, metric: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Descriptions (P, D) and (G, D), each set around its mean, as vectors of length 1."""
    asked, known = centred(probes, gallery)
    return unit(asked @ metric), unit(known @ metric)
