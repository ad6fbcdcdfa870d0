"""What the generator minimises: L_aux and L_ver by name, and how they are weighed."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from anonymize.data.pairs import Pairs
from anonymize.networks.chexnet import Classifier
from anonymize.options import AdversarialOptions
from anonymize.training.balance import BALANCES, Terms
from anonymize.training.compute import Compute, Part
from anonymize.training.losses import (
    auxiliary_loss,
    distillation_loss,
    feature_loss,
    verification_loss,
)
from anonymize.training.opponents import Opponent
from anonymize.training.ranking_losses import genuine_loss, infonce_loss, match_loss

RANKING: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "genuine": genuine_loss,
    "match": match_loss,
    "infonce": infonce_loss,
}
Embedded = tuple[Tensor, Tensor]


class Batch(NamedTuple):
    """Pairs of real images, of which the first is to be anonymized.

    ``genuine`` and ``impostor`` say whether the first image of a row and the second of a column are
    two images of one patient, or of two patients; over the rows of all processes.
    """

    first: Tensor  # (B, 1, H, W), this process's rows
    second: Tensor
    same: Tensor  # bool (B,)
    targets: Tensor  # (B, labels), NaN where unknown
    genuine: Tensor  # bool (N, N)
    impostor: Tensor
    known: Tensor  # (), known labels of the whole batch, times the share of these rows in it
    part: Part | None = None  # how the rows are shared out; None outside of training


class Auxiliary:
    """L_aux: labels (Eq. 2), or what the frozen classifier says of the real image."""

    def __init__(
        self, classifier: Classifier, options: AdversarialOptions, compute: Compute
    ) -> None:
        self.classifier, self.reduction = classifier, options.auxiliary_loss
        self.target, self.compute = options.auxiliary_target, compute

    def __call__(self, anonymized: Tensor, batch: Batch) -> Tensor:
        """The mean over the batch, to be weighed as one over these rows; images (B, 1, H, W)."""
        if self.target == "labels":
            logits = self.classifier(anonymized)
            return auxiliary_loss(
                logits, batch.targets, reduction=self.reduction, count=batch.known
            )
        with torch.no_grad():
            wanted, seen = self.classifier.with_features(batch.first)
        logits, features = self.classifier.with_features(anonymized)
        loss = distillation_loss(logits, wanted, reduction=self.reduction)
        if self.target == "logits":
            return loss
        every = seen if batch.part is None else self.compute.gather(seen, batch.part)
        return loss + feature_loss(features, seen, every)

    @torch.no_grad()
    def of_real(self, batch: Batch) -> Tensor:
        """The same of the real images; 0 where it is they that are compared with."""
        if self.target == "labels":
            return self(batch.first, batch)
        return batch.targets.new_zeros(())


class Objective:
    """The generator's: L_aux of the classifier, L_ver as the mean over its opponents."""

    def __init__(
        self,
        options: AdversarialOptions,
        classifier: Classifier,
        opponents: tuple[Opponent, ...],
        compute: Compute,
    ) -> None:
        self.options, self.compute = options, compute
        self.auxiliary, self.opponents = Auxiliary(classifier, options, compute), opponents
        self.balance = BALANCES[options.balance](options)

    def terms(self, anonymized: Tensor, embedded: list[Embedded], batch: Batch) -> Terms:
        """L_aux and L_ver; those of the real images where the balance needs them, else 0. Each
        opponent's embeddings are of both sides of the pairs."""
        auxiliary = self.auxiliary(anonymized, batch)
        verification = self._verification(embedded, batch)
        allowed = real = torch.zeros_like(auxiliary)
        judged = batch.part is None and self.balance.moves
        with torch.no_grad():
            if judged or self.balance.bounded:
                allowed = self.auxiliary.of_real(batch)
            if judged:
                embedded = [o.pair(batch.first, batch.second) for o in self.opponents]
                real = self._verification(embedded, batch)
        return Terms(auxiliary, verification, allowed, real)

    def _verification(self, embedded: list[Embedded], batch: Batch) -> Tensor:
        each = zip(self.opponents, embedded, strict=True)
        return torch.stack([self._hidden(o, *sides, batch) for o, sides in each]).mean()

    def _hidden(self, opponent: Opponent, first: Tensor, second: Tensor, batch: Batch) -> Tensor:
        """L_ver against one opponent."""
        if self.options.verification_loss == "all":
            return verification_loss(opponent.compare(first, second))
        factor, part = 1.0, batch.part
        if part is not None:
            first, second = (self.compute.gather(side, part) for side in (first, second))
            factor = part.common_weight / part.weight
        logits = opponent.compare(first[:, None], second)
        loss = RANKING[self.options.verification_loss]
        return loss(logits, batch.genuine, batch.impostor) * factor


def known_share(targets: np.ndarray, rows: int) -> Tensor:
    """``known`` of so many rows of a batch with these targets (N, labels)."""
    return torch.tensor((~np.isnan(targets)).sum() * rows / len(targets), dtype=torch.float32)


def kinships(pairs: Pairs, rows: np.ndarray, patients: np.ndarray) -> tuple[Tensor, Tensor]:
    """``genuine`` and ``impostor`` of a batch made of these rows of the pairs."""
    first, second = pairs.first[rows], pairs.second[rows]
    same = patients[first][:, None] == patients[second]
    other = first[:, None] != second
    return torch.from_numpy(same & other), torch.from_numpy(~same)
