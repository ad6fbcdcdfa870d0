"""Image retrieval (Packhäuser et al. 2022): embeddings that rank the images of a patient first.

Contrastive loss on pairs mined from each batch and from a memory of the batches before it; SGD
with one cycle of the learning rate in each of two phases: the head alone, then the whole network.
"""

import copy
import math
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import ContrastiveLoss, CrossBatchMemory
from pytorch_metric_learning.miners import MultiSimilarityMiner
from torch import Tensor, nn

from anonymize.data.batches import augmentation
from anonymize.networks.backbones import backbone, input_of
from anonymize.training.compute import Part
from anonymize.training.loop import Figures
from attacks.attackers.embedding import Embedding, EmbeddingStage
from attacks.networks.resolution import at_side
from attacks.training.groups import Groups
from attacks.training.learning import LearnerOptions
from attacks.training.schedules import one_cycle_rate, set_rate

A_PATIENT = 2  # images in a batch
RATES = np.geomspace(1e-5, 1.0, 60)  # that a search tries
SMOOTHING = 0.9
EXPLODED = 4.0  # times the least loss
SAFE = 10.0  # the rate of the least loss is divided by it
Criterion = Callable[[Tensor, Tensor], Tensor]  # embeddings and patients → loss


class RetrievalOptions(LearnerOptions):
    """The attacker ``retrieval`` (Packhäuser et al. 2022); the defaults are the published ones."""

    architecture: str = Field("resnet50", description="a backbone by name")
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of the backbone 'compact'")
    pooled: int = Field(5, ge=1, description="both poolings give pooled × pooled cells")
    maps: int = Field(100, ge=1, description="maps after the 1×1 convolution")
    features: int = Field(128, ge=2, description="length of the embedding")
    side: int | None = Field(
        None, ge=24, description="images are averaged to side × side pixels; none: as they are"
    )
    head_epochs: int = Field(30, ge=0, description="with the backbone frozen")
    epochs: int = Field(50, ge=1, description="of the whole network after that")
    patience: int = Field(80, ge=1, description="epochs without improvement on validation")
    batch: int = Field(32, ge=4, description="images a step, two or more of each patient")
    margin: float = Field(1.0, gt=0, description="of the contrastive loss")
    memory: int = Field(128, ge=0, description="embeddings of earlier batches to compare with")
    rate: float | None = Field(
        None, gt=0, description="greatest learning rate of 1cycle; none: a search finds it"
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="of SGD")
    weight_decay: float = Field(1e-5, ge=0, description="L2 penalty")
    augment: bool = Field(True, description="small random affine maps and gray-scale changes")
    test_flip: bool = Field(False, description="scores are averaged with those of mirrored images")

    @model_validator(mode="after")
    def _remembers(self) -> Self:
        if 0 < self.memory < self.batch:
            raise ValueError(
                f"memory must be 0 (none) or hold a batch of {self.batch}, got {self.memory}"
            )
        return self

    @property
    def all_epochs(self) -> int:
        """At most, in both phases."""
        return self.head_epochs + self.epochs


def find_rate(step: Callable[[float], float]) -> float:
    """A learning rate by trial (Smith 2017): steps with ever greater rates, until the loss
    explodes; a tenth of the rate at which the smoothed loss was least.

    Args:
        step: takes one training step with the rate, on a copy of the network, and gives the loss.
    """
    smooth, least, best = 0.0, math.inf, RATES[0]
    for number, rate in enumerate(RATES, start=1):
        loss = step(float(rate))
        if not math.isfinite(loss):
            break
        smooth = SMOOTHING * smooth + (1 - SMOOTHING) * loss
        level = smooth / (1 - SMOOTHING**number)  # the first ones would weigh too little
        if level < least:
            least, best = level, rate
        if level > EXPLODED * least:
            break
    return float(max(best / SAFE, RATES[0]))


