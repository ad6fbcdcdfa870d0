"""Attackers that learn an embedding of images, and compare embeddings."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.data.batches import HeldImages, in_batches
from anonymize.errors import DataError
from anonymize.identity_options import TrainedOn
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute
from anonymize.training.loop import Figures, Stage, fit
from attacks.attacker import ImageSet, Remembered, unit_float
from attacks.augmentation import mirrored
from attacks.groups import Kinds, Lessons
from attacks.lungs import LungCrop
from attacks.search import search
from attacks.similarity import Described, Distance
from attacks.streamed import comparable, count_scores

BATCH = 128


class Embedding(Described):
    """Trains a network, then compares what it makes of each image.

    Args:
        knowledge: "ignorant": trained on real images; "informed": on released ones too.
        trained_on: what an informed attacker's groups show: released images; released and real
            ones in turn; or one of both at random.
        distance: between two embeddings of length 1, each set centred on its own mean.
        test_flip: scores are averaged with those of the mirrored images.
        crop: what crops images to the lungs; None: they stay whole.
        compute: device and precision of the training; None: the CPU.
        checkpoint: file that it is continued from after a stop; None: none is kept.
        epoch: called with the number of finished epochs.
    """

    network: nn.Module

    def __init__(
        self,
        *,
        knowledge: Literal["ignorant", "informed"],
        trained_on: TrainedOn,
        distance: Distance,
        test_flip: bool,
        crop: LungCrop | None = None,
        compute: Compute | None = None,
        checkpoint: Path | None = None,
        epoch: Callable[[int], None] = lambda done: None,
    ) -> None:
        super().__init__(distance=distance)
        self.compute = compute or Compute(torch.device("cpu"))
        self.knowledge, self.test_flip, self.crop = knowledge, test_flip, crop
        self.kinds: Kinds = "real" if knowledge == "ignorant" else trained_on
        self.checkpoint, self.epoch = checkpoint, epoch

    @abstractmethod
    def build(self) -> nn.Module:
        """A new network: images (B, 1, H, W) → (B, features)."""

    @abstractmethod
    def stage(self, network: nn.Module, lessons: Lessons, check: Callable[[], Figures]) -> Stage:
        """What trains it; ``check`` gives its figures on the validation part."""

    def fit(
        self,
        *,
        real: ImageSet,
        released: ImageSet,
        validation_real: ImageSet,
        validation_released: ImageSet,
        seed: int,
    ) -> Self:
        """Trains; the epoch with the best pair AUC on the validation part is kept, probes released
        unless the attacker is ignorant.

        Raises:
            DataError: a part without a patient of several images.
        """
        torch.manual_seed(derive_seed(seed, self.name))
        self.network = self.build()
        probes = validation_real if self.kinds == "real" else validation_released
        real, released, probes, gallery = map(
            self._cropped, (real, released, probes, validation_real)
        )
        lessons = Lessons(
            HeldImages(real.images), HeldImages(released.images), real.owners, self.kinds
        )
        fit(
            self.stage(self.network, lessons, lambda: self._figures(probes, gallery)),
            seed=seed,
            checkpoint=self.checkpoint,
            report=lambda history: self.epoch(len(history)),
        )
        self._gallery = Remembered(self.features)  # the network knows more now
        return self

    def link(self, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """float32 (P, G); of the lungs, where the attacker knows their boxes."""
        return super().link(self._cropped(probes), self._cropped(gallery))

    @torch.no_grad()
    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, D) of length 1, of images (N, 1, H, W); with mirrored images two of them."""
        self.network.eval()
        found = []
        for rows in in_batches(np.arange(len(images)), BATCH):
            batch = unit_float(images[torch.as_tensor(rows)]).to(self.compute.device)
            sides = [batch, mirrored(batch)] if self.test_flip else [batch]
            parts = [F.normalize(self.network(side).float(), dim=1) for side in sides]
            found.append(torch.cat(parts, dim=1).cpu())
        return torch.cat(found).numpy() if found else np.zeros((0, 1), np.float32)

    def _cropped(self, images: ImageSet) -> ImageSet:
        return self.crop(images) if self.crop else images

    def _figures(self, probes: ImageSet, gallery: ImageSet) -> Figures:
        """Pair AUC and precision@1; "loss" is 1 − AUC, NaN if embeddings are not finite.

        The AUC decides which epoch is best: it is over all pairs, and precision@1, one figure a
        probe, takes so few values on small sets that chance would decide.
        """
        found = [self.features(images.images) for images in (probes, gallery)]
        if not all(np.isfinite(features).all() for features in found):
            return dict.fromkeys(("loss", "auc", "precision_at_1"), math.nan)
        vectors = comparable(*found, self.distance)
        try:
            auc = count_scores(*vectors, probes.owners, gallery.owners).counts().auc
            ranks = search(*vectors, probes.owners, gallery.owners, depth=1)
        except ValueError as error:
            raise DataError(
                f"the validation part cannot tell how good an attacker is: {error}"
            ) from None
        return {"loss": 1 - auc, "auc": auc, "precision_at_1": float(ranks.within(1).mean())}
