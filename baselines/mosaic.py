"""A mosaic: every patch of an image is of another patient."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from kornia.filters import gaussian_blur2d
from pydantic import Field, model_validator
from torch import Tensor

from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs, SetRelease
from baselines.set_method import SetMethod, SetOptions

FINE = 1 / 64  # of the side: standard deviation of the filter that tells fine structure from coarse
REACH = 4  # standard deviations to each side
ROUNDS = 20  # of exchanging patches until nobody stands twice in a mosaic


class MosaicOptions(SetOptions):
    """How much of whom is shown."""

    g: int = Field(4, ge=2, le=16, description="patches along a side")
    m: int = Field(
        4, ge=1, description="patches of a patient in the whole release, at most; g² is an image"
    )
    uses: int = Field(1, ge=1, le=100, description="mosaics that show each patch")
    feather: float = Field(
        0.5, ge=0, le=1, description="part of a patch over which it passes into its neighbour"
    )

    @model_validator(mode="after")
    def _share(self) -> MosaicOptions:
        if self.m > self.g**2:
            raise ValueError(f"m must be at most g² = {self.g**2}, got {self.m}")
        return self


class Mosaic(SetMethod):
    """An image of g × g patches, each of another patient of one utility code, at the place where it
    was; they pass into each other, and gray levels, sharpness and noise are made equal.

    A patient is shown in ``m`` different patches over the whole release, of images drawn by lot,
    each in ``uses`` mosaics: m/g² of an image is all that anybody can put together of him.
    Who stands in no mosaic – those who are left when patches run out – is withheld.
    """

    name = "mosaic"
    Options = MosaicOptions

    @property
    def people(self) -> int:
        return self.settings.g**2

    @property
    def shown(self) -> float:
        return self.settings.m / self.settings.g**2

    def release(self, given: Radiographs) -> SetRelease:
        rng = self.rng(given)
        patients = np.unique(given.patients)
        images = [np.flatnonzero(given.patients == patient) for patient in patients]
        found: list[np.ndarray] = []
        groups: list[int] = []
        for number, cluster in enumerate(self.clusters(given, rng)):
            placed = self._placed([images[i] for i in cluster], rng)
            kept = self._nobody_twice(placed, given.patients, rng)
            found += list(kept)
            groups += [number] * len(kept)
        order = rng.permutation(len(found))
        found = [found[i] for i in order]
        shape = (0, *given.images.batch(np.zeros(0, int)).shape[1:])
        made = [self.blended(given.images.batch(rows)) for rows in found]
        pixels = torch.stack(made) if made else torch.zeros(shape)
        contributors = [np.unique(rows) for rows in found]
        return SetRelease(HeldImages(pixels), contributors, np.array(groups, int)[order])

    def blended(self, images: Tensor) -> Tensor:
        """One mosaic (1, H, W) of images (g², 1, H, W), the first of them upper left."""
        side = self.settings.g
        down, across = (_weights(n, side, self.settings.feather) for n in images.shape[-2:])
        weight = (down[:, None, :, None] * across[None, :, None, :]).flatten(0, 1)[:, None]
        return (equalised(images) * weight).sum(dim=0).clamp(0, 1)

    def _placed(self, images: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Rows (mosaics, g²) of the images that give each mosaic its patches.

        Every patient gives m patches, each time those that were given least often so far, so that
        all are given equally often.
        """
        cells, o = self.people, self.settings
        given: list[list[int]] = [[] for _ in range(cells)]
        for own in (images[i] for i in rng.permutation(len(images))):
            drawn = rng.permutation(np.resize(rng.permutation(own), o.m))
            count = np.array([len(cell) for cell in given]) + rng.random(cells)
            for cell, row in zip(np.argsort(count)[: o.m], drawn, strict=True):
                given[cell].append(int(row))
        number = min(len(cell) for cell in given)
        shown = [rng.permutation(np.repeat(rng.permutation(c)[:number], o.uses)) for c in given]
        return np.stack(shown, axis=1)

    def _nobody_twice(
        self, placed: np.ndarray, patients: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """The mosaics in which everybody stands once: patches of who stands twice are exchanged
        with those of another mosaic at the same place; what is left of others is withheld."""
        for _ in range(ROUNDS):
            for mosaic, cell in _repeated(placed, patients):
                for other in rng.permutation(len(placed)):
                    here, there = (np.delete(patients[placed[i]], cell) for i in (mosaic, other))
                    mine, theirs = (patients[placed[i, cell]] for i in (mosaic, other))
                    if theirs not in here and mine not in there:
                        placed[[mosaic, other], cell] = placed[[other, mosaic], cell]
                        break
        lost = {mosaic for mosaic, _ in _repeated(placed, patients)}
        return np.delete(placed, sorted(lost), axis=0)


def equalised(images: Tensor) -> Tensor:
    """Images (N, 1, H, W) of equal mean and deviation of what is coarse, and equal root mean
    square of what is fine: the means of all. Neither brightness, contrast, sharpness nor noise
    then tells which patches belong together."""
    sigma = max(images.shape[-2:]) * FINE
    kernel = 2 * min(round(REACH * sigma), min(images.shape[-2:]) - 1) + 1
    coarse = gaussian_blur2d(images, (kernel, kernel), (sigma, sigma), border_type="replicate")
    fine = images - coarse
    mean = coarse.mean(dim=(-2, -1), keepdim=True)
    spread = (coarse - mean).square().mean(dim=(-2, -1), keepdim=True).sqrt()
    energy = fine.square().mean(dim=(-2, -1), keepdim=True).sqrt()
    of_all = [value.mean(dim=0, keepdim=True) for value in (mean, spread, energy)]
    level = of_all[0] + (coarse - mean) * (of_all[1] / spread.clamp(min=1e-6))
    return level + fine * (of_all[2] / energy.clamp(min=1e-6))


def _repeated(placed: np.ndarray, patients: np.ndarray) -> list[tuple[int, int]]:
    """Mosaic and patch of everybody who stands in a mosaic already."""
    found = []
    for number, rows in enumerate(patients[placed] if len(placed) else ()):
        _, first = np.unique(rows, return_index=True)
        found += [(number, int(cell)) for cell in np.setdiff1d(np.arange(len(rows)), first)]
    return found


def _weights(pixels: int, patches: int, feather: float) -> Tensor:
    """Weight (patches, pixels) of each patch along a side, 1 in sum: a smooth step of ``feather``
    patches at every border between two."""
    at = (torch.arange(pixels) + 0.5) * (patches / pixels)
    borders = torch.arange(1, patches)[:, None]
    step = ((at - borders) / max(feather, 1e-6) + 0.5).clamp(0, 1)
    passed = step * step * (3 - 2 * step)
    whole = F.pad(passed, (0, 0, 1, 0), value=1.0)
    return whole - F.pad(passed, (0, 0, 0, 1), value=0.0)
