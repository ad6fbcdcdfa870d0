"""L_aux of the game: what the classifier should say of an anonymized image."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.networks.chexnet import Classifier
from anonymize.objective_options import ObjectiveOptions
from anonymize.training.losses import auxiliary_loss


class Auxiliary:
    """Labels (Eq. 2), or what the frozen classifier says of the real image (distillation).

    Args:
        reduction: "sum" or "mean" over the labels, as in :func:`auxiliary_loss`.
    """

    def __init__(
        self, classifier: Classifier, options: ObjectiveOptions, *, reduction: str
    ) -> None:
        self.classifier, self.reduction = classifier, reduction
        self.target = options.auxiliary_target

    def __call__(self, anonymized: Tensor, real: Tensor, targets: Tensor) -> Tensor:
        """The mean over the batch; images (B, 1, H, W), targets (B, labels), NaN where unknown."""
        if self.target == "labels":
            return auxiliary_loss(self.classifier(anonymized), targets, reduction=self.reduction)
        with torch.no_grad():
            wanted, seen = self.classifier.with_features(real)
        logits, features = self.classifier.with_features(anonymized)
        loss = distillation_loss(logits, wanted, reduction=self.reduction)
        return loss if self.target == "logits" else loss + feature_loss(features, seen)

    @torch.no_grad()
    def of_real(self, real: Tensor, targets: Tensor) -> Tensor:
        """The same of the real images; 0 where it is they that are compared with."""
        if self.target == "labels":
            return self(real, real, targets)
        return targets.new_zeros(())


def distillation_loss(logits: Tensor, wanted: Tensor, *, reduction: str) -> Tensor:
    """Kullback–Leibler divergence of each finding's probability from the one that is wanted.

    Hinton et al. 2015 for sigmoid outputs: cross-entropy with the probabilities sigmoid(``wanted``)
    as targets, less its least value. (B, labels), mean over the batch, "sum" or "mean" over the
    labels.
    """
    probability = torch.sigmoid(wanted)
    crossed = auxiliary_loss(logits, probability, reduction=reduction)
    return crossed - auxiliary_loss(wanted, probability, reduction=reduction)


def feature_loss(features: Tensor, wanted: Tensor) -> Tensor:
    """Squared distance of the features (B, n) from the wanted ones, as a share of their variance.

    Romero et al. 2015; 1 is how far the features of another image of the batch are, on average.
    """
    spread = (wanted - wanted.mean(0)).square().mean()
    return F.mse_loss(features, wanted) / (2 * spread).clamp(min=1e-8)
