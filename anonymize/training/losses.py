"""Objectives of PriCheXy-Net (Packhäuser et al. 2023); networks give logits.

Eq. 1, the displacement, is `FlowGenerator.displacement` in :mod:`anonymize.prichexy_net`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def auxiliary_loss(
    logits: Tensor, targets: Tensor, *, reduction: str = "sum", count: Tensor | None = None
) -> Tensor:
    """L_aux (Eq. 2): binary cross-entropy (B, labels), mean over the batch. Where the classifier is
    updated, it minimises the same on anonymized images (Eq. 5).

    ``reduction="sum"`` adds the labels up as the paper does, ``"mean"`` averages over them as the
    published program does. Unknown labels (NaN) count nothing: the mean is over the known ones, or
    over ``count`` where these rows are a part of a batch, whose share of its known labels that is.
    """
    known = ~torch.isnan(targets)
    each = F.binary_cross_entropy_with_logits(
        logits, torch.where(known, targets, 0.0), reduction="none"
    )
    total = (each * known).sum()
    if reduction == "sum":
        return total / len(logits)
    if reduction == "mean":
        return total / (known.sum() if count is None else count).clamp(min=1)
    raise ValueError(f"reduction must be 'sum' or 'mean', got {reduction!r}")


def distillation_loss(logits: Tensor, wanted: Tensor, *, reduction: str) -> Tensor:
    """Kullback–Leibler divergence of each finding's probability from the one that is wanted.

    Hinton et al. 2015 for sigmoid outputs: cross-entropy with the probabilities sigmoid(``wanted``)
    as targets, less its least value. (B, labels), mean over the batch, "sum" or "mean" over the
    labels.
    """
    probability = torch.sigmoid(wanted)
    crossed = auxiliary_loss(logits, probability, reduction=reduction)
    return crossed - auxiliary_loss(wanted, probability, reduction=reduction)


def feature_loss(features: Tensor, wanted: Tensor, batch: Tensor) -> Tensor:
    """Squared distance of the features (B, n) from the wanted ones, as a share of the variance of
    those of the whole ``batch`` (N, n), of which these rows may be a part.

    Romero et al. 2015; 1 is how far the features of another image of the batch are, on average.
    """
    spread = (batch - batch.mean(0)).square().mean()
    return F.mse_loss(features, wanted) / (2 * spread).clamp(min=1e-8)


def verification_loss(logits: Tensor) -> Tensor:
    """L_ver (Eq. 3): mean of −log(1 − SNN(F(x1), x2)) over all pairs (B,).

    With SNN = sigmoid(logit) this is softplus(logit), finite for every logit.
    """
    return F.softplus(logits).mean()


def generator_loss(auxiliary: Tensor, verification: Tensor, *, weight: float = 1.0) -> Tensor:
    """What the generator minimises (Eq. 4): L_aux + L_ver, the latter times ``weight``."""
    return auxiliary + weight * verification


def matching_loss(logits: Tensor, same: Tensor) -> Tensor:
    """What the verifier minimises (Eq. 6): binary cross-entropy of "the same patient" (B,)."""
    return F.binary_cross_entropy_with_logits(logits, same.to(logits.dtype))


def batch_matching_loss(
    logits: Tensor, embeddings: Tensor, same: Tensor, other: Tensor, *, temperature: float = 0.1
) -> Tensor:
    """Every image of a batch against every other: balanced BCE plus InfoNCE.

    InfoNCE (van den Oord et al. 2018; over all images of a batch as in Schmahl et al. 2025) on the
    cosine of the embeddings (N, features) tells each image's genuine partners from all impostors at
    once. Logits are (N, N); so are the masks: ``same`` patient, and ``other`` image; the rest of
    the matrix counts nothing.
    """
    genuine, impostor = same & other, ~same & other
    balanced = _mean(F.softplus(-logits), genuine) + _mean(F.softplus(logits), impostor)
    unit = F.normalize(embeddings, dim=1)
    cosine = (unit @ unit.T / temperature).masked_fill(~other, float("-inf"))
    return balanced / 2 - _mean(F.log_softmax(cosine, dim=1), genuine)


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    """Of the chosen ones, 0 of none; to pick them out, a GPU would have to be waited for."""
    return torch.where(chosen, values, 0.0).sum() / chosen.sum().clamp(min=1)


def reconstruction_loss(deformed: Tensor, images: Tensor) -> Tensor:
    """Pre-training of the generator: MSE(F(x), x)."""
    return F.mse_loss(deformed, images)
