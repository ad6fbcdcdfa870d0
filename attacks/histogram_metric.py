"""Gradient histograms, compared by a metric that patients teach.

Histograms at several scales are reduced by principal components and whitened by what varies within
patients, and between changed copies of one image (within-class covariance normalization, Hatch et
al. 2006): a direction in which images of one patient differ counts little. It learns in seconds
from a few hundred images, where a network of the same data is still below plain histograms.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor

from anonymize.data.batches import augmentation, in_batches
from anonymize.errors import DataError
from anonymize.identity_options import HistogramMetricOptions
from anonymize.model_file import load_tensors, save_tensors
from anonymize.seeds import derive_seed
from attacks import metrics
from attacks.attacker import Auxiliary, ImageSet, Remembered, unit_float
from attacks.augmentation import mirrored
from attacks.gradients import histograms
from attacks.learning import Learning
from attacks.similarity import Described, similarity

BATCH = 128
Changes = torch.nn.Module


class HistogramMetric(Described):
    """Cosine of whitened histograms; components and shrinkage are those with the best pair AUC on
    the validation part.

    Args:
        options: scales and candidates.
        knowledge: "ignorant": learns from real images; "informed": from released ones too.
        learning: where histograms are computed; its checkpoint holds what was learnt once it was.
    """

    name = "histogram-metric"

    def __init__(
        self,
        options: HistogramMetricOptions | None = None,
        *,
        knowledge: Literal["ignorant", "informed"] = "informed",
        learning: Learning | None = None,
    ) -> None:
        super().__init__(distance="cosine")
        self.options, self.knowledge = options or HistogramMetricOptions(), knowledge
        self.learning = learning or Learning()

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the metric.

        Raises:
            DataError: a part without a patient of several images.
        """
        kept = self.learning.checkpoint
        if kept is not None and kept.is_file():
            self._know(load_tensors(kept)[0]["projection"].numpy())
            return self
        o, rng = self.options, np.random.default_rng(derive_seed(seed, self.name))
        torch.manual_seed(int(rng.integers(2**31)))
        rows = np.sort(rng.permutation(len(auxiliary.real))[: o.most])
        real, released = auxiliary.real[rows], auxiliary.released[rows]
        gallery = auxiliary.validation_real
        if self.knowledge == "ignorant":
            shown, probes = [real], gallery
        else:
            both = o.trained_on != "released-released"
            shown = [real, released] if both else [released]
            probes = auxiliary.validation_released
        described = [self._describe(images.images) for images in shown]
        self._means = [part.mean(axis=0) for part in described]
        found = np.concatenate([d - m for d, m in zip(described, self._means, strict=True)])
        components = min(max(o.components), len(real) - 1)
        self._basis = PCA(components, svd_solver="randomized", random_state=0).fit(found)
        within = self._within_patients(found, [images.owners for images in shown])
        if o.copies:
            within = within + self._within_images(found, shown)
        metric = self._choose(within, probes, gallery)
        self._know(self._basis.components_[: len(metric)].T @ metric)
        if kept is not None:
            learnt = torch.from_numpy(self._projection).contiguous()
            save_tensors({"projection": learnt}, {}, kept)
        return self

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, D) of images (N, 1, H, W), of mirrored ones beside them if so chosen."""
        sides = self._sides(images)
        return np.hstack([self._describe(side) @ self._projection for side in sides])

    def _know(self, projection: np.ndarray) -> None:
        """Histograms (N, D) @ ``projection`` (D, E) are its features from now on."""
        self._projection = projection.astype(np.float32)
        self._gallery = Remembered(self.features)

    def _reduced(self, images: Tensor) -> np.ndarray:
        return self._basis.transform(self._describe(images))

    def _describe(self, images: Tensor, changes: Changes | None = None) -> np.ndarray:
        parts = []
        for rows in in_batches(np.arange(len(images)), BATCH):
            batch = unit_float(images[torch.as_tensor(rows)]).to(self.learning.device)
            batch = changes(batch) if changes else batch
            scales = [histograms(batch, cells) for cells in self.options.cells]
            parts.append(torch.cat(scales, dim=1).cpu())
        return torch.cat(parts).numpy()

    def _within_patients(self, found: np.ndarray, owners: list[metrics.Owners]) -> np.ndarray:
        patient = np.concatenate([o.patient for o in owners])
        known = np.concatenate([o.identified for o in owners])
        first = owners[0].patient[owners[0].identified]
        if len(np.unique(first)) == len(first):
            raise DataError(
                "no identified patient of the training part has several images, so there is "
                "nothing to learn who is shown from; use a data set with follow-ups"
            )
        return scatter(self._basis.transform(found)[known], patient[known])

    def _within_images(self, found: np.ndarray, shown: list[ImageSet]) -> np.ndarray:
        """Of changed copies, drawn of each kind of images in turn."""
        changes, count = augmentation(), len(shown[0])
        copies = [self._basis.transform(found)]
        for number in range(self.options.copies):
            kind = number % len(shown)
            described = self._describe(shown[kind].images, changes) - self._means[kind]
            copies.append(self._basis.transform(described))
        images = [np.arange(count)] * (len(shown) + self.options.copies)
        return scatter(np.concatenate(copies), np.concatenate(images))

    def _choose(self, within: np.ndarray, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """The whitening of the components that tells patients of the validation part apart best."""
        asked, known = (
            [self._reduced(side) for side in self._sides(images.images)]
            for images in (probes, gallery)
        )
        found = []
        for components in dict.fromkeys(min(c, len(within)) for c in self.options.components):
            for shrinkage in self.options.shrinkage:
                metric = whitening(within[:components, :components], shrinkage)
                both = (
                    np.hstack([_measured(s, metric) for s in sides]) for sides in (asked, known)
                )
                try:
                    scores = similarity(*both, self.distance)
                    auc = metrics.pair_auc(scores, probes.owners, gallery.owners)
                except ValueError as error:
                    raise DataError(
                        f"the validation part cannot tell how good an attacker is: {error}"
                    ) from None
                found.append((auc, metric))
        return max(found, key=lambda item: item[0])[1]

    def _sides(self, images: Tensor) -> list[Tensor]:
        return [images, mirrored(images)] if self.options.test_flip else [images]


def _measured(reduced: np.ndarray, metric: np.ndarray) -> np.ndarray:
    return reduced[:, : len(metric)] @ metric


def scatter(vectors: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Covariance (D, D) of vectors (N, D) around the means of their groups, unbiased.

    Raises:
        ValueError: no group has two members.
    """
    _, index, counts = np.unique(group, return_inverse=True, return_counts=True)
    freedom = len(vectors) - len(counts)
    if not freedom:
        raise ValueError("a scatter within groups needs a group of two or more")
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, index, vectors)
    apart = vectors - (sums / counts[:, None])[index]
    return apart.T @ apart / freedom


def whitening(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """A with Aᵀ C A = 1, float32, of C shrunk towards a multiple of the identity."""
    side = len(covariance)
    shrunk = (1 - shrinkage) * covariance
    shrunk = shrunk + shrinkage * np.trace(covariance) / side * np.eye(side)
    values, vectors = np.linalg.eigh(shrunk)
    return (vectors / np.sqrt(values)).astype(np.float32)
