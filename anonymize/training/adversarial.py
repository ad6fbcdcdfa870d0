"""The min–max game (Packhäuser et al. 2023, Section 2.2): generator against verifier.

Per batch of pairs (x1, x2), of which only x1 is anonymized: one step of the generator with the
others in evaluation mode, one of the verifier, and one of the classifier if it is updated, each
with the images that the generator made before its step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from anonymize.data.batches import Images, shuffled
from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import AdversarialOptions
from anonymize.trained import Generator
from anonymize.training.compute import Compute
from anonymize.training.loop import Figures, Stage
from anonymize.training.losses import auxiliary_loss, matching_loss, verification_loss
from anonymize.training.stages import EVALUATION_BATCH, Mean


class AdversarialStage(Stage):
    """Generator, verifier and classifier; the generator's best epoch is kept.

    Args:
        pairs: gives the training pairs of an epoch from its seed.
        targets: float32 (table rows, labels), NaN where unknown.
    """

    name = "adversarial"

    def __init__(
        self,
        generator: Generator,
        verifier: Siamese,
        classifier: Classifier,
        options: AdversarialOptions,
        *,
        images: Images,
        targets: np.ndarray,
        pairs: Callable[[int], Pairs],
        validation: Pairs,
        compute: Compute,
    ) -> None:
        self.epochs, self.patience = options.epochs, options.patience
        self.compute, self.device = compute, compute.device
        self.kept, self.verifier, self.classifier = map(
            self.compute.ready, (generator, verifier, classifier)
        )
        self.modules = {"generator": generator}
        self.optimizers = {"generator": torch.optim.Adam(generator.parameters(), lr=options.rate)}
        if options.verifier == "updated":
            self.modules["verifier"] = verifier
            self.optimizers["verifier"] = torch.optim.Adam(
                verifier.parameters(), lr=options.verifier_rate
            )
        if options.auxiliary == "updated":
            self.modules["classifier"] = classifier
            # The constants of the published program.
            self.optimizers["classifier"] = torch.optim.SGD(
                classifier.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4
            )
        self.options, self.images, self.targets = options, images, targets
        self.pairs, self.validation = pairs, validation

    def train_epoch(self, seed: int) -> Figures:
        means = {name: Mean() for name in ("loss", "auxiliary", "verification", "verifier")}
        pairs = self.pairs(seed)
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
        return {name: mean.over(self.compute) for name, mean in means.items()}

    def validate(self) -> Figures:
        self.verifier.eval()
        self.classifier.eval()
        means = {name: Mean() for name in ("loss", "auxiliary", "verification")}
        logits = []
        for start in range(0, len(self.validation), EVALUATION_BATCH):
            chosen = np.arange(start, min(start + EVALUATION_BATCH, len(self.validation)))
            first, second, _, targets = self._batch(self.validation, chosen)
            anonymized = self.kept(first)
            logits.append(self.verifier(anonymized, second))
            for name, loss in self._objective(anonymized, logits[-1], targets).items():
                means[name].add(loss, len(chosen))
        scores = torch.cat(logits).cpu().numpy()
        auc = float(roc_auc_score(self.validation.same, scores))
        return {**{name: mean.value for name, mean in means.items()}, "verifier_auc": auc}

    def _batch(self, pairs: Pairs, chosen: np.ndarray):
        first = pairs.first[chosen]
        tensors = (
            self.images.batch(first),
            self.images.batch(pairs.second[chosen]),
            torch.from_numpy(pairs.same[chosen]),
            torch.from_numpy(self.targets[first]),
        )
        return (t.to(self.device) for t in tensors)

    def _objective(self, anonymized, logits, targets) -> dict[str, torch.Tensor]:
        o = self.options
        auxiliary = auxiliary_loss(self.classifier(anonymized), targets, reduction=o.auxiliary_loss)
        verification = verification_loss(logits)
        return {
            "loss": auxiliary + o.verification_weight * verification,
            "auxiliary": auxiliary,
            "verification": verification,
        }

    def _generator_gradients(self, first, second, targets, weight: float):
        for network in (self.verifier, self.classifier):
            network.eval().requires_grad_(False)
        with self.compute.autocast():
            with torch.no_grad():
                known = self.verifier.embed(second)
            anonymized = self.kept(first)
            logits = self.verifier.compare(self.verifier.embed(anonymized), known)
            losses = self._objective(anonymized, logits, targets)
        self.compute.backward(losses["loss"], weight)
        return anonymized.detach().float(), losses

    def _verifier_gradients(self, anonymized, second, same, weight: float) -> torch.Tensor:
        if "verifier" not in self.modules:
            with torch.no_grad():
                return matching_loss(self.verifier(anonymized, second), same)
        self.verifier.train().requires_grad_(True)
        with self.compute.autocast():
            loss = matching_loss(self.verifier(anonymized, second), same)
        self.compute.backward(loss, weight)
        return loss

    def _classifier_gradients(self, anonymized, targets, weight: float) -> None:
        self.classifier.train().requires_grad_(True)
        with self.compute.autocast():
            logits = self.classifier(anonymized)
            loss = auxiliary_loss(logits, targets, reduction=self.options.auxiliary_loss)
        self.compute.backward(loss, weight)
