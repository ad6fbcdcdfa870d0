"""Terms that hide whose an image is among others, where Eq. 3 only lowers scores.

All take the logits (N, M) of N released images against M real ones and two masks of that shape:
which entries are of one patient (``genuine``) and of two (``impostor``). Entries in neither count
nothing. A batch without what a term compares gives 0.

The scores of impostors are what genuine ones are compared with, and get no gradient: a generator
sees one image and cannot make it like a stranger's that it does not see; asked to, it learns more
slowly.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def genuine_loss(logits: Tensor, genuine: Tensor, impostor: Tensor) -> Tensor:
    """Eq. 3 over genuine pairs: mean of −log(1 − SNN(F(x1), x2)).

    Nobody is hidden by a low score of two strangers.
    """
    return _mean(F.softplus(logits[genuine]))


def match_loss(logits: Tensor, genuine: Tensor, impostor: Tensor) -> Tensor:
    """Wasserstein distance W1 between the genuine and the impostor logits.

    In one dimension it is the mean distance of equal quantiles, exact by sorting, and 0 exactly
    where no threshold tells the two apart. It has no kernel width to choose (as MMD has), its
    gradient is as large for the easiest pair as for the hardest, and it turns round where genuine
    scores fall below those of impostors, which would tell an attacker as much.
    """
    own, others = logits[genuine], logits[impostor].detach()
    if not len(own) or not len(others):
        return logits.sum() * 0
    share = (torch.arange(len(own), device=logits.device) + 0.5) / len(own)
    return (own.float().sort().values - _quantiles(others.float(), share)).abs().mean()


def infonce_loss(logits: Tensor, genuine: Tensor, impostor: Tensor) -> Tensor:
    """Mean of −log(1 − p), p the softmax share of a genuine entry among the impostors of its row.

    The generator's side of InfoNCE (van den Oord et al. 2018): the released image must not single
    out its own patient among the batch. It moves one score against the others of the same image,
    so that lowering all of them gains nothing.
    """
    others = logits.detach().masked_fill(~impostor, float("-inf")).logsumexp(1, keepdim=True)
    singled = genuine & impostor.any(1, keepdim=True)
    return _mean(F.softplus((logits - others)[singled]))


def _quantiles(values: Tensor, share: Tensor) -> Tensor:
    """Those of ``values`` (n,) at ``share`` (m,) in (0, 1), linear between the middles of steps."""
    ordered = values.sort().values
    place = (share * len(ordered) - 0.5).clamp(0, len(ordered) - 1)
    low = place.long()
    high = (low + 1).clamp(max=len(ordered) - 1)
    return torch.lerp(ordered[low], ordered[high], place - low)


def _mean(values: Tensor) -> Tensor:
    return values.sum() / max(values.numel(), 1)
