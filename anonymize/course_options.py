"""Options of what is measured while a generator trains, and of when that may end."""

from __future__ import annotations

from pydantic import Field, model_validator

from anonymize.section import Options, only


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
    def _measured(self) -> CourseOptions:
        if self.attacker_patience is not None and not self.attacker_every:
            raise ValueError(
                "adversarial.course.attacker_patience counts fresh attackers: set "
                "adversarial.course.attacker_every to 1 or more"
            )
        return self
