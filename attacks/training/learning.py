"""How the network of an attacker is trained, whichever attacker it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field

from anonymize.errors import DataError
from anonymize.section import Options
from anonymize.training.compute import Compute
from anonymize.training.loop import Stage, fit

TrainedOn = Literal["released-released", "released-real", "mixed"]


class LearnerOptions(Options):
    """What the attackers have in common that learn who is shown and compare what they found."""

    trained_on: TrainedOn = Field(
        "mixed",
        description="what an informed attacker sees of a patient: released images, both "
        "kinds in turn, or one of both at random",
    )
    test_flip: bool = Field(True, description="scores are averaged with those of mirrored images")


def nobody_to_learn_from() -> DataError:
    """What an attacker says that learns who is shown, where nobody is shown twice."""
    return DataError(
        "no identified patient of the training part has several images, so there is "
        "nothing to learn who is shown from; use a data set with follow-ups"
    )


@dataclass(frozen=True)
class Learning:
    """Where an attacker learns, and what is kept of it on the way.

    Attributes:
        checkpoint: file that the training is continued from after a stop; None: none is kept.
        epoch: called with the number of finished epochs.
    """

    compute: Compute = field(default_factory=Compute)
    checkpoint: Path | None = None
    epoch: Callable[[int], None] = lambda done: None

    @property
    def device(self) -> torch.device:
        """Where networks live."""
        return self.compute.device

    def train(self, stage: Stage, *, seed: int) -> None:
        """Trains to the end; the best epoch on validation is kept in ``stage``'s modules."""
        fit(
            stage,
            seed=seed,
            checkpoint=self.checkpoint,
            report=lambda history: self.epoch(len(history)),
        )
