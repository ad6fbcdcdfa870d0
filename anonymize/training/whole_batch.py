"""Every image of a batch against every other, over all processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from anonymize.data.pairs import Pairs
from anonymize.training.compute import Compute, Part
from anonymize.training.losses import batch_matching_loss


def whole_batch_loss(
    embedded: Tensor,
    compare: Callable[[Tensor, Tensor], Tensor],
    pairs: Pairs,
    patients: np.ndarray,
    part: Part,
    compute: Compute,
) -> Tensor:
    """:func:`batch_matching_loss` over the images of all processes; its weight is common.

    Args:
        embedded: (2n, features) of this process's rows, first images and then second ones.
        compare: logits of two sets of embeddings that broadcast.
        patients: (images,) codes.
    """
    z = compute.gather(embedded, part)
    rows = np.concatenate([side[s] for s in part.shares for side in (pairs.first, pairs.second)])
    owner = patients[rows]
    same, other = (
        torch.from_numpy(mask).to(z.device)
        for mask in (owner[:, None] == owner, rows[:, None] != rows)
    )
    return batch_matching_loss(compare(z[:, None], z), z, same, other)
