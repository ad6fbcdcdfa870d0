"""What is trained before the game: classifier, verifier, and the generator's pre-training."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from anonymize.data.batches import Images, augmentation, in_batches
from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import ClassifierOptions, ReconstructionOptions, VerifierOptions
from anonymize.trained import Generator
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import BatchStage, Figures, Mean
from anonymize.training.losses import (
    auxiliary_loss,
    batch_matching_loss,
    matching_loss,
    reconstruction_loss,
)

EVALUATION_BATCH = 128


@dataclass(frozen=True)
class Labelled:
    """Images and what there is to read from them."""

    images: Images
    targets: np.ndarray  # float32 (images, labels), NaN where unknown
    rows: np.ndarray  # of the images that are trained on
    validation: np.ndarray  # and of those that are checked on


@dataclass(frozen=True)
class Paired:
    """Images of known patients, in pairs."""

    first: Images  # those that stand first in a pair
    second: Images
    patients: np.ndarray  # (images,) codes of the patients
    pairs: Callable[[int], Pairs]  # the training pairs of an epoch from its seed
    validation: Pairs  # the same in every epoch


class ClassifierStage(BatchStage):
    """The auxiliary classifier: findings from images, Adam, binary cross-entropy."""

    network: Classifier

    def __init__(
        self,
        network: Classifier,
        options: ClassifierOptions,
        data: Labelled,
        *,
        compute: Compute,
        name: str = "classifier",
    ) -> None:
        super().__init__(name, options, {"classifier": network}, compute)
        self.data, self.rows = data, data.rows
        self.augment = augmentation() if options.augment else nn.Identity()

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        images = self.augment(self.compute.put(self.data.images.batch(part.rows)))
        return images, self.compute.put(torch.from_numpy(self.data.targets[part.rows]))

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        images, targets = inputs
        return auxiliary_loss(self.network(images), targets)

    def validate(self) -> Figures:
        data = self.data
        logits = predict(self.network, data.images, data.validation, self.device)
        targets = data.targets[data.validation]
        loss = auxiliary_loss(torch.from_numpy(logits), torch.from_numpy(targets))
        auc = mean_auc(targets, logits)
        return {"loss": float(loss)} | ({} if np.isnan(auc) else {"auc": auc})


class VerifierStage(BatchStage):
    """The siamese verifier: the same patient or not, Adam, binary cross-entropy.

    Both images of a pair are real when it is pre-trained, released ones when it attacks.
    """

    network: Siamese

    def __init__(
        self,
        network: Siamese,
        options: VerifierOptions,
        data: Paired,
        *,
        compute: Compute,
        name: str = "verifier",
    ) -> None:
        super().__init__(name, options, {"verifier": network}, compute)
        self.data, self.whole = data, options.objective == "batch"
        self.augment = augmentation() if options.augment else nn.Identity()

    def begin(self, seed: int) -> np.ndarray:
        self.pairs = self.data.pairs(seed)
        # In a whole batch the impostors come for nothing.
        return np.flatnonzero(self.pairs.same) if self.whole else np.arange(len(self.pairs))

    def weight(self, part: Part) -> float:
        return part.common_weight if self.whole else part.weight

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        data, pairs, put = self.data, self.pairs, self.compute.put
        with self.compute.autocast():
            first, second = (
                self.augment(put(images.batch(rows[part.rows])))
                for images, rows in ((data.first, pairs.first), (data.second, pairs.second))
            )
        if self.whole:
            return first, second, *map(put, whole_batch(pairs, data.patients, part))
        return first, second, put(torch.from_numpy(pairs.same[part.rows]))

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        first, second, *masks = inputs
        if not self.whole:
            return matching_loss(self.network(first, second), *masks)
        z = self.compute.gather(self.network.embed(torch.cat((first, second))), part)
        return batch_matching_loss(self.network.compare(z[:, None], z), z, *masks)

    def validate(self) -> Figures:
        data, same = self.data, self.data.validation.same
        logits = match(self.network, data.first, data.second, data.validation, self.device)
        loss = float(matching_loss(torch.from_numpy(logits), torch.from_numpy(same)))
        auc = float(roc_auc_score(same, logits))
        if self.whole:
            # InfoNCE ranks pairs and leaves the logits' scale alone: an epoch is as good as its
            # ranking. Stopping by cross-entropy would weaken the attacker.
            return {"loss": 1 - auc, "cross_entropy": loss, "auc": auc}
        return {"loss": loss, "auc": auc}


def whole_batch(pairs: Pairs, patients: np.ndarray, part: Part) -> tuple[Tensor, Tensor]:
    """Masks of :func:`batch_matching_loss`, bool (2N, 2N), for the images of all processes: each
    one's first images, and then its second ones."""
    rows = np.concatenate([side[s] for s in part.shares for side in (pairs.first, pairs.second)])
    owner = patients[rows]
    same, other = owner[:, None] == owner, rows[:, None] != rows
    return torch.from_numpy(same), torch.from_numpy(other)


class ReconstructionStage(BatchStage):
    """Pre-training of the generator to change nothing: MSE(F(x), x)."""

    def __init__(
        self,
        generator: Generator,
        options: ReconstructionOptions,
        data: Labelled,
        *,
        compute: Compute,
    ) -> None:
        super().__init__("reconstruction", options, {"generator": generator}, compute)
        self.recordable = generator.recordable
        self.data, self.rows = data, data.rows

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        return (self.compute.put(self.data.images.batch(part.rows)),)

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        return self._loss(*inputs)

    def validate(self) -> Figures:
        total = Mean()
        for rows in in_batches(self.data.validation, EVALUATION_BATCH):
            total.add(self._loss(self.data.images.batch(rows).to(self.device)), len(rows))
        return {"loss": total.value}

    def _loss(self, images: Tensor) -> Tensor:
        return reconstruction_loss(self.network(images), images)


@torch.no_grad()
def predict(
    network: Classifier, images: Images, rows: np.ndarray, device: torch.device
) -> np.ndarray:
    """Logits (n, labels) of the rows, float32; the network in evaluation mode."""
    network.eval()
    batches = in_batches(rows, EVALUATION_BATCH)
    return torch.cat([network(images.batch(b).to(device)).cpu() for b in batches]).numpy()


@torch.no_grad()
def match(
    network: Siamese, first: Images, second: Images, pairs: Pairs, device: torch.device
) -> np.ndarray:
    """Logits (n,) of the pairs, float32; every image is embedded once a side."""
    a, b = (
        embed(network, images, rows, device)
        for images, rows in ((first, pairs.first), (second, pairs.second))
    )
    return network.compare(a, b).cpu().numpy()


@torch.no_grad()
def embed(network: Siamese, images: Images, rows: np.ndarray, device: torch.device) -> Tensor:
    """Embeddings (n, features) of the rows on ``device``; a row that repeats is computed once."""
    network.eval()
    unique, where = np.unique(rows, return_inverse=True)
    batches = in_batches(unique, EVALUATION_BATCH)
    found = torch.cat([network.embed(images.batch(b).to(device)) for b in batches])
    return found[torch.as_tensor(where, device=device)]


def mean_auc(targets: np.ndarray, scores: np.ndarray) -> float:
    """Mean AUC over the labels that are present, above one half, in some of the known targets and
    not in all; NaN if none is."""
    figures = []
    for target, score in zip(targets.T, scores.T, strict=True):
        known = ~np.isnan(target)
        present = target[known] > 0.5
        if 0 < present.sum() < len(present):
            figures.append(roc_auc_score(present, score[known]))
    return float(np.mean(figures)) if figures else float("nan")
