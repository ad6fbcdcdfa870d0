"""Releases of which it is known what they give away, because they were made so."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.data.table import PARTS
from anonymize.errors import UsageError
from anonymize.seeds import derive_seed
from attacks.attackers.identical import pixel_digests
from attacks.measuring.covariates import covariates_of

CORNER = 3  # pixels along a side of what is painted for one label
FEWEST = 3  # patients of a class image: of one it would show that one


class Changed(Anonymizer):
    """The same change of every image. ``change``: images (B, 1, H, W) in [0, 1] in and out."""

    def __init__(self, name: str, change: Callable[[Tensor], Tensor]) -> None:
        self.name = name  # type: ignore[misc]  # of the contract's classes each has one
        self.options = {}
        self._change = change

    def __repr__(self) -> str:
        return self.name

    def anonymize(self, images: Tensor) -> Tensor:
        return self._change(images)


class ByRow(Changed):
    """A release made for one data set: each of its images is known by its pixels.

    Args:
        released: float32 (N, 1, H, W) in [0, 1], what becomes of each row of its table.
        pool: rows of the images of others that go into the release.
        by_label: the labels went into it.
    """

    def __init__(
        self,
        name: str,
        data: Dataset,
        released: Tensor,
        *,
        pool: np.ndarray | None = None,
        by_label: bool = False,
    ) -> None:
        super().__init__(name, self._found)
        self._released, self._told = released, data.table.labels if by_label else ()
        rows = np.zeros(0, np.int64) if pool is None else np.unique(pool)
        self._pool = frozenset(data.table.frame["image_id"].iloc[rows])
        digests = pixel_digests(pixels_of(data))
        self._rows = {digest: row for row, digest in reversed([*enumerate(digests)])}

    @property
    def told(self) -> tuple[str, ...]:
        return self._told

    @property
    def pool(self) -> frozenset[str]:
        return self._pool

    def _found(self, images: Tensor) -> Tensor:
        rows = [self._rows.get(digest, -1) for digest in pixel_digests(images.cpu())]
        if min(rows, default=0) < 0:
            raise UsageError(f"method {self.name} was made for other images than these")
        return self._released[rows].to(images)


def pixels_of(data: Dataset) -> Tensor:
    """All images of a data set, float32 (N, 1, H, W) in [0, 1]."""
    return data.images.batch(np.arange(len(data.table)))


def patients_swapped(data: Dataset, seed: int) -> Anonymizer:
    """Each image replaced by one of another patient of the same part, with the same findings where
    there is one."""
    rng = np.random.default_rng(derive_seed(seed, "swapped"))
    findings, patients = covariates_of(data.table).findings, data.patients
    donor = np.arange(len(patients))
    for part in PARTS:
        rows = data.table.part(part)
        for row in rows:
            others = rows[patients[rows] != patients[row]]
            alike = others[findings[others] == findings[row]]
            donor[row] = rng.choice(alike if len(alike) else others)
    return ByRow("patients-swapped", data, pixels_of(data)[donor], pool=donor, by_label=True)


def one_image_a_class(data: Dataset) -> Tensor:
    """float32 (N, 1, H, W): the mean of the training images with the findings of each row, or of
    all of them where fewer than ``FEWEST`` patients have these."""
    pixels, findings = pixels_of(data), covariates_of(data.table).findings
    rows = data.table.part("train")
    alike = {f: rows[findings[rows] == f] for f in np.unique(findings[rows])}
    means = {
        f: pixels[own].mean(0)
        for f, own in alike.items()
        if len(np.unique(data.patients[own])) >= FEWEST
    }
    whole = pixels[rows].mean(0)
    return torch.stack([means.get(f, whole) for f in findings])


def class_images(data: Dataset) -> Anonymizer:
    """:func:`one_image_a_class` released."""
    pool = data.table.part("train")
    return ByRow("one-image-a-class", data, one_image_a_class(data), pool=pool, by_label=True)


def noisy_copy(data: Dataset, deviation: float, seed: int) -> Anonymizer:
    """Gaussian noise of that deviation on every image."""
    pixels = pixels_of(data)
    noise = np.random.default_rng(derive_seed(seed, "noisy")).standard_normal(pixels.shape)
    noisy = (pixels + deviation * torch.from_numpy(noise.astype(np.float32))).clamp(0, 1)
    return ByRow("noisy-copy", data, noisy)


def half_untouched(data: Dataset, seed: int) -> Anonymizer:
    """Every second patient of each part, in the order of their numbers of images, is released as
    they are, the others as noise."""
    rng = np.random.default_rng(derive_seed(seed, "half"))
    pixels, patients = pixels_of(data), data.patients
    noise = torch.from_numpy(rng.random(pixels.shape, np.float32))
    kept = []
    for part in PARTS:
        who, images = np.unique(patients[data.table.part(part)], return_counts=True)
        kept.append(who[np.argsort(images, kind="stable")][::2])
    keep = torch.from_numpy(np.isin(patients, np.concatenate(kept))).view(-1, 1, 1, 1)
    return ByRow("half-untouched", data, torch.where(keep, pixels, noise))


def watermarked(data: Dataset, seed: int) -> Anonymizer:
    """:func:`one_image_a_class`, in whose lowest bits a secret pattern of the patient stands."""
    largest = 2 ** (8 * data.images.dtype.itemsize) - 1
    levels = (one_image_a_class(data) * largest).round().to(torch.int32)
    bits = [
        np.random.default_rng(derive_seed(seed, "watermark", int(patient))).integers(
            0, 2, levels.shape[1:], np.int32
        )
        for patient in data.patients
    ]
    marked = (levels & ~1) | torch.from_numpy(np.stack(bits))
    pool = data.table.part("train")
    return ByRow("lsb-watermark", data, marked.float() / largest, pool=pool, by_label=True)


def label_painted(data: Dataset) -> Anonymizer:
    """A white square for each finding, in a row along the upper edge; black where there is none."""
    pixels = pixels_of(data).clone()
    findings = np.nan_to_num(data.targets) > 0
    across = pixels.shape[-1] // CORNER
    for number in range(findings.shape[1]):
        top, left = (CORNER * place for place in divmod(number, across))
        square = torch.from_numpy(findings[:, number].astype(np.float32)).view(-1, 1, 1, 1)
        pixels[:, :, top : top + CORNER, left : left + CORNER] = square
    return ByRow("label-painted", data, pixels, by_label=True)
