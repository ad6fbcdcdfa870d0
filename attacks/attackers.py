"""The attackers by name, each on a ladder of knowledge; add an entry to add an attacker.

``verification`` is an attacker at the first level of its ladder, ``verification:ignorant`` at the
level named; these names are the keys of ``privacy`` in results.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.training.compute import Compute
from attacks.attacker import Attacker, Knowledge
from attacks.facts import FACTS, in_words, known_facts
from attacks.features import NetworkFeatures, described
from attacks.identical import Identical
from attacks.metadata import Metadata
from attacks.pixels import Pixels
from attacks.scenarios import Scenario
from attacks.soft_biometrics import READ, SoftBiometrics
from attacks.training_free import TrainingFree
from attacks.verification import KnownVerifier, Verification


@dataclass(frozen=True)
class Setting:
    """What an attacker may be made from.

    Attributes:
        options: of the evaluation.
        data: with its training and validation pairs.
        verifier: gives the model file of the verifier of real images.
        compute: device and precision.
        checkpoint: file that a training is continued from after a stop.
        epoch: called with the number of finished epochs.
    """

    options: TrainOptions
    data: Dataset
    verifier: Callable[[], Path]
    compute: Compute
    checkpoint: Path
    epoch: Callable[[int], None]


def _verifier_epochs(options: TrainOptions) -> int:
    return options.evaluation.attacker_epochs or options.verifier.epochs


@dataclass(frozen=True)
class Level:
    """An attacker at one level of knowledge.

    Attributes:
        build: makes it.
        scenario: in words, what it learnt from and what it compares; for a report.
        trained: it learns from the training part, so it is repeated with independent seeds.
            Others are made once, and score every method.
        once: what it learns does not depend on the seed, so it is not repeated.
        epochs: of its training, at most.
        compares: with what.
        sees: what it links by.
        missing: what it needs and the data do not have, in words; "" where it can take part.
    """

    build: Callable[[Setting], Attacker]
    scenario: Callable[[TrainOptions], str]
    trained: bool = False
    once: bool = False
    epochs: Callable[[TrainOptions], int] = _verifier_epochs
    compares: Scenario = "released-real"
    sees: Literal["pixels", "metadata"] = "pixels"
    missing: Callable[[Dataset], str] = lambda data: ""


PAIRS = {
    "released-released": "pairs of released images",
    "released-real": "pairs of a released and a real image",
    "mixed": "pairs of a released image and one that is released or real, half each",
}


def _retrained_verifier(setting: Setting) -> Attacker:
    options, evaluation = setting.options, setting.options.evaluation
    return Verification(
        options.verifier.model_copy(update={"epochs": _verifier_epochs(options)}),
        start=setting.verifier() if evaluation.attacker_start == "verifier" else None,
        trained_on=evaluation.attacker_pairs,
        pairs=setting.data.training_pairs(),
        validation=setting.data.fixed_pairs("validation"),
        compute=setting.compute,
        checkpoint=setting.checkpoint,
        epoch=setting.epoch,
    )


def _soft_biometrics(
    knowledge: Literal["ignorant", "informed"], setting: Setting
) -> SoftBiometrics:
    return SoftBiometrics(
        setting.options.classifier,
        setting.data.table.frame,
        knowledge=knowledge,
        compute=setting.compute,
        checkpoint=setting.checkpoint,
        epoch=setting.epoch,
    )


def _no_facts(names: Iterable[str], data: Dataset) -> str:
    if known_facts(data.table.frame, data.table.part("train"), names):
        return ""
    return f"{data.table.source} does not say {in_words(names)} of its training images"


ATTACKERS: Mapping[str, Mapping[Knowledge, Level]] = {
    "verification": {
        "informed": Level(
            _retrained_verifier,
            lambda options: (
                "a siamese verifier trained again on "
                f"{PAIRS[options.evaluation.attacker_pairs]} (Packhäuser et al. 2023)"
            ),
            trained=True,
        ),
        "ignorant": Level(
            lambda setting: KnownVerifier(setting.verifier(), device=setting.compute.device),
            lambda options: "the siamese verifier of real images as it is",
        ),
    },
    "training-free": {
        "ignorant": Level(
            lambda setting: TrainingFree(),
            lambda options: "histograms of oriented gradients, nothing learnt",
        ),
    },
    "pixels": {
        "ignorant": Level(
            lambda setting: Pixels(setting.options.evaluation.pixels),
            lambda options: (
                f"standardised images of {options.evaluation.pixels.side} × "
                f"{options.evaluation.pixels.side} pixels, nothing learnt"
            ),
        ),
    },
    "features": {
        "ignorant": Level(
            lambda setting: NetworkFeatures(
                setting.options.evaluation.features, device=setting.compute.device
            ),
            lambda options: described(options.evaluation.features),
        ),
    },
    "identical": {
        "ignorant": Level(
            lambda setting: Identical(),
            lambda options: "the same pixels, by hash, before and after",
            compares="before-after",
        ),
    },
    "soft-biometrics": {
        "informed": Level(
            partial(_soft_biometrics, "informed"),
            lambda options: "age, sex and view, read by a network trained on released images",
            trained=True,
            epochs=lambda options: options.classifier.epochs,
            missing=partial(_no_facts, READ),
        ),
        "ignorant": Level(
            partial(_soft_biometrics, "ignorant"),
            lambda options: "age, sex and view, read by a network trained on real images",
            trained=True,
            epochs=lambda options: options.classifier.epochs,
            missing=partial(_no_facts, READ),
        ),
    },
    "metadata": {
        "ignorant": Level(
            lambda setting: Metadata(setting.data.table.frame),
            lambda options: "true age, sex, view and follow-up number; looks at no pixel",
            trained=True,
            once=True,
            sees="metadata",
            missing=partial(_no_facts, tuple(FACTS)),
        ),
    },
}
DEFAULT = ("verification", "training-free")


@dataclass(frozen=True)
class Chosen:
    """An attacker that takes part: its key in results.json, its name and level."""

    key: str
    name: str
    knowledge: Knowledge

    @property
    def level(self) -> Level:
        """What the registry says of it."""
        return ATTACKERS[self.name][self.knowledge]


def choose(text: str) -> Chosen:
    """The attacker of ``NAME`` or ``NAME:KNOWLEDGE``.

    Raises:
        UsageError: no such attacker or level; the message lists them.
    """
    name, colon, knowledge = text.strip().partition(":")
    ladder = ATTACKERS.get(name)
    if ladder is None:
        raise UsageError(f"attackers must be among {', '.join(ATTACKERS)}; got {text or 'none'}")
    knowledge = knowledge if colon else next(iter(ladder))
    if knowledge not in ladder:
        raise UsageError(f"attacker {name} can be {', '.join(ladder)}; got {knowledge or 'none'}")
    return Chosen(key_of(name, knowledge), name, knowledge)


def key_of(name: str, knowledge: str) -> str:
    """``NAME`` for the first level of the attacker's ladder, else ``NAME:KNOWLEDGE``."""
    return name if knowledge == next(iter(ATTACKERS[name])) else f"{name}:{knowledge}"


def is_repeated(key: str) -> bool:
    """Whether what an attacker of results.json learns depends on its seed, so that it is repeated;
    one that is not known here is taken to."""
    name, _, knowledge = key.partition(":")
    ladder = ATTACKERS.get(name, {})
    level = ladder.get(knowledge) if knowledge else next(iter(ladder.values()), None)
    return level is None or (level.trained and not level.once)
