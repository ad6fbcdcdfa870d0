"""What the patches of a release say of each other: a puzzle whose pieces lie in many images.

A person stands in a mosaic once, and at a place with one patch at most. So at each other place one
of the patches of the other mosaics may be of whoever a patch shows; which one, their affinity says.
If it is, what it says of a gallery image counts for the first patch, too. That is the evidence of
a mixture, as a message in a factor graph (Kschischang et al. 2001), of one round.

How well a gallery image is matched anywhere is divided out: it is the same for all patches, and so
says nothing of whose they are. It would say how many patches are of that very image, which tells
how many images its patient has, and where but the patients of several are looked for that alone
looks like a link.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attacks.training.affinity import Affinity

HIGHEST = 20.0  # log-likelihood ratio that counts


@dataclass(frozen=True)
class Puzzle:
    """The patches of U outputs at g² places.

    Attributes:
        label: int64 (U, g²), patches at one place of one label are copies.
        affinity: of two patches at different places.
        reduced: float64 (g², U, C), the patches as it sees them.
    """

    label: np.ndarray
    affinity: Affinity
    reduced: np.ndarray

    def averaged(self, values: Tensor, place: int) -> Tensor:
        """Values (U, …) of the patches at a place, the mean over its copies for each."""
        _, number = np.unique(self.label[:, place], return_inverse=True)
        index = torch.from_numpy(number)
        count = torch.bincount(index).view(-1, *[1] * (values.ndim - 1))
        total = values.new_zeros(len(count), *values.shape[1:]).index_add_(0, index, values)
        return (total / count)[index]

    def assembled(self, ratios: np.ndarray, share: float) -> np.ndarray:
        """Log-likelihood ratios float32 (g², U, G) of gallery images, with what mates say of them.

        Args:
            ratios: (g², U, G) of each patch by itself.
            share: of the places at which whoever a patch shows has another one.
        """
        if not share or not self.affinity.tells:
            return ratios
        found, likely = ratios.copy(), np.exp(ratios.clip(max=HIGHEST))
        for place, total in enumerate(found):
            others = self.label[:, place][:, None] != self.label[:, place]
            count = others.sum(axis=1, keepdims=True)
            any_of_them = (others / np.maximum(count, 1)).astype(np.float32)
            there = np.where(count > 0, share, 0).astype(np.float32)
            for second, odds in enumerate(likely):
                if second == place:
                    continue
                mates = any_of_them * np.exp(self.affinity.ratios(self.reduced, place, second))
                mates = mates.astype(np.float32)
                total += np.log1p(there * (mates @ odds - 1))
                total -= np.log1p(there * (mates.sum(axis=1, keepdims=True) - 1))
                total -= np.log1p(there * (any_of_them @ odds - 1))
        return found
