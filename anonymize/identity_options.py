"""Typed options of the attackers that learn who is shown, sections of ``evaluation``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from anonymize.section import Options

TrainedOn = Literal["released-released", "released-real", "mixed"]


class LearnerOptions(Options):
    """What the attackers have in common that learn who is shown and compare what they found."""

    trained_on: TrainedOn = Field(
        "mixed",
        description="what an informed attacker sees of a patient: released images, both "
        "kinds in turn, or one of both at random",
    )
    test_flip: bool = Field(True, description="scores are averaged with those of mirrored images")


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
    weight_decay: float = Field(1e-5, ge=0, description="L2 penalty")
    augment: bool = Field(True, description="small random affine maps and gray-scale changes")
    test_flip: bool = Field(False, description="scores are averaged with those of mirrored images")

    @model_validator(mode="after")
    def _remembers(self) -> RetrievalOptions:
        if 0 < self.memory < self.batch:
            raise ValueError(
                f"memory must be 0 (none) or hold a batch of {self.batch}, got {self.memory}"
            )
        return self


class HistogramMetricOptions(LearnerOptions):
    """The attacker ``histogram-metric``: gradient histograms, compared as patients teach."""

    cells: tuple[int, ...] = Field((6, 8, 12, 16), description="cells along a side, scale by scale")
    components: tuple[int, ...] = Field(
        (100, 200, 400), description="principal components; the best on validation is taken"
    )
    shrinkage: tuple[float, ...] = Field(
        (0.1, 0.3), description="of the scatter towards a multiple of the identity, likewise"
    )
    restoration: tuple[float, ...] = Field(
        (1.0, 10.0),
        description="ridges of a linear map that takes released images back to real ones, in "
        "units of the mean variance; the best on validation, or no map, is taken",
    )
    copies: int = Field(4, ge=0, description="changed copies of each training image")
    most: int = Field(6000, ge=2, description="training images, drawn where there are more")

    @model_validator(mode="after")
    def _grid(self) -> HistogramMetricOptions:
        if not self.cells or not self.components or not self.shrinkage:
            raise ValueError("cells, components and shrinkage need one value or more each")
        if min(self.cells) < 3 or min(self.components) < 2:
            raise ValueError("cells must be at least 3 (a block), components at least 2")
        if not all(0 < s <= 1 for s in self.shrinkage):
            raise ValueError("shrinkage must lie in (0, 1]")
        if not all(r > 0 for r in self.restoration):
            raise ValueError("restoration must be above 0; leave it empty for no map")
        return self


class RegistrationOptions(Options):
    """The attacker ``registration``: what remains different when one image is laid on the other."""

    side: int = Field(64, ge=16, le=512, description="images are averaged to side × side pixels")
    block: int = Field(8, ge=4, le=64, description="side of the blocks that move, pixels")
    reach: int = Field(2, ge=0, le=16, description="how far a block may move, pixels")
    candidates: int = Field(
        50, ge=1, description="gallery images a probe, by training-free score, that are registered"
    )


class LearnedInverseOptions(Options):
    """The attacker ``learned-inverse``: a U-Net undoes the release, then the verifier looks."""

    features: int = Field(8, ge=2, le=256, description="channels of the U-Net's first level")
    levels: int = Field(3, ge=1, le=5, description="poolings of the U-Net")
    reach: float = Field(0.1, gt=0, le=1, description="largest displacement; [−1, 1] is the image")
    epochs: int = Field(10, ge=1, description="at most")
    patience: int = Field(3, ge=1, description="epochs without improvement on validation")
    batch: int = Field(32, ge=2, description="images a step")
    rate: float = Field(1e-3, gt=0, description="learning rate of Adam")
