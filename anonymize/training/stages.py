"""What is trained before the game: classifier, verifier, and the generator's pre-training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from anonymize.data.batches import Images, augmentation, in_batches, shuffled
from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import ClassifierOptions, ReconstructionOptions, VerifierOptions
from anonymize.trained import Generator
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import Figures, Stage
from anonymize.training.losses import (
    auxiliary_loss,
    batch_matching_loss,
    matching_loss,
    reconstruction_loss,
)

EVALUATION_BATCH = 128


class ClassifierStage(Stage):
    """The auxiliary classifier: findings from images, Adam, binary cross-entropy.

    ``targets`` is float32 (table rows, labels), NaN where unknown.
    """

    def __init__(
        self,
        network: Classifier,
        options: ClassifierOptions,
        *,
        images: Images,
        targets: np.ndarray,
        rows: np.ndarray,
        validation: np.ndarray,
        compute: Compute,
        name: str = "classifier",
    ) -> None:
        self.name, self.epochs, self.patience = name, options.epochs, options.patience
        self.compute, self.device = compute, compute.device
        self.kept = self.compute.ready(network)
        self.modules = {"classifier": network}
        self.optimizers = {"classifier": _adam(network, options)}
        self.options, self.images, self.targets = options, images, targets
        self.rows, self.validation = rows, validation
        self.augment = augmentation() if options.augment else nn.Identity()

    def train_epoch(self, seed: int) -> Figures:
        total = Mean()
        for rows in shuffled(self.rows, self.options.batch, seed):
            for part in self.compute.parts(rows):
                images = self.augment(self.images.batch(part.rows).to(self.device))
                targets = torch.from_numpy(self.targets[part.rows]).to(self.device)
                with self.compute.autocast():
                    loss = auxiliary_loss(self.kept(images), targets)
                self.compute.backward(loss, part.weight)
                total.add(loss, len(part.rows))
            self.compute.step(self.optimizers["classifier"])
        return {"loss": total.over(self.compute)}

    def validate(self) -> Figures:
        logits = predict(self.kept, self.images, self.validation, self.device)
        targets = self.targets[self.validation]
        loss = auxiliary_loss(torch.from_numpy(logits), torch.from_numpy(targets))
        return {"loss": float(loss), "auc": mean_auc(targets, logits)}


class VerifierStage(Stage):
    """The siamese verifier: the same patient or not, Adam, binary cross-entropy.

    The first image of a pair is taken from ``first``, the second from ``second``: real images
    from both when it is pre-trained, released ones when it attacks.

    Args:
        patients: (table rows,) codes of the patients.
        pairs: gives the training pairs of an epoch from its seed.
    """

    def __init__(
        self,
        network: Siamese,
        options: VerifierOptions,
        *,
        first: Images,
        second: Images,
        patients: np.ndarray,
        pairs: Callable[[int], Pairs],
        validation: Pairs,
        compute: Compute,
        name: str = "verifier",
    ) -> None:
        self.name, self.epochs, self.patience = name, options.epochs, options.patience
        self.compute, self.device = compute, compute.device
        self.kept = self.compute.ready(network)
        self.modules = {"verifier": network}
        self.optimizers = {"verifier": _adam(network, options)}
        self.options, self.first, self.second = options, first, second
        self.patients, self.pairs = patients, pairs
        self.validation = validation
        self.augment = augmentation() if options.augment else nn.Identity()

    def train_epoch(self, seed: int) -> Figures:
        total, pairs = Mean(), self.pairs(seed)
        whole = self.options.objective == "batch"
        # In a whole batch the impostors come for nothing.
        used = np.flatnonzero(pairs.same) if whole else np.arange(len(pairs))
        for chosen in shuffled(used, self.options.batch, seed):
            for part in self.compute.parts(chosen):
                with self.compute.autocast():
                    loss = self._batch_loss(pairs, part) if whole else self._pair_loss(pairs, part)
                self.compute.backward(loss, part.common_weight if whole else part.weight)
                total.add(loss, len(part.rows))
            self.compute.step(self.optimizers["verifier"])
        return {"loss": total.over(self.compute)}

    def _pair_loss(self, pairs: Pairs, part: Part) -> Tensor:
        logits = self.kept(*self._images(pairs, part.rows))
        return matching_loss(logits, torch.from_numpy(pairs.same[part.rows]).to(self.device))

    def _batch_loss(self, pairs: Pairs, part: Part) -> Tensor:
        """The loss over the images of all processes."""
        own = self.kept.embed(torch.cat(self._images(pairs, part.rows)))
        z = self.compute.gather(own, part)
        rows = np.concatenate(
            [side[s] for s in part.shares for side in (pairs.first, pairs.second)]
        )
        patients = self.patients[rows]
        same, other = (
            torch.from_numpy(mask).to(self.device)
            for mask in (patients[:, None] == patients, rows[:, None] != rows)
        )
        return batch_matching_loss(self.kept.compare(z[:, None], z), z, same, other)

    def _images(self, pairs: Pairs, chosen: np.ndarray) -> tuple[Tensor, Tensor]:
        first = self.first.batch(pairs.first[chosen]).to(self.device)
        second = self.second.batch(pairs.second[chosen]).to(self.device)
        return self.augment(first), self.augment(second)

    def validate(self) -> Figures:
        logits = match(self.kept, self.first, self.second, self.validation, self.device)
        same = self.validation.same
        loss = float(matching_loss(torch.from_numpy(logits), torch.from_numpy(same)))
        auc = float(roc_auc_score(same, logits))
        if self.options.objective == "batch":
            # InfoNCE ranks pairs and leaves the logits' scale alone: an epoch is as good as its
            # ranking. Stopping by cross-entropy would weaken the attacker.
            return {"loss": 1 - auc, "cross_entropy": loss, "auc": auc}
        return {"loss": loss, "auc": auc}


class ReconstructionStage(Stage):
    """Pre-training of the generator to change nothing: MSE(F(x), x)."""

    def __init__(
        self,
        generator: Generator,
        options: ReconstructionOptions,
        *,
        images: Images,
        rows: np.ndarray,
        validation: np.ndarray,
        compute: Compute,
    ) -> None:
        self.name, self.epochs, self.patience = "reconstruction", options.epochs, options.patience
        self.compute, self.device = compute, compute.device
        self.kept = self.compute.ready(generator)
        self.modules = {"generator": generator}
        self.optimizers = {"generator": torch.optim.Adam(generator.parameters(), lr=options.rate)}
        self.options, self.images = options, images
        self.rows, self.validation = rows, validation

    def train_epoch(self, seed: int) -> Figures:
        total = Mean()
        for rows in shuffled(self.rows, self.options.batch, seed):
            for part in self.compute.parts(rows):
                with self.compute.autocast():
                    loss = self._loss(part.rows)
                self.compute.backward(loss, part.weight)
                total.add(loss, len(part.rows))
            self.compute.step(self.optimizers["generator"])
        return {"loss": total.over(self.compute)}

    def validate(self) -> Figures:
        total = Mean()
        for rows in in_batches(self.validation, EVALUATION_BATCH):
            total.add(self._loss(rows), len(rows))
        return {"loss": total.value}

    def _loss(self, rows: np.ndarray) -> Tensor:
        images = self.images.batch(rows).to(self.device)
        return reconstruction_loss(self.kept(images), images)


class Mean:
    """Mean of batch losses, weighted with the batch sizes."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, value: Tensor, count: int) -> None:
        self.total += float(value.detach()) * count
        self.count += count

    @property
    def value(self) -> float:
        return self.total / max(self.count, 1)

    def over(self, compute: Compute) -> float:
        """The mean over all processes."""
        total, count = compute.total([self.total, self.count])
        return total / max(count, 1)