class RetrievalStage(EmbeddingStage):
    """Trains ``network``: ``[0]``, the backbone, stays as it is for the first ``head_epochs``;
    ``[1]`` is the head. Images of unknown patients are left out."""

    name = "retrieval"
    network: nn.Sequential
    options: RetrievalOptions

    def __init__(self, network: nn.Sequential, options: RetrievalOptions, **given: Any) -> None:
        super().__init__(network, options, **given)
        self.optimizer = self._sgd(network)
        self.optimizers = {"network": self.optimizer}
        self.augment = augmentation() if options.augment else nn.Identity()

    def train_epoch(self, seed: int) -> Figures:
        now, first = self.clock.now, self.options.head_epochs
        head_only = now < first
        phase_start, epochs = (0, first) if head_only else (first, self.options.epochs)
        groups = self._groups(seed)
        if now == phase_start:
            self.clock.rate.fill_(self.options.rate or self._search(groups, head_only))
        self._freeze(self.network, head_only)
        batches, criterion, losses = self._batches(groups), self._criterion(), []
        for number, chosen in enumerate(batches):
            done = (now - phase_start + number / len(batches)) / epochs
            set_rate(self.optimizer, one_cycle_rate(done, float(self.clock.rate)))
            losses.append(self._step(self.network, self.optimizer, criterion, groups, chosen))
        self.clock.tick()
        return {"loss": float(np.mean(losses)), "rate": float(self.clock.rate)}

    def _search(self, groups: Groups, head_only: bool) -> float:
        """A rate for the phase that begins, tried on a copy."""
        trial = copy.deepcopy(self.network)
        self._freeze(trial, head_only)
        optimizer, criterion = self._sgd(trial), self._criterion()
        batches = islice(cycle(self._batches(groups)), len(RATES))

        def step(rate: float) -> float:
            set_rate(optimizer, rate)
            return self._step(trial, optimizer, criterion, groups, next(batches))

        return self.compute.broadcast(find_rate(step))

    def _step(
        self,
        network: nn.Sequential,
        optimizer: torch.optim.Optimizer,
        criterion: Criterion,
        groups: Groups,
        chosen: np.ndarray,
    ) -> float:
        """One step; the mean loss."""
        total = 0.0
        for part in self.compute.parts(chosen):
            with self.compute.autocast():
                embeddings = self.embedded(network, groups, part)
            loss = self._loss(criterion, embeddings, groups, part)
            self.compute.backward(loss, part.common_weight)
            total += float(loss.detach()) * part.common_weight
        self.compute.step(optimizer)
        return total

    def _loss(self, criterion: Criterion, embeddings: Tensor, groups: Groups, part: Part) -> Tensor:
        """Over the images of all processes, and the memory."""
        everyone = self.compute.gather(embeddings.float(), part)
        rows = groups.rows[np.concatenate(part.shares)].ravel()
        patients = torch.from_numpy(self.lessons.owners.patient[rows]).to(everyone.device)
        return criterion(everyone, patients)

    def _criterion(self) -> Criterion:
        """A loss whose memory is empty: each epoch begins with one, so that none is kept."""
        o, distance = self.options, LpDistance(normalize_embeddings=True)
        loss = ContrastiveLoss(pos_margin=0, neg_margin=o.margin, distance=distance)
        miner = MultiSimilarityMiner(distance=distance)
        if not o.memory:
            return lambda embeddings, labels: loss(embeddings, labels, miner(embeddings, labels))
        return CrossBatchMemory(loss, o.features, memory_size=o.memory, miner=miner)

    def _groups(self, seed: int) -> Groups:
        return self.lessons.groups(images=A_PATIENT, singles=0.0, flip=False, seed=seed)

    def _batches(self, groups: Groups) -> list[np.ndarray]:
        return list(groups.batches(self.options.batch // A_PATIENT))

    def _sgd(self, network: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            network.parameters(),
            lr=1.0,
            momentum=self.options.momentum,
            weight_decay=self.options.weight_decay,
        )

    @staticmethod
    def _freeze(network: nn.Sequential, head_only: bool) -> None:
        network.train()
        network[0].train(not head_only)
        network[0].requires_grad_(not head_only)


class TwoPoolHead(nn.Module):
    """Average and max pooling to P × P cells, which keeps where things lie, 1×1 convolution, two
    linear layers.

    Args:
        channels: of the feature maps (B, channels, h, w), of any size.
        pooled: P, the paper's 5.
        maps: after the convolution, the paper's 100.
        features: outputs (B, features), the paper's 128.
    """

    def __init__(self, channels: int, *, pooled: int, maps: int, features: int) -> None:
        super().__init__()
        self.average = nn.AdaptiveAvgPool2d(pooled)
        self.most = nn.AdaptiveMaxPool2d(pooled)
        self.reduce = nn.Conv2d(2 * channels, maps, 1)
        self.hidden = nn.Linear(maps * pooled**2, features)
        self.last = nn.Linear(features, features)

    def forward(self, maps: Tensor) -> Tensor:
        both = torch.cat((self.average(maps), self.most(maps)), dim=1)
        return self.last(F.relu(self.hidden(F.relu(self.reduce(both)).flatten(1))))


def feature_maps(network: nn.Module) -> tuple[list[nn.Module], int]:
    """What of a backbone stands before its global pooling, and its channels."""
    part = network.get_submodule
    if hasattr(network, "features"):  # DenseNet
        return [part("features"), nn.ReLU(inplace=True)], _inputs(part("classifier"))
    if hasattr(network, "stem"):  # ours
        return [part("stem"), part("blocks")], _inputs(part("fc"))
    parts = [module for name, module in network.named_children() if name not in ("avgpool", "fc")]
    return parts, _inputs(part("fc"))


def _inputs(layer: nn.Module) -> int:
    assert isinstance(layer, nn.Linear)
    return layer.in_features


class Retrieval(Embedding):
    """Ranks the gallery by the Euclidean distance of embeddings of length 1."""

    name = "retrieval"
    what = "a retrieval network of mined pairs (Packhäuser et al. 2022)"
    Options = RetrievalOptions
    stage = RetrievalStage
    distance = "euclidean"
    options: RetrievalOptions

    def build(self) -> nn.Sequential:
        """``[0]`` is the backbone, which the first phase keeps as it is, and ``[1]`` the head."""
        o = self.options
        whole = backbone(o.architecture, 1, weights=o.weights, width=o.width)
        body, channels = feature_maps(whole)
        head = TwoPoolHead(channels, pooled=o.pooled, maps=o.maps, features=o.features)
        return nn.Sequential(nn.Sequential(*at_side(o.side), input_of(o.architecture), *body), head)
