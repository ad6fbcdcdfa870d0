"""What the attackers share that learn an embedding of images, and compare embeddings."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.data.batches import HeldImages
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import Figures, Stage
from attacks.attacker import Attacker, Auxiliary, Described, ImageSet, Remembered, unit_batches
from attacks.knowledge.levels import Ladder, Setting, learner, own
from attacks.measuring.binned import count_scores
from attacks.measuring.judged import judged_on
from attacks.measuring.search import search
from attacks.measuring.similarity import Distance, comparable
from attacks.training.groups import Groups, Kinds, Lessons
from attacks.training.learning import LearnerOptions, Learning
from attacks.training.lungs import LungCrop
from attacks.training.schedules import Clock

BATCH = 128


class EmbeddingStage(Stage):
    """Trains an embedding network on groups of images, each of one patient.

    Args:
        network: images (B, 1, H, W) → (B, features).
        options: with ``all_epochs`` and ``patience``.
        check: gives its figures on the validation part.
    """

    augment: nn.Module

    def __init__(
        self,
        network: nn.Module,
        options: Any,
        *,
        lessons: Lessons,
        check: Callable[[], Figures],
        compute: Compute,
    ) -> None:
        self.options, self.lessons, self.check, self.compute = options, lessons, check, compute
        self.epochs, self.patience = options.all_epochs, options.patience
        self.network, self.clock = compute.ready(network), Clock()
        self.modules = {"network": network, "clock": self.clock}

    def validate(self) -> Figures:
        return self.check()

    def embedded(self, network: nn.Module, groups: Groups, part: Part) -> Tensor:
        """Of some groups of an epoch; each image is changed on its own."""
        images = self.lessons.images(groups, part.rows).to(self.compute.device)
        return network(self.augment(images))


class Embedding(Described):
    """Trains a network, then compares what it makes of each image.

    Args:
        knowledge: "ignorant": trained on real images; "informed": on released ones too.
        crop: what crops images to the lungs; None: they stay whole.
        learning: of the network; None: on the CPU, and nothing is kept.
    """

    what: ClassVar[str]  # in words
    stage: ClassVar[type[EmbeddingStage]]
    distance: Distance  # between embeddings of length 1, each set centred on its own mean
    network: nn.Module

    @classmethod
    def ladder(cls) -> Ladder:
        return learner(cls, cls.what, cls._at, lambda options: own(cls, options).all_epochs)

    @classmethod
    def _at(cls, knowledge: Literal["ignorant", "informed"], setting: Setting) -> Attacker:
        return cls(own(cls, setting.options), knowledge=knowledge, learning=setting.learning)

    def __init__(
        self,
        options: LearnerOptions,
        *,
        knowledge: Literal["ignorant", "informed"] = "informed",
        crop: LungCrop | None = None,
        learning: Learning | None = None,
    ) -> None:
        super().__init__(options)
        self.options, self.knowledge, self.crop = options, knowledge, crop
        self.kinds: Kinds = "real" if knowledge == "ignorant" else options.trained_on
        self.learning = learning or Learning()

    @abstractmethod
    def build(self) -> nn.Module:
        """A new network: images (B, 1, H, W) → (B, features)."""

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Trains; the epoch with the best pair AUC on the validation part is kept, probes released
        unless the attacker is ignorant."""
        torch.manual_seed(derive_seed(seed, self.name))
        self.network = self.build()
        known, gallery = auxiliary, auxiliary.validation_real
        probes = gallery if self.kinds == "real" else known.validation_released
        real, released, probes, gallery = map(
            self._cropped, (known.real, known.released, probes, gallery)
        )
        lessons = Lessons(
            HeldImages(real.images), HeldImages(released.images), real.owners, self.kinds
        )
        stage = self.stage(
            self.network,
            self.options,
            lessons=lessons,
            check=lambda: self._figures(probes, gallery),
            compute=self.learning.compute,
        )
        self.learning.train(stage, seed=seed)
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
        for batch in unit_batches(images, BATCH, self.learning.device):
            sides = [batch, batch.flip(-1)] if self.options.test_flip else [batch]
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
        with self.learning.compute.autocast():  # it ranks epochs; what is linked is in float32
            found = self.features(probes.images)
            known = found if gallery is probes else self.features(gallery.images)
        if not (np.isfinite(found).all() and np.isfinite(known).all()):
            return dict.fromkeys(("loss", "auc", "precision_at_1"), math.nan)
        vectors = comparable(found, known, self.distance)
        with judged_on("the validation part"):
            auc = count_scores(*vectors, probes.owners, gallery.owners).counts().auc
            ranks = search(*vectors, probes.owners, gallery.owners, depth=1)
        return {"loss": 1 - auc, "auc": auc, "precision_at_1": float(ranks.within(1).mean())}