@torch.no_grad()
def predict(
    network: Classifier, images: Images, rows: np.ndarray, device: torch.device
) -> np.ndarray:
    """Logits (n, labels) of the rows, float32; the network in evaluation mode."""
    network.eval()
    parts = [
        network(images.batch(batch).to(device)).cpu()
        for batch in in_batches(rows, EVALUATION_BATCH)
    ]
    return torch.cat(parts).numpy()


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
    parts = [
        network.embed(images.batch(batch).to(device))
        for batch in in_batches(unique, EVALUATION_BATCH)
    ]
    return torch.cat(parts)[torch.as_tensor(where, device=device)]


def mean_auc(targets: np.ndarray, scores: np.ndarray) -> float:
    """Mean AUC over the labels that have both values among the known targets; NaN if none has."""
    figures = []
    for target, score in zip(targets.T, scores.T, strict=True):
        known = ~np.isnan(target)
        if 0 < target[known].sum() < known.sum():
            figures.append(roc_auc_score(target[known], score[known]))
    return float(np.mean(figures)) if figures else float("nan")


def _adam(
    network: nn.Module, options: ClassifierOptions | VerifierOptions
) -> torch.optim.Optimizer:
    return torch.optim.Adam(
        network.parameters(), lr=options.rate, weight_decay=options.weight_decay
    )
