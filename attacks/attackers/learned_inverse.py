"""A learned inverse in front of the verifier of real images.

An adversary who can run the anonymizer has pairs of an image and its release. A U-Net learns from
them to give the image back: a displacement, smoothed, and what is added to the gray levels after
it. What it restores is shown to the verifier that never saw a release.
"""

from typing import Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from anonymize import flow
from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.networks.unet import UNet
from anonymize.section import Options
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import BatchStage, Figures, Mean
from anonymize.training.stages import EVALUATION_BATCH
from attacks.attacker import Attacker, Auxiliary, ImageSet, unit_batches
from attacks.attackers.verification import KnownVerifier
from attacks.knowledge.levels import Ladder, Level, own
from attacks.training.learning import Learning


class LearnedInverseOptions(Options):
    """The attacker ``learned-inverse``: a U-Net undoes the release, then the verifier looks."""

    features: int = Field(8, ge=2, le=256, description="channels of the U-Net's first level")
    levels: int = Field(3, ge=1, le=5, description="poolings of the U-Net")
    reach: float = Field(0.1, gt=0, le=1, description="largest displacement; [−1, 1] is the image")
    epochs: int = Field(10, ge=1, description="at most")
    patience: int = Field(3, ge=1, description="epochs without improvement on validation")
    batch: int = Field(32, ge=2, description="images a step")
    rate: float = Field(1e-3, gt=0, description="learning rate of Adam")


class Inverse(nn.Module):
    """Released images (B, 1, H, W) in [0, 1] → restored ones; at first what it is given."""

    def __init__(self, options: LearnedInverseOptions) -> None:
        super().__init__()
        self.reach = options.reach
        self.unet = UNet(
            1, 3, features=options.features, levels=options.levels, activation=torch.tanh
        )
        for parameter in self.unet.conv.parameters():
            nn.init.zeros_(parameter)

    def forward(self, images: Tensor) -> Tensor:
        step = 2**self.unet.levels
        h, w = images.shape[-2:]
        padded = nn.functional.pad(images, (0, -w % step, 0, -h % step), mode="replicate")
        x, y, added = self.unet(padded)[..., :h, :w].split(1, dim=1)
        displacement = flow.smooth(self.reach * torch.cat((x, y), dim=1))
        return flow.warp(images, displacement) + added


class InverseStage(BatchStage):
    """Mean absolute error of the restored image."""

    def __init__(
        self,
        network: Inverse,
        options: LearnedInverseOptions,
        *,
        training: tuple[Images, Images],
        validation: tuple[Images, Images],
        compute: Compute,
    ) -> None:
        super().__init__("inverse", options, {"network": network}, compute)
        self._training, self._validation = training, validation
        self.rows = np.arange(len(training[0]))

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        return tuple(self.compute.put(held.batch(part.rows)) for held in self._training)

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        return self._loss(*inputs)

    def validate(self) -> Figures:
        total = Mean()
        for rows in in_batches(np.arange(len(self._validation[0])), EVALUATION_BATCH):
            held = (images.batch(rows).to(self.device) for images in self._validation)
            total.add(self._loss(*held), len(rows))
        return {"loss": total.value}

    def _loss(self, released: Tensor, real: Tensor) -> Tensor:
        return (self.network(released) - real).abs().mean()


class LearnedInverse(Attacker):
    """Restores the probes, then lets another attacker score them.

    Args:
        then: scores restored probes against the gallery.
        learning: of the network; None: on the CPU, and nothing is kept.
    """

    name = "learned-inverse"
    Options = LearnedInverseOptions
    knowledge = "informed"

    @classmethod
    def ladder(cls) -> Ladder:
        words = "a U-Net undoes the release, then the verifier of real images looks"
        return {
            "informed": Level(
                lambda setting: cls(
                    own(cls, setting.options),
                    then=KnownVerifier(setting.verifier(), device=setting.learning.device),
                    learning=setting.learning,
                ),
                lambda options: words,
                learns="released",
                trained_on=lambda options: "released-real",
                epochs=lambda options: own(cls, options).epochs,
                needs_verifier=lambda options: True,
            )
        }

    def __init__(
        self, options: LearnedInverseOptions, *, then: Attacker, learning: Learning | None = None
    ) -> None:
        self.options, self.then = options, then
        self.learning = learning or Learning()

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns to restore; the epoch with the smallest error on the validation part is kept."""
        torch.manual_seed(derive_seed(seed, self.name))
        self.network = Inverse(self.options)
        known = auxiliary
        stage = InverseStage(
            self.network,
            self.options,
            training=_held(known.released, known.real),
            validation=_held(known.validation_released, known.validation_real),
            compute=self.learning.compute,
        )
        self.learning.train(stage, seed=seed)
        return self

    @torch.no_grad()
    def restored(self, images: Tensor) -> Tensor:
        """float32 (N, 1, H, W) in [0, 1]."""
        self.network.eval()
        batches = unit_batches(images, EVALUATION_BATCH, self.learning.device)
        return torch.cat([self.network(batch).clamp(0, 1).cpu() for batch in batches])

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G), of restored probes; the gallery is real, and stays as it is."""
        return self.then.score(self.restored(probes), gallery)


def _held(released: ImageSet, real: ImageSet) -> tuple[Images, Images]:
    return HeldImages(released.images), HeldImages(real.images)
