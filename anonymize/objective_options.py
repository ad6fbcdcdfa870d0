"""Options of what the generator minimises, of whom it plays against, and of what is measured."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from anonymize.section import LISTED, Options, only

Opponent = Literal["contrastive", "histogram", "restorer"]


class ObjectiveOptions(Options):
    """Beyond the published objective (Eq. 4 to 6); the defaults are the published ones."""

    verification_loss: Literal["all", "genuine", "match", "infonce"] = Field(
        "all",
        description="L_ver: 'all' pairs (Eq. 3), which lowers genuine and impostor scores alike; "
        "'genuine' pairs only; 'match' draws the distribution of genuine scores to that of "
        "impostors (1-D Wasserstein distance, Kolouri et al. 2018); 'infonce': the patient's own "
        "image is not to stand out among those of the batch (van den Oord et al. 2018, turned "
        "round)",
    )
    auxiliary_target: Literal["labels", "logits", "features"] = Field(
        "labels",
        description="what the classifier should say of an anonymized image: its 'labels' (Eq. 2), "
        "what it says of the real image ('logits', Hinton et al. 2015), or also see the same "
        "'features' (Romero et al. 2015)",
    )
    balance: Literal["fixed", "norms", "constraint"] = Field(
        "fixed",
        description="L_aux against L_ver: by verification_weight; so that it is the ratio of their "
        "gradients' norms at the generator's output (Esser et al. 2021); or L_ver alone, while "
        "L_aux is held within tolerance of the real images' (Rezende and Viola 2018)",
    )
    balance_rate: float = Field(
        0.05, gt=0, le=1, description="how far one step moves the weight of 'norms', 'constraint'"
    )
    tolerance: float = Field(
        0.05, gt=0, description="of 'constraint': by how much L_aux may exceed the real images'"
    )
    opponents: Annotated[tuple[Opponent, ...], LISTED] = Field(
        (),
        description="beside the siamese verifier: an embedding trained by InfoNCE (Schmahl et al. "
        "2025); a metric of gradient histograms (Dalal and Triggs 2005); a U-Net that restores the "
        "real image before it is verified (Heinrich and Hansen 2024)",
    )
    opponent_rate: float = Field(1e-3, gt=0, description="their learning rate (Adam)")
    opponent_pairs: Literal["released-real", "released-released", "mixed"] = Field(
        "released-real",
        description="what verifier and opponents are trained on: the second image of a pair real "
        "(as published, and as releases are attacked), released too, or half of the pairs each",
    )
    opponent_reset: int | None = Field(
        None,
        ge=1,
        description="epochs after which verifier and opponents start again as they began, so that "
        "none is led along (Nikishin et al. 2022)",
    )
    replay: int = Field(
        0,
        ge=0,
        le=16,
        description="so many earlier epochs' generators make half of the images that verifier and "
        "opponents are trained on, so that none forgets (Shrivastava et al. 2017)",
    )

    @field_validator("opponents")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("adversarial.opponents names one twice; name each once")
        return value


class CourseOptions(Options):
    """What is measured while the game is on, on validation pairs, and when it may end."""

    pairs: int = Field(
        256,
        ge=0,
        description="on which gradients and displacements are measured, at most; 0: none",
        **only(),
    )
    attacker_every: int = Field(
        1,
        ge=0,
        description="epochs from one fresh attacker to the next, and one after the last; 0: none",
    )
    attacker_images: int = Field(
        2000, ge=10, description="that it learns from, and that it is measured on, at most"
    )
    attacker_patience: int | None = Field(
        None,
        ge=1,
        description="fresh attackers in a row that are no weaker than the weakest before and so "
        "end the game; none: adversarial.epochs ends it",
    )
    attacker_margin: float = Field(
        0.005, ge=0, lt=1, description="AUC by which one must be weaker to count as weaker"
    )

    @model_validator(mode="after")
    def _measured(self) -> Self:
        if self.attacker_patience is not None and not self.attacker_every:
            raise ValueError(
                "adversarial.course.attacker_patience counts fresh attackers: set "
                "adversarial.course.attacker_every to 1 or more"
            )
        return self
