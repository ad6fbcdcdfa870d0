"""Typed options of a run; `configuration` reads them from YAML and ``--set``.

Sections of plug-ins are added there: those of a method that is trained, and of attackers.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from anonymize.generator_options import FlowOptions
from anonymize.objective_options import CourseOptions, ObjectiveOptions
from anonymize.section import LISTED, Options, only


class DataOptions(Options):
    """Which radiographs, and how they are split and paired."""

    source: str = Field("phantom", description="name of the data set's reader")
    root: Path | None = Field(
        None, description="folder of the data set; none for the phantom", **only()
    )
    size: int = Field(64, ge=16, le=4096, description="images are size × size pixels")
    on_missing: Literal["error", "skip"] = Field(
        "error", description="what a listed but absent or unreadable image does"
    )
    split_seed: int = Field(0, ge=0, description="seed of the patient-wise 70:10:20 split")
    uncertain: Literal["unknown", "positive", "negative"] = Field(
        "unknown", description="how CheXpert's uncertainty label −1 is read"
    )
    patients: int = Field(600, ge=10, description="phantom: number of patients")
    images: int = Field(2000, ge=10, description="phantom: number of images")
    phantom_seed: int = Field(0, ge=0, description="phantom: who is drawn")
    held_back: Annotated[tuple[str, ...], LISTED] = Field(
        (), description="labels that no method is told of; utility is measured on them, too"
    )
    held_back_share: float = Field(
        0.0, ge=0, lt=1, description="the same by a share of the labels, drawn by split_seed"
    )
    negatives: Literal["fixed", "fresh"] = Field(
        "fresh", description="impostor pairs: once (FTS) or drawn again each epoch (RNP)"
    )
    pairs: int | None = Field(
        None, ge=2, description="training pairs, half of them genuine; none: all genuine pairs"
    )
    pair_list: Path | None = Field(
        None, description="tab-separated training pairs (two file names, 1.0 or 0.0)"
    )
    validation_pairs: int = Field(5000, ge=2, description="fixed validation pairs, at most")
    validation_list: Path | None = Field(None, description="a list of them instead")
    test_pairs: int = Field(5000, ge=2, description="fixed test pairs, at most", **only("figures"))
    test_list: Path | None = Field(None, description="a list of them instead", **only("figures"))
    cache: Path | None = Field(
        None, description="folder of the HDF5 caches; none: the user's", **only()
    )
    workers: int = Field(2, ge=1, le=256, description="processes that read images", **only())

    @property
    def holds_back(self) -> bool:
        """Whether methods are to be told of some labels only."""
        return bool(self.held_back or self.held_back_share)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.held_back and self.held_back_share:
            raise ValueError(
                "data.held_back names labels and data.held_back_share draws them; give one"
            )
        if self.images < self.patients:
            raise ValueError(
                f"data.images ({self.images}) must be at least data.patients ({self.patients})"
            )
        return self


class ClassifierOptions(Options):
    """The auxiliary classifier."""

    architecture: str = Field("densenet121", description="a backbone by name")
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of the backbone 'compact'")
    size: int | None = Field(None, ge=16, description="input size in pixels; none: as it comes")
    epochs: int = Field(30, ge=1, description="at most")
    patience: int = Field(5, ge=1, description="epochs without improvement on validation")
    batch: int = Field(32, ge=2, description="images a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty")
    augment: bool = Field(True, description="small random affine maps and gray-scale changes")


class VerifierOptions(Options):
    """The siamese verifier: pre-trained, the opponent of the generator, and the attacker."""

    architecture: str = Field("resnet50", description="a backbone by name")
    weights: str | None = Field(None, description="torchvision's published weights by name")
    width: int = Field(32, ge=4, description="first channels of the backbone 'compact'")
    features: int = Field(128, ge=2, description="length of the embedding")
    epochs: int = Field(100, ge=1, description="at most")
    patience: int = Field(5, ge=1, description="epochs without improvement on validation")
    objective: Literal["pairs", "batch"] = Field(
        "pairs",
        description="'pairs': BCE on the listed pairs, as published; 'batch': every image of a "
        "batch against every other, BCE and InfoNCE, much stronger on few images",
    )
    batch: int = Field(32, ge=2, description="pairs a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty")
    augment: bool = Field(False, description="small random affine maps and gray-scale changes")


class ReconstructionOptions(Options):
    """Pre-training of the generator: MSE(F(x), x)."""

    epochs: int = Field(200, ge=0, description="0 leaves the pre-training out")
    patience: int = Field(200, ge=1, description="epochs without improvement on validation")
    batch: int = Field(64, ge=2, description="images a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of Adam")


class AdversarialOptions(ObjectiveOptions):
    """The game of generator, verifier and classifier (Eq. 4 to 6 of the paper)."""

    epochs: int = Field(250, ge=1, description="passes over the pairs")
    patience: int = Field(250, ge=1, description="epochs without improvement on validation")
    batch: int = Field(64, ge=2, description="pairs a step")
    rate: float = Field(1e-4, gt=0, description="learning rate of the generator (Adam)")
    verifier: Literal["updated", "frozen"] = Field("updated", description="Eq. 6")
    verifier_rate: float = Field(1e-4, gt=0, description="learning rate of the verifier (Adam)")
    auxiliary: Literal["frozen", "updated"] = Field("frozen", description="Eq. 5 if updated")
    auxiliary_rate: float = Field(1e-4, gt=0, description="its learning rate (SGD)")
    auxiliary_momentum: float = Field(0.9, ge=0, lt=1, description="its momentum")
    auxiliary_weight_decay: float = Field(1e-4, ge=0, description="its L2 penalty")
    auxiliary_loss: Literal["sum", "mean"] = Field(
        "mean", description="over the labels, as the published program; 'sum' as Eq. 2 is printed"
    )
    verification_weight: float = Field(1.0, ge=0, description="factor of L_ver in Eq. 4")
    best: Literal["loss", "attacker", "last"] = Field(
        "loss",
        description="the epoch whose generator is kept: of the lowest validation loss of Eq. 4, as "
        "the published program; of the weakest fresh attacker; or the last one",
    )
    course: CourseOptions = CourseOptions()

    @model_validator(mode="after")
    def _playable(self) -> Self:
        if self.best == "attacker" and not self.course.attacker_every:
            raise ValueError(
                "adversarial.best=attacker asks for a fresh attacker: set "
                "adversarial.course.attacker_every to 1 or more"
            )
        if self.auxiliary_target != "labels" and self.auxiliary == "updated":
            raise ValueError(
                f"adversarial.auxiliary_target={self.auxiliary_target} repeats what a frozen "
                "classifier says; set adversarial.auxiliary=frozen"
            )
        if self.auxiliary_target != "labels" and self.balance == "norms":
            raise ValueError(
                f"adversarial.auxiliary_target={self.auxiliary_target} has no gradient where "
                "nothing is deformed, so adversarial.balance=norms would never start; take "
                "constraint or fixed"
            )
        trained = ("opponents", "opponent_pairs", "opponent_reset", "replay")
        changed = [k for k in trained if getattr(self, k) != type(self).model_fields[k].default]
        if changed and self.verifier == "frozen":
            raise ValueError(
                f"adversarial.{changed[0]} is about opponents that learn; set "
                "adversarial.verifier=updated"
            )
        return self


class EvaluationOptions(Options):
    """How `attacks evaluate` measures a run; each attacker adds a section of its own."""

    repeats: int = Field(
        10, ge=1, description="independent trainings of each trained attacker", **only()
    )
    resamplings: int = Field(
        1000, ge=10, description="bootstrap draws of the patients", **only("figures")
    )
    utility: bool = Field(
        True, description="measure what the images are still good for, too", **only()
    )
    utility_repeats: int = Field(
        5, ge=1, description="independent trainings of the classifier on each release", **only()
    )
    utility_margin: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="AUC that a release may cost before its utility is worse than that of real "
        "images",
        **only("figures"),
    )
    attacker_start: Literal["verifier", "scratch"] = Field(
        "verifier",
        description="the attacker goes on from the verifier of real images, or starts anew (from "
        "verifier.weights where they are given)",
    )
    attacker_epochs: int | None = Field(
        None, ge=1, description="at most, of each trained attacker; none: verifier.epochs"
    )
    attacker_pairs: Literal["released-released", "released-real", "mixed"] = Field(
        "released-released",
        description="what the attacker trains on: both images of a pair released (as published), "
        "one of them real, or half of the pairs each",
    )
    false_match_rate: float = Field(
        0.01,
        gt=0,
        lt=1,
        description="of the threshold at which true match rates are given",
        **only("figures"),
    )
    scenario: Literal["released-real", "released-released", "before-after"] = Field(
        "released-real",
        description="a released image against the patient's other real images, against the "
        "patient's other released images, or against its own original",
    )


class TrainOptions(Options):
    """Everything that `anonymize train` is made of, and how it is measured.

    ``generator`` holds the options of PriCheXy-Net; :func:`train_options` gives the same class for
    another method.
    """

    seed: int = Field(0, ge=0, description="of every random choice")
    threads: int | None = Field(
        None, ge=1, description="CPU threads; none: torch's choice", **only()
    )
    precision: Literal["no", "bf16", "fp16"] = Field(
        "no", description="mixed precision of training; 'no' is float32"
    )
    accumulation: int = Field(
        1, ge=1, description="micro-batches a batch is computed in, to need less memory"
    )
    data: DataOptions = DataOptions()
    generator: FlowOptions = Field(FlowOptions(), **only("model"))
    classifier: ClassifierOptions = ClassifierOptions()
    verifier: VerifierOptions = VerifierOptions()
    reconstruction: ReconstructionOptions = Field(ReconstructionOptions(), **only("model"))
    adversarial: AdversarialOptions = Field(AdversarialOptions(), **only("model"))
    evaluation: EvaluationOptions = Field(EvaluationOptions(), **only("scores", "figures"))
    samples: int = Field(4, ge=0, le=16, description="images in each sample picture", **only())

    @field_validator("precision", mode="before")
    @classmethod
    def _no_is_a_word(cls, precision: object) -> object:
        return "no" if precision is False else precision  # as YAML 1.1 reads it

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self.generator.check_size(self.data.size)
        return self
