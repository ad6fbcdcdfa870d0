"""Contrastive re-identification (Schmahl et al. 2025): one batch tells everybody from everybody.

Images of a patient stand in groups; InfoNCE draws the images of a patient together and away from
all others of the batch, over its whole matrix of cosines.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import kornia.augmentation as K
import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from anonymize.errors import UsageError
from anonymize.networks.backbones import backbone, input_of
from anonymize.options import TrainOptions
from anonymize.training.compute import Part
from anonymize.training.loop import Figures, Mean
from attacks.attacker import Attacker
from attacks.attackers.embedding import Embedding, EmbeddingStage
from attacks.knowledge.levels import Ladder, Setting, own
from attacks.networks.gradient_net import GradientNet, TwoStream
from attacks.networks.resolution import at_side
from attacks.training.groups import Groups, pair_masks
from attacks.training.learning import LearnerOptions
from attacks.training.lungs import LungCrop, read_boxes
from attacks.training.schedules import one_cycle_rate, set_rate, step_rate

OWN = {"gradients": GradientNet, "two-stream": TwoStream}
RATES = {"step": step_rate, "1cycle": one_cycle_rate}
GRAY = 0.5


class ContrastiveOptions(LearnerOptions):
    """The attacker ``contrastive`` (Schmahl et al. 2025); the defaults are the published ones."""

    architecture: str = Field(
        "resnet34",
        description="a backbone by name; 'gradients': small, on gradient histograms; or "
        "'two-stream': that beside 'compact' on 32 × 32 pixels",
    )
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of a network that is no published one")
    features: int = Field(256, ge=2, description="length of the embedding")
    side: int | None = Field(
        None, ge=24, description="images are averaged to side × side pixels; none: as they are"
    )
    epochs: int = Field(200, ge=1, description="at most; in each, every image of a patient once")
    patience: int = Field(200, ge=1, description="epochs without improvement on validation")
    patients: int = Field(32, ge=2, description="groups of images in a batch")
    images: int = Field(2, ge=2, le=64, description="images in a group, of one patient")
    singles: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of groups that are one image several times, changed at random: of "
        "patients with one image, and of unknown patients",
    )
    temperature: float = Field(0.1, gt=0, description="of InfoNCE")
    rate: float = Field(1e-3, gt=0, description="learning rate of Adam, the greatest of '1cycle'")
    schedule: Literal["step", "1cycle"] = Field(
        "step", description="'step': a fifth of the rate in the second half, as published"
    )
    weight_decay: float = Field(0.0, ge=0, description="decoupled from the gradient")
    flip: bool = Field(True, description="half of the groups are mirrored, whole")
    photometric: bool = Field(True, description="random gamma, contrast and brightness")
    erase: float = Field(0.5, ge=0, le=1, description="probability of a random gray rectangle")
    affine: bool = Field(False, description="small random rotations, shifts and scalings")
    lung_boxes: Path | None = Field(
        None, description="images are cropped to the lungs first: boxes as COCO JSON or CSV"
    )
    lung_margin: float = Field(0.1, ge=0, le=1, description="around a box, as a share of it")

    @property
    def all_epochs(self) -> int:
        """At most."""
        return self.epochs


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


def changes(*, photometric: bool, erase: float, affine: bool) -> nn.Module:
    """Each training image (B, 1, H, W) in [0, 1] is changed on its own.

    Args:
        photometric: gamma from 0.7 to 1.4, contrast times 0.8 to 1.2, brightness by up to 0.2.
        erase: probability that a gray rectangle hides 2 to 15 % of the image.
        affine: rotations up to 8°, shifts up to 5 % of the side, scalings up to 10 %.
    """
    steps: list[nn.Module] = []
    if affine:
        steps.append(
            K.RandomAffine(
                degrees=8.0,
                translate=(0.05, 0.05),
                scale=(0.9, 1.1),
                padding_mode="border",
                align_corners=True,
                p=1.0,
            )
        )
    if photometric:
        steps.append(K.RandomGamma(gamma=(0.7, 1.4), gain=(1.0, 1.0), p=1.0))
        steps.append(K.RandomContrast((0.8, 1.2), p=1.0))
        steps.append(K.RandomBrightness((0.8, 1.2), p=1.0))
    if erase:
        steps.append(K.RandomErasing(scale=(0.02, 0.15), value=GRAY, p=erase))
    return nn.Sequential(*steps)


class ContrastiveStage(EmbeddingStage):
    """Learns by :func:`info_nce`, Adam with decoupled weight decay."""

    name = "contrastive"
    options: ContrastiveOptions

    def __init__(self, network: nn.Module, options: ContrastiveOptions, **given: Any) -> None:
        super().__init__(network, options, **given)
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

    def _loss(self, groups: Groups, part: Part) -> Tensor:
        """Over the images of all processes."""
        embeddings = self.compute.gather(self.embedded(self.network, groups, part), part)
        pairs = pair_masks(self.lessons.owners, groups, np.concatenate(part.shares))
        genuine, impostor = (torch.from_numpy(p).to(embeddings.device) for p in pairs)
        return info_nce(embeddings, genuine, impostor, temperature=self.options.temperature)


class Contrastive(Embedding):
    """A network that knows patients by the cosine of its embeddings."""

    name = "contrastive"
    what = "a network of InfoNCE over whole batches (Schmahl et al. 2025)"
    Options = ContrastiveOptions
    stage = ContrastiveStage
    distance = "cosine"
    options: ContrastiveOptions

    @classmethod
    def ladder(cls) -> Ladder:
        return {k: replace(level, not_of_files=_boxes) for k, level in super().ladder().items()}

    @classmethod
    def _at(cls, knowledge: Literal["ignorant", "informed"], setting: Setting) -> Attacker:
        options, crop = own(cls, setting.options), None
        if options.lung_boxes is not None:
            boxes = read_boxes(options.lung_boxes, setting.data.table.frame["image_id"].tolist())
            crop = LungCrop(boxes, margin=options.lung_margin)
        return cls(options, knowledge=knowledge, crop=crop, learning=setting.learning)

    def build(self) -> nn.Module:
        o = self.options
        if o.architecture in OWN:
            if o.weights is not None:
                raise UsageError(
                    f"architecture {o.architecture} has no published weights; leave weights empty"
                )
            return nn.Sequential(*at_side(o.side), OWN[o.architecture](o.features, width=o.width))
        network = backbone(o.architecture, o.features, weights=o.weights, width=o.width)
        return nn.Sequential(*at_side(o.side), input_of(o.architecture), network)


def _boxes(options: TrainOptions) -> str:
    if own(Contrastive, options).lung_boxes is None:
        return ""
    return (
        "boxes of lungs are not known of the images to compare; leave "
        "evaluation.contrastive.lung_boxes out"
    )
