"""The min–max game (Packhäuser et al. 2023, Section 2.2): generator against verifier.

Per batch of pairs (x1, x2), of which only x1 is anonymized: one step of the generator with the
others in evaluation mode, one of the verifier, and one of the classifier if it is updated, each
with the images that the generator made before its step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from anonymize.data.batches import in_batches, shuffled
from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import AdversarialOptions
from anonymize.trained import Generator
from anonymize.training.compute import Compute
from anonymize.training.course import ATTACKER, plateaued
from anonymize.training.loop import Figures, History, Mean, Stage
from anonymize.training.losses import (
    auxiliary_loss,
    classifier_loss,
    generator_loss,
    matching_loss,
    verification_loss,
)
from anonymize.training.observed import Observer, Watched
from anonymize.training.stages import EVALUATION_BATCH, Paired


class Players(NamedTuple):
    """The networks of the game; only the generator's best epoch is kept."""

    generator: Generator
    verifier: Siamese
    classifier: Classifier


class AdversarialStage(Stage):
    """Generator, verifier and classifier; the generator's best epoch is the result.

    Args:
        data: real images in pairs, of which the first is anonymized.
        targets: float32 (images, labels), NaN where unknown.
    """

    name = "adversarial"

    def __init__(
        self,
        players: Players,
        options: AdversarialOptions,
        data: Paired,
        targets: np.ndarray,
        *,
        compute: Compute,
    ) -> None:
        self.epochs, self.patience = options.epochs, options.patience
        self.compute, self.device = compute, compute.device
        self.network = compute.ready(players.generator)
        self.verifier = compute.ready(players.verifier)
        self.classifier = compute.ready(players.classifier)
        generator, verifier, classifier = (player.parameters() for player in players)
        self.modules = {"generator": players.generator}
        self.optimizers = {"generator": torch.optim.Adam(generator, lr=options.rate)}
        if options.verifier == "updated":
            self.modules["verifier"] = players.verifier
            self.optimizers["verifier"] = torch.optim.Adam(verifier, lr=options.verifier_rate)
        if options.auxiliary == "updated":
            self.modules["classifier"] = players.classifier
            self.optimizers["classifier"] = torch.optim.SGD(
                classifier,
                lr=options.auxiliary_rate,
                momentum=options.auxiliary_momentum,
                weight_decay=options.auxiliary_weight_decay,
            )
        self.options, self.data, self.targets = options, data, targets
        watched = Watched(players.generator, players.verifier, self._terms)
        self.observer = Observer(watched, options, data, targets, compute)

    def train_epoch(self, seed: int) -> Figures:
        means = {name: Mean() for name in ("loss", "auxiliary", "verification", "verifier")}
        pairs, steps = self.data.pairs(seed), 0
        for chosen in shuffled(np.arange(len(pairs)), self.options.batch, seed):
            for part in self.compute.parts(chosen):
                first, second, same, targets = self._batch(pairs, part.rows)
                anonymized, losses = self._generator_gradients(first, second, targets, part.weight)
                losses["verifier"] = self._verifier_gradients(anonymized, second, same, part.weight)
                if "classifier" in self.modules:
                    self._classifier_gradients(anonymized, targets, part.weight)
                for name, loss in losses.items():
                    means[name].add(loss, len(part.rows))
            self.compute.step(*self.optimizers.values())
            steps += 1
        return {name: mean.over(self.compute) for name, mean in means.items()} | {"steps": steps}

    def validate(self) -> Figures:
        self.verifier.eval()
        self.classifier.eval()
        means = {name: Mean() for name in ("loss", "auxiliary", "verification")}
        logits, pairs, change = [], self.data.validation, Mean()
        for chosen in in_batches(np.arange(len(pairs)), EVALUATION_BATCH):
            first, second, _, targets = self._batch(pairs, chosen)
            anonymized = self.network(first)
            logits.append(self.verifier(anonymized, second))
            change.add((anonymized - first).square().mean(), len(chosen))
            for name, loss in self._objective(anonymized, logits[-1], targets).items():
                means[name].add(loss, len(chosen))
        scores = torch.cat(logits).cpu().numpy()
        auc = float(roc_auc_score(pairs.same, scores))
        found = {name: mean.value for name, mean in means.items()}
        return {**found, "verifier_auc": auc, "change": math.sqrt(change.value)}

    def observe(self) -> Figures:
        return self.observer.figures(self.epoch + 1)

    def best(self, history: History) -> int:
        if self.options.best == "loss":
            return super().best(history)
        attacked = [i for i, line in enumerate(history) if ATTACKER in line]
        if self.options.best == "last" or not attacked:
            return len(history) - 1
        return min(attacked, key=lambda i: history[i][ATTACKER])

    def settled(self, history: History) -> bool:
        return super().settled(history) or plateaued(history, self.options.course)

    def _batch(self, pairs: Pairs, chosen: np.ndarray):
        first = pairs.first[chosen]
        tensors = (
            self.data.first.batch(first),
            self.data.second.batch(pairs.second[chosen]),
            torch.from_numpy(pairs.same[chosen]),
            torch.from_numpy(self.targets[first]),
        )
        return (t.to(self.device) for t in tensors)

    def _objective(self, anonymized, logits, targets) -> dict[str, torch.Tensor]:
        """Eq. 4 and its two terms, Eq. 2 and 3."""
        o = self.options
        auxiliary = auxiliary_loss(self.classifier(anonymized), targets, reduction=o.auxiliary_loss)
        verification = verification_loss(logits)
        return {
            "loss": generator_loss(auxiliary, verification, weight=o.verification_weight),
            "auxiliary": auxiliary,
            "verification": verification,
        }

    def _terms(self, anonymized: torch.Tensor, chosen: np.ndarray) -> dict[str, torch.Tensor]:
        """Eq. 2 and 3 as they are added up in Eq. 4, of validation pairs."""
        _, second, _, targets = self._batch(self.data.validation, chosen)
        losses = self._objective(anonymized, self.verifier(anonymized, second), targets)
        losses["verification"] = self.options.verification_weight * losses["verification"]
        return losses

    def _generator_gradients(self, first, second, targets, weight: float):
        for network in (self.verifier, self.classifier):
            network.eval().requires_grad_(False)
        with self.compute.autocast():
            with torch.no_grad():
                known = self.verifier.embed(second)
            anonymized = self.network(first)
            logits = self.verifier.compare(self.verifier.embed(anonymized), known)
            losses = self._objective(anonymized, logits, targets)
        self.compute.backward(losses["loss"], weight)
        return anonymized.detach().float(), losses

    def _verifier_gradients(self, anonymized, second, same, weight: float) -> torch.Tensor:
        """Eq. 6, on anonymized images."""
        if "verifier" not in self.modules:
            with torch.no_grad():
                return matching_loss(self.verifier(anonymized, second), same)
        self.verifier.train().requires_grad_(True)
        with self.compute.autocast():
            loss = matching_loss(self.verifier(anonymized, second), same)
        self.compute.backward(loss, weight)
        return loss

    def _classifier_gradients(self, anonymized, targets, weight: float) -> None:
        """Eq. 5, on anonymized images."""
        self.classifier.train().requires_grad_(True)
        with self.compute.autocast():
            logits = self.classifier(anonymized)
            loss = classifier_loss(logits, targets, reduction=self.options.auxiliary_loss)
        self.compute.backward(loss, weight)
