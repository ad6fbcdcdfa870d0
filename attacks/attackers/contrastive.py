"""Contrastive re-identification (Schmahl et al. 2025): one batch tells everybody from everybody.

Images of a patient stand in groups; InfoNCE draws the images of a patient together and away from
all others of the batch, over its whole matrix of cosines.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.identity_options import ContrastiveOptions
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import Figures, Mean, Stage
from attacks.networks.build import build_contrastive
from attacks.training.augmentation import changes
from attacks.training.embedding import Embedding
from attacks.training.groups import Groups, Lessons, compared
from attacks.training.schedules import Clock, one_cycle_rate, set_rate, step_rate

RATES = {"step": step_rate, "1cycle": one_cycle_rate}


def info_nce(
    embeddings: Tensor, genuine: Tensor, impostor: Tensor, *, temperature: float
) -> Tensor:
    """InfoNCE over the whole matrix of a batch (van den Oord et al. 2018).

    For every image, the mean over its genuine partners of −log of their share among all images
    that it is compared with; images without a partner are impostors only.

    Args:
        embeddings: (m, features).
        genuine, impostor: bool (m, m); what is neither counts nothing.
        temperature: of the cosines.
    """
    unit = F.normalize(embeddings.float(), dim=1)
    cosine = unit @ unit.T / temperature
    among = cosine.masked_fill(~(genuine | impostor), float("-inf")).logsumexp(1, keepdim=True)
    asking = genuine.any(dim=1)
    share = torch.where(genuine, among - cosine, 0.0).sum(1)[asking] / genuine.sum(1)[asking]
    return share.mean()


class ContrastiveStage(Stage):
    """Trains an embedding network with :func:`info_nce`, Adam with decoupled weight decay."""

    name = "contrastive"

    def __init__(
        self,
        network: nn.Module,
        options: ContrastiveOptions,
        *,
        lessons: Lessons,
        check: Callable[[], Figures],
        compute: Compute,
    ) -> None:
        self.options, self.lessons, self.check, self.compute = options, lessons, check, compute
        self.epochs, self.patience = options.epochs, options.patience
        self.network, self.clock = compute.ready(network), Clock()
        self.modules = {"network": network, "clock": self.clock}
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=options.rate, weight_decay=options.weight_decay
        )
        self.optimizers = {"network": self.optimizer}
        self.augment = changes(
            photometric=options.photometric, erase=options.erase, affine=options.affine
        )

    def train_epoch(self, seed: int) -> Figures:
        o, total = self.options, Mean()
        groups = self.lessons.groups(images=o.images, singles=o.singles, flip=o.flip, seed=seed)
        batches = list(groups.batches(o.patients))
        for number, chosen in enumerate(batches):
            done = (self.clock.now + number / len(batches)) / self.epochs
            set_rate(self.optimizer, RATES[o.schedule](done, o.rate))
            for part in self.compute.parts(chosen):
                with self.compute.autocast():
                    loss = self._loss(groups, part)
                self.compute.backward(loss, part.common_weight)
                total.add(loss, len(part.rows))
            self.compute.step(self.optimizer)
        self.clock.tick()
        return {"loss": total.over(self.compute)}

    def validate(self) -> Figures:
        return self.check()

    def _loss(self, groups: Groups, part: Part) -> Tensor:
        """Over the images of all processes; each image was changed on its own."""
        images = self.lessons.images(groups, part.rows).to(self.compute.device)
        embeddings = self.compute.gather(self.network(self.augment(images)), part)
        pairs = compared(self.lessons.owners, groups, np.concatenate(part.shares))
        genuine, impostor = (torch.from_numpy(p).to(embeddings.device) for p in pairs)
        return info_nce(embeddings, genuine, impostor, temperature=self.options.temperature)


class Contrastive(Embedding):
    """A network that knows patients by the cosine of its embeddings.

    Args:
        options: network and training.
        others: as :class:`Embedding` takes them.
    """

    name = "contrastive"
    distance = "cosine"
    options: ContrastiveOptions

    def build(self) -> nn.Module:
        return build_contrastive(self.options)

    def stage(
        self, network: nn.Module, lessons: Lessons, check: Callable[[], Figures]
    ) -> ContrastiveStage:
        return ContrastiveStage(
            network, self.options, lessons=lessons, check=check, compute=self.learning.compute
        )
