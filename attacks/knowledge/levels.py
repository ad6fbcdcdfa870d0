"""A rung of an attacker's ladder of knowledge, and the ladders that several attackers share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from anonymize.options import TrainOptions
from attacks.attacker import Attacker, Knowledge, section_of
from attacks.knowledge.scenarios import Scenario
from attacks.measuring.metrics import Owners
from attacks.training.learning import Learning, TrainedOn


@dataclass(frozen=True)
class Setting:
    """What an attacker may be made from.

    Attributes:
        verifier: gives the model file of the verifier of real images.
        model: the method, for who reads what it knows; None: it is not known.
    """

    options: TrainOptions
    data: Dataset
    verifier: Callable[[], Path]
    learning: Learning
    model: Anonymizer | None = None


@dataclass(frozen=True)
class Level:
    """An attacker at one level of knowledge.

    Attributes:
        build: makes it; None: it combines the scores of the attackers beside it.
        combine: what then becomes of the ensemble's scores (P, G).
        of_patients: these are then of all that shows a patient (`outputs.of_patients`).
        scenario: in words, what it learnt from and what it compares; for a report.
        learns: from what kind of images. Of real images it learns once, and attacks every method;
            of released ones it learns for each method anew.
        once: what it learns does not depend on the seed, so it is not repeated.
        epochs: of its training, at most; 0: it has none, or learns nothing.
        compares: with what; None: as the evaluation's option ``scenario`` says.
        sees: what it links by; "pixels": the outputs, and what a method says of them.
        missing: what it needs and the data do not have, in words; "" where it can take part.
        needs_verifier: whether it looks through the verifier of real images, or starts from it.
        not_of: why there is nothing to attack in a method, in words; "" where there is.
        not_of_files: why it cannot compare images of files, in words; "" where it can.
        floor: it learns nothing, or looks for no identity: who learns to must surpass it.
        trained_on: the kinds of its training pairs, where it learns from released images; None:
            it learns nothing, or does not say.
        marks: it looks for what a method stamped into its images, and real ones have nothing.
    """

    build: Callable[[Setting], Attacker] | None
    scenario: Callable[[TrainOptions], str]
    combine: Callable[[np.ndarray, Owners, Owners], np.ndarray] | None = None
    of_patients: bool = False
    learns: Literal["nothing", "real", "released"] = "nothing"
    once: bool = False
    epochs: Callable[[TrainOptions], int] = lambda options: 0
    compares: Scenario | None = None
    sees: Literal["pixels", "metadata"] = "pixels"
    missing: Callable[[Dataset], str] = lambda data: ""
    needs_verifier: Callable[[TrainOptions], bool] = lambda options: False
    not_of: Callable[[Anonymizer], str] = lambda model: ""
    not_of_files: Callable[[TrainOptions], str] = lambda options: ""
    floor: bool = False
    trained_on: Callable[[TrainOptions], TrainedOn | None] = lambda options: None
    marks: bool = False

    def make(self, setting: Setting) -> Attacker:
        """The attacker. Raises TypeError: it combines the scores of others, and is none itself."""
        if self.build is None:
            raise TypeError("an attacker that combines others is made of their scores")
        return self.build(setting)

    @property
    def trained(self) -> bool:
        """It learns from the training part, so it is repeated with independent seeds."""
        return self.learns != "nothing"

    @property
    def combines(self) -> bool:
        """It looks at no image, but at the scores of others."""
        return self.build is None


Ladder = dict[Knowledge, Level]
LAZY = ", which the adversary anonymizes too"
UNDONE = "; before that, the model itself undoes the release, or averages over its randomness"
SHOWN = {
    "released-released": "released images",
    "released-real": "released and real images in turn",
    "mixed": "released and real images",
}


def _lazy(level: Level) -> Level:
    """The same attacker, whose gallery is anonymized."""
    return replace(
        level,
        compares="released-released",
        scenario=lambda options: f"{level.scenario(options)}; gallery of real images{LAZY}",
    )


def _white_box(level: Level) -> Level:
    """The same attacker after `trial` has undone the release."""
    return replace(level, scenario=lambda options: level.scenario(options) + UNDONE)


def ladder_of_untaught(ignorant: Level) -> Ladder:
    """The ladder of an attacker that learns nothing."""
    return {"ignorant": ignorant, "lazy": _lazy(ignorant), "white-box": _white_box(ignorant)}


def ladder_of_learner(informed: Level, ignorant: Level) -> Ladder:
    """The ladder of an attacker that learns."""
    return {
        "informed": informed,
        "ignorant": ignorant,
        "lazy": _lazy(ignorant),
        "white-box": _white_box(informed),
    }


def learner(
    attacker: type[Attacker],
    what: str,
    build: Callable[[Literal["ignorant", "informed"], Setting], Attacker],
    epochs: Callable[[TrainOptions], int] = lambda options: 0,
) -> Ladder:
    """The ladder of an attacker that learns who is shown, ``what`` in words."""
    return ladder_of_learner(
        Level(
            partial(build, "informed"),
            lambda o: f"{what} trained on {SHOWN[own(attacker, o).trained_on]}",
            learns="released",
            epochs=epochs,
            trained_on=lambda o: own(attacker, o).trained_on,
        ),
        Level(
            partial(build, "ignorant"),
            lambda o: f"{what} trained on real images",
            learns="real",
            epochs=epochs,
        ),
    )


def combined(
    what: str,
    combine: Callable[[np.ndarray, Owners, Owners], np.ndarray],
    *,
    of_patients: bool = False,
) -> Ladder:
    """The ladder of an attacker made of those that know as much as it, or less."""
    level = Level(None, lambda o: what, combine, of_patients, "released")
    return {"informed": level, "ignorant": level, "lazy": level, "white-box": level}


def usual_ladder(attacker: type[Attacker]) -> Ladder:
    """The ladder of an attacker that says nothing of it: one with a ``fit`` of its own learns from
    released images. It is made of its options, where it has some, and told in words by the first
    line of its docstring."""
    what = (attacker.__doc__ or attacker.name).strip().splitlines()[0].rstrip(".")

    create: Callable[..., Attacker] = attacker

    def build(setting: Setting) -> Attacker:
        options = own(attacker, setting.options)
        return create(options) if attacker.Options.model_fields else create()

    level = Level(build, lambda o: what)
    if attacker.fit is Attacker.fit:
        return ladder_of_untaught(level)
    informed = replace(level, learns="released")
    return {"informed": informed, "white-box": _white_box(informed)}


def own(attacker: type[Attacker], options: TrainOptions) -> Any:
    """The attacker's section of the options, of its class ``Options``."""
    return getattr(options.evaluation, section_of(attacker.name), None) or attacker.Options()
