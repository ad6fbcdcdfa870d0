"""Whom the generator plays against: each tells whether a released and a real image are of one
patient, and learns from every step.

The siamese verifier is the published one (Eq. 6). One opponent is led along: a generator learns to
fool it and nobody else. Several see an image in different ways.
"""

import copy
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize.data.pairs import Pairs
from anonymize.generator_options import GeneratorOptions
from anonymize.networks.gradients import Histograms, Metric
from anonymize.networks.siamese import Siamese
from anonymize.networks.unet import UNet
from anonymize.options import AdversarialOptions
from anonymize.training.compute import Compute, Part
from anonymize.training.losses import batch_matching_loss, matching_loss, reconstruction_loss
from anonymize.training.stages import whole_batch


class Lesson(NamedTuple):
    """What opponents are trained on in one step."""

    released: Tensor  # (B, 1, H, W), made of ``real``
    real: Tensor  # the first images of the pairs
    second: Tensor  # the other images of the pairs, real or released
    same: Tensor  # bool (B,)
    pairs: Pairs  # where they stand
    part: Part
    patients: np.ndarray  # (images,) codes


class Opponent(nn.Module, ABC):
    """Compares released images with others."""

    name: str  # of its figures and of its state
    learner: nn.Module  # the part that is trained

    def restore(self, released: Tensor) -> Tensor:
        """What it makes of released images before it looks at them."""
        return released

    @abstractmethod
    def embed(self, images: Tensor) -> Tensor:
        """Embeddings (B, features)."""

    @abstractmethod
    def compare(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits (…,) of "the same patient", from embeddings that broadcast."""

    @abstractmethod
    def loss(self, lesson: Lesson, compute: Compute) -> Tensor:
        """What it minimises, to be weighed as a mean over this process's rows."""

    def pair(self, released: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings of both sides of pairs."""
        first, second = self.embed(torch.cat((self.restore(released), other))).chunk(2)
        return first, second


class Verifier(Opponent):
    """The siamese verifier (Packhäuser et al. 2022)."""

    name = "verifier"

    def __init__(self, network: Siamese) -> None:
        super().__init__()
        self.learner = self.network = network

    def embed(self, images: Tensor) -> Tensor:
        return self.network.embed(images)

    def compare(self, first: Tensor, second: Tensor) -> Tensor:
        return self.network.compare(first, second)

    def loss(self, lesson: Lesson, compute: Compute) -> Tensor:
        """Eq. 6, on anonymized images."""
        return matching_loss(self.network(lesson.released, lesson.second), lesson.same)


class Cosine(Opponent):
    """An embedding compared by its cosine; balanced cross-entropy and InfoNCE over the batch."""

    def __init__(self, name: str, network: nn.Module, entry: nn.Module) -> None:
        super().__init__()
        self.name, self.entry, self.network, self.scale = name, entry, network, _Scale()
        self.learner = nn.ModuleList((self.network, self.scale))

    def embed(self, images: Tensor) -> Tensor:
        return self.network(self.entry(images))

    def compare(self, first: Tensor, second: Tensor) -> Tensor:
        return self.scale(F.cosine_similarity(first, second, dim=-1))

    def loss(self, lesson: Lesson, compute: Compute) -> Tensor:
        part = lesson.part
        z = compute.gather(self.embed(torch.cat((lesson.released, lesson.second))), part)
        masks = map(compute.put, whole_batch(lesson.pairs, lesson.patients, part))
        common = batch_matching_loss(self.compare(z[:, None], z), z, *masks)
        return common * (part.common_weight / part.weight)


class _Scale(nn.Module):
    """Cosines to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.factor, self.offset = nn.Parameter(torch.tensor(5.0)), nn.Parameter(torch.tensor(0.0))

    def forward(self, cosine: Tensor) -> Tensor:
        return self.factor * cosine + self.offset


class Restorer(Verifier):
    """A U-Net restores the real image; then the verifier of real images, which stays, compares."""

    name = "restorer"

    def __init__(self, network: UNet, verifier: Siamese) -> None:
        super().__init__(verifier.eval().requires_grad_(False))
        nn.init.zeros_(network.conv.weight)  # it begins by changing nothing
        nn.init.zeros_(network.conv.bias)  # type: ignore[arg-type]
        self.learner = network

    def restore(self, released: Tensor) -> Tensor:
        return released + self.learner(released)

    def loss(self, lesson: Lesson, compute: Compute) -> Tensor:
        return reconstruction_loss(self.restore(lesson.released), lesson.real)


def build_opponents(
    options: AdversarialOptions, verifier: Siamese, generator: GeneratorOptions
) -> tuple[Opponent, ...]:
    """Those beside the verifier, at their beginning; it is copied as pre-trained on real images.

    The embedding starts as the verifier's, the metric as a random rotation of plain histograms, the
    restoring U-Net, which is as large as the generator's, as the identity.
    """
    return tuple(_build(name, verifier, generator) for name in options.opponents)


def _build(name: str, verifier: Siamese, generator: GeneratorOptions) -> Opponent:
    own = copy.deepcopy(verifier)
    if name == "contrastive":
        return Cosine(name, own.model, own.entry)
    if name == "histogram":
        return Cosine(name, Metric(own.fc_end.in_features), Histograms())
    unet = UNet(
        1, 1, features=generator.features, levels=generator.levels, activation=nn.Identity()
    )
    return Restorer(unet, own)
