"""Registration of gallery to probe, with the residual as score.

Every block of the probe looks for the place around its own where the gallery image correlates best
with it: a piecewise shift, which follows any smooth deformation of a few pixels. The score is the
mean correlation that is left: low where two images differ by more than a deformation. The blocks
that find their place independently of each other cost too much for all pairs, so that only the
candidates of a faster attacker are registered; the others stay below them, in their order.
"""

from functools import reduce

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from anonymize.section import Options
from attacks.attacker import Attacker, unit_float
from attacks.attackers.training_free import TrainingFree
from attacks.knowledge.levels import Ladder, Level, ladder_of_untaught, own
from attacks.measuring.similarity import check_sets
from attacks.networks.resolution import averaged

STEADY = 1e-3  # gray-level deviation below which a block is not scaled up


class RegistrationOptions(Options):
    """The attacker ``registration``: what remains different when one image is laid on the other."""

    side: int = Field(64, ge=16, le=512, description="images are averaged to side × side pixels")
    block: int = Field(8, ge=4, le=64, description="side of the blocks that move, pixels")
    reach: int = Field(2, ge=0, le=16, description="how far a block may move, pixels")
    candidates: int = Field(
        50, ge=1, description="gallery images a probe, by training-free score, that are registered"
    )


class Registration(Attacker):
    """Piecewise registration of the most alike gallery images."""

    name = "registration"
    Options = RegistrationOptions
    knowledge = "ignorant"

    def __init__(
        self,
        options: RegistrationOptions | None = None,
        *,
        device: torch.device = torch.device("cpu"),  # noqa: B008
    ) -> None:
        self.options, self.device = options or RegistrationOptions(), device
        self._first = TrainingFree()

    @classmethod
    def ladder(cls) -> Ladder:
        words = "gallery laid on probe block by block, by what remains different"
        return ladder_of_untaught(
            Level(
                lambda setting: cls(own(cls, setting.options), device=setting.learning.device),
                lambda options: words,
            )
        )

    @torch.no_grad()
    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): of candidates 2 + their correlation in [−1, 1], of others a training-free
        score, which is at most 1."""
        check_sets(probes, gallery)
        scores = self._first.score(probes, gallery)
        count = min(self.options.candidates, len(gallery))
        candidates = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        asked, known = self._small(probes), self._small(gallery)
        for row, columns in enumerate(candidates):
            found = self._residuals(asked[row : row + 1], known[torch.from_numpy(columns)])
            scores[row, columns] = 2 + found.cpu().numpy()
        return scores

    def _small(self, images: Tensor) -> Tensor:
        side = min(self.options.side, *images.shape[-2:])
        side -= side % self.options.block
        return averaged(unit_float(images).to(self.device), side)

    def _residuals(self, probe: Tensor, gallery: Tensor) -> Tensor:
        """Mean best correlation (n,) of a probe's blocks with gallery images (n, 1, S, S)."""
        block, reach = self.options.block, self.options.reach
        asked = _blocks(probe, block)  # (1, blocks, pixels)
        around = F.pad(gallery, (reach,) * 4, mode="replicate")
        side, shifts = gallery.shape[-1], range(2 * reach + 1)
        moved = (around[..., y : y + side, x : x + side] for y in shifts for x in shifts)
        alike = ((_blocks(images, block) * asked).sum(-1) for images in moved)
        return reduce(torch.maximum, alike).mean(dim=1)


def _blocks(images: Tensor, block: int) -> Tensor:
    """Standardised blocks (n, blocks, block²) of length 1 or less, of images (n, 1, S, S)."""
    blocks = F.unfold(images, block, stride=block).transpose(1, 2)
    centred = blocks - blocks.mean(-1, keepdim=True)
    return centred / (centred.norm(dim=-1, keepdim=True) + STEADY * block)
