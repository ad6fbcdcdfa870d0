"""The attackers by name, each on a ladder of knowledge; add an entry to add an attacker.

``verification`` is an attacker at the first level of its ladder, ``verification:ignorant`` at the
level named; these names are the keys of ``privacy`` in results.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from attacks.attacker import Attacker, Knowledge
from attacks.attackers.contrastive import Contrastive
from attacks.attackers.features import NetworkFeatures, described
from attacks.attackers.histogram_metric import HistogramMetric
from attacks.attackers.identical import Identical
from attacks.attackers.learned_inverse import LearnedInverse
from attacks.attackers.metadata import Metadata
from attacks.attackers.pixels import Pixels
from attacks.attackers.registration import Registration
from attacks.attackers.retrieval import Retrieval
from attacks.attackers.soft_biometrics import READ, SoftBiometrics
from attacks.attackers.training_free import TrainingFree
from attacks.attackers.verification import KnownVerifier, Verification
from attacks.knowledge.facts import FACTS, in_words, known_facts
from attacks.knowledge.levels import (
    Level,
    Setting,
    combined,
    learner,
    trained,
    untrained,
    verifier_epochs,
)
from attacks.training.lungs import LungCrop, read_boxes

PAIRS = {
    "released-released": "pairs of released images",
    "released-real": "pairs of a released and a real image",
    "mixed": "pairs of a released image and one that is released or real, half each",
}


def _retrained_verifier(setting: Setting) -> Attacker:
    options, evaluation = setting.options, setting.options.evaluation
    return Verification(
        options.verifier.model_copy(update={"epochs": verifier_epochs(options)}),
        start=setting.verifier() if evaluation.attacker_start == "verifier" else None,
        trained_on=evaluation.attacker_pairs,
        pairs=setting.data.training_pairs(),
        validation=setting.data.fixed_pairs("validation"),
        learning=setting.learning,
    )


def _soft_biometrics(
    knowledge: Literal["ignorant", "informed"], setting: Setting
) -> SoftBiometrics:
    return SoftBiometrics(
        setting.options.classifier,
        setting.data.table.frame,
        knowledge=knowledge,
        learning=setting.learning,
    )


def _no_facts(names: Iterable[str], data: Dataset) -> str:
    if known_facts(data.table.frame, data.table.part("train"), names):
        return ""
    return f"{data.table.source} does not say {in_words(names)} of its training images"


def _contrastive(knowledge: Literal["ignorant", "informed"], setting: Setting) -> Contrastive:
    options, crop = setting.options.evaluation.contrastive, None
    if options.lung_boxes is not None:
        boxes = read_boxes(options.lung_boxes, setting.data.table.frame["image_id"].tolist())
        crop = LungCrop(boxes, margin=options.lung_margin)
    return Contrastive(options, knowledge=knowledge, crop=crop, learning=setting.learning)


def _retrieval(knowledge: Literal["ignorant", "informed"], setting: Setting) -> Retrieval:
    options = setting.options.evaluation.retrieval
    return Retrieval(options, knowledge=knowledge, learning=setting.learning)


def _histogram_metric(
    knowledge: Literal["ignorant", "informed"], setting: Setting
) -> HistogramMetric:
    evaluation = setting.options.evaluation
    options = evaluation.histogram_metric
    if evaluation.scenario == "released-released":
        options = options.model_copy(update={"restoration": ()})  # the gallery is released too
    return HistogramMetric(options, knowledge=knowledge, learning=setting.learning)


def _learned_inverse(setting: Setting) -> LearnedInverse:
    return LearnedInverse(
        setting.options.evaluation.learned_inverse,
        then=KnownVerifier(setting.verifier(), device=setting.learning.device),
        learning=setting.learning,
    )


ATTACKERS: Mapping[str, Mapping[Knowledge, Level]] = {
    "verification": trained(
        Level(
            _retrained_verifier,
            lambda options: (
                "a siamese verifier trained again on "
                f"{PAIRS[options.evaluation.attacker_pairs]} (Packhäuser et al. 2023)"
            ),
            learns="released",
        ),
        Level(
            lambda setting: KnownVerifier(setting.verifier(), device=setting.learning.device),
            lambda options: "the siamese verifier of real images as it is",
            needs_verifier=True,
        ),
    ),
    "contrastive": learner(
        _contrastive,
        "a network of InfoNCE over whole batches (Schmahl et al. 2025)",
        lambda options: options.evaluation.contrastive,
        lambda options: options.evaluation.contrastive.epochs,
    ),
    "retrieval": learner(
        _retrieval,
        "a retrieval network of mined pairs (Packhäuser et al. 2022)",
        lambda options: options.evaluation.retrieval,
        lambda options: (
            options.evaluation.retrieval.head_epochs + options.evaluation.retrieval.epochs
        ),
    ),
    "histogram-metric": learner(
        _histogram_metric,
        "a metric of gradient histograms",
        lambda options: options.evaluation.histogram_metric,
        lambda options: 0,
    ),
    "training-free": untrained(
        Level(
            lambda setting: TrainingFree(),
            lambda options: "histograms of oriented gradients, nothing learnt",
        )
    ),
    "registration": untrained(
        Level(
            lambda setting: Registration(
                setting.options.evaluation.registration, device=setting.learning.device
            ),
            lambda options: "gallery laid on probe block by block, by what remains different",
        )
    ),
    "pixels": untrained(
        Level(
            lambda setting: Pixels(setting.options.evaluation.pixels),
            lambda options: (
                f"standardised images of {options.evaluation.pixels.side} × "
                f"{options.evaluation.pixels.side} pixels, nothing learnt"
            ),
        )
    ),
    "features": untrained(
        Level(
            lambda setting: NetworkFeatures(
                setting.options.evaluation.features, device=setting.learning.device
            ),
            lambda options: described(options.evaluation.features),
        )
    ),
    "learned-inverse": {
        "informed": Level(
            _learned_inverse,
            lambda options: "a U-Net undoes the release, then the verifier of real images looks",
            learns="released",
            epochs=lambda options: options.evaluation.learned_inverse.epochs,
            needs_verifier=True,
        ),
    },
    "ensemble": combined("the attackers of this table together, chosen on the validation part"),
    "sets": combined("the ensemble, over all images that a patient released"),
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
            learns="released",
            epochs=lambda options: options.classifier.epochs,
            missing=partial(_no_facts, READ),
        ),
        "ignorant": Level(
            partial(_soft_biometrics, "ignorant"),
            lambda options: "age, sex and view, read by a network trained on real images",
            learns="real",
            epochs=lambda options: options.classifier.epochs,
            missing=partial(_no_facts, READ),
        ),
    },
    "metadata": {
        "ignorant": Level(
            lambda setting: Metadata(setting.data.table.frame),
            lambda options: "true age, sex, view and follow-up number; looks at no pixel",
            learns="real",
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
