"""What an evaluation measures: methods, attackers, data, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import torch

from anonymize.anonymizer import Anonymizer, load
from anonymize.configuration import load_options
from anonymize.data.dataset import Dataset
from anonymize.errors import DataError, UsageError, counted
from anonymize.options import TrainOptions
from anonymize.runs import OPTIONS
from anonymize.seeds import derive_seed
from attacks.attacker import Knowledge
from attacks.evaluation.processes.claim import of_options
from attacks.registry import DEFAULT, Chosen, choose
from attacks.results import REAL

RUNGS = get_args(Knowledge)
READER = "soft-biometrics:ignorant"  # of age, sex and view in real images: a floor


@dataclass(frozen=True)
class Entrant:
    """A method that takes part.

    Attributes:
        spec: what `anonymize.load` reads: a method with options, a model file, a run; or an
            anonymizer itself.
        training: options of the run ``spec``, which is trained first where it is not there yet;
            None: nothing is trained.
        varied: options of the training, by their last name, that tell it from its kin.
        control: whether `control_of` it is measured, too; once, where several have the same.
    """

    spec: str | Anonymizer
    training: TrainOptions | None = None
    varied: Mapping[str, Any] = field(default_factory=dict)
    control: bool = False

    def model(self, device: torch.device | str = "cpu") -> Anonymizer:
        """The method on a device; one that draws random numbers, those of the run's seed."""
        if isinstance(self.spec, Anonymizer):
            return self.spec.to(device)
        model = load(self.spec, device=device)
        seed = self.seed(model)
        return model if seed is None or model.noise_is_known else model.redrawn(seed)

    def seed(self, model: Anonymizer) -> int | None:
        """Of the training of ``model``, or of its noise; None where it has none, or none is known:
        of a model file."""
        if self.training is not None:
            return self.training.seed
        run = None if isinstance(self.spec, Anonymizer) else Path(self.spec) / OPTIONS
        if run is not None and run.is_file():
            return load_options(run).seed
        return model.options.get("seed")

    @property
    def title(self) -> str:
        """The method in words, before there are results."""
        if self.training is not None:
            options = ", ".join(f"{key}={value}" for key, value in self.varied.items())
            return f"{self.training.generator.method} {options}".strip()
        return "real images" if self.spec == REAL else str(self.spec).replace(":", " ", 1)


@dataclass(frozen=True)
class Plan:
    """What is evaluated.

    Attributes:
        entrants: every method, the real images (``identity``) first.
        attackers: names of installed attackers, with a level where it is not the first.
        part: "test", or "all" for attackers that learn nothing.
        reference: folder of the classifier and the verifier of real images, which are trained
            there where they are not; None: one for them in the folder of the evaluation.
        parts: "classifier" and "verifier" that are given instead, as `parts.find_part` names them.
        floor: an attacker beside these whose figures on the real images alone are a floor.

    Raises:
        UsageError: attackers that do not exist, twice the same, or that learn with part "all".
    """

    entrants: Sequence[Entrant]
    options: TrainOptions
    attackers: Sequence[str] = DEFAULT
    part: str = "test"
    reference: Path | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    floor: str = ""

    def __post_init__(self) -> None:
        keys = [attacker.key for attacker in self.chosen]
        if not keys or len(set(keys)) < len(keys):
            raise UsageError(f"name each attacker once, at least one; got {', '.join(keys)}")
        learning = [a.name for a in self.chosen if a.level.trained]
        if self.part == "all" and learning:
            raise UsageError(
                f"attacker {learning[0]} learns from the training part; use --part test, or "
                "--attackers training-free"
            )
        if self.combines and not self.members:
            raise UsageError(
                "attackers ensemble and sets combine others that look for patients; name some, "
                "with scenario released-real or released-released"
            )
        for attacker in self.chosen:
            if attacker.level.combines and not self.members_of(attacker):
                levels = {a.knowledge for a in self.members}
                way_out = " or ".join(f"{attacker.name}:{level}" for level in sorted(levels))
                raise UsageError(
                    f"attacker {attacker.key} combines those that know as much as it or less, and "
                    f"the others know more; name {way_out}"
                )

    @property
    def measured_parts(self) -> tuple[str, ...]:
        """The evaluated part, and the one that says which of what was learnt is best."""
        learns = any(attacker.level.trained for attacker in self.chosen)
        return tuple(dict.fromkeys((self.part, *["validation"] * learns)))

    @property
    def subject(self) -> dict[str, Any]:
        """What the results are of, for the claim of their folder; methods and attackers may be
        added to."""
        return {
            "methods": [entrant.title for entrant in self.entrants],
            "attackers": [attacker.key for attacker in self.chosen],
            "part": self.part,
            "parts": dict(self.parts),
        } | of_options(self.options)

    @property
    def chosen(self) -> list[Chosen]:
        """The attackers."""
        return [choose(text) for text in self.attackers]

    @property
    def combines(self) -> bool:
        """Whether an attacker takes part that combines others."""
        return any(attacker.level.combines for attacker in self.chosen)

    @property
    def members(self) -> list[Chosen]:
        """The attackers that can be combined: those that look for patients in images."""
        if self.options.evaluation.scenario == "before-after":
            return []
        return [
            a
            for a in self.chosen
            if not a.level.combines
            and a.level.sees == "pixels"
            and a.level.compares != "before-after"
        ]

    def members_of(self, attacker: Chosen) -> list[Chosen]:
        """Those of them that know as much as ``attacker``, or less."""
        most = RUNGS.index(attacker.knowledge)
        return [a for a in self.members if RUNGS.index(a.knowledge) <= most]

    def repeats(self, attacker: Chosen) -> int:
        """How often an attacker is trained and tested against each method."""
        again = attacker.level.trained and not attacker.level.once
        return self.options.evaluation.repeats if again else 1

    @property
    def measures_utility(self) -> bool:
        """Whether classifiers read the images too: of a test part, unless it is not asked for."""
        return self.part == "test" and self.options.evaluation.utility

    @property
    def readers(self) -> list[TrainOptions]:
        """What the frozen classifiers are trained with: of all labels, so not the one that judges
        the generators where labels are held back; else that is the first, or alone if given."""
        own = self.options
        plain = own.data.model_copy(update={"held_back": (), "held_back_share": 0.0})
        if not own.data.holds_back and "classifier" in self.parts:
            return [own]
        seeds = (derive_seed(own.seed, "reader", n) for n in range(1, self.utility_repeats))
        return [own.model_copy(update={"data": plain, "seed": seed}) for seed in (own.seed, *seeds)]

    @property
    def utility_repeats(self) -> int:
        """How often each classifier is trained."""
        return self.options.evaluation.utility_repeats

    @property
    def needs_classifier(self) -> bool:
        """Whether the classifier is used that judges the generators."""
        reads = self.measures_utility and not self.options.data.holds_back
        return reads or any(e.training for e in self.entrants)

    @property
    def needs_verifier(self) -> bool:
        """Whether the verifier of real images is used."""
        trains = any(e.training for e in self.entrants)
        return trains or any(a.level.needs_verifier(self.options) for a in self.chosen)

    def work(self) -> Iterator[tuple[str, int]]:
        """The kind of every piece of work, in order, and how many epochs it has at most; pieces of
        one kind take equally long."""
        options = self.options
        others = self.readers[not options.data.holds_back :] if self.measures_utility else []
        yield from [("classifier", options.classifier.epochs)] * (
            self.needs_classifier + len(others)
        )
        if self.needs_verifier:
            yield "verifier", options.verifier.epochs
        for method, entrant in enumerate(self.entrants):
            if entrant.training is not None:
                yield training_kind(entrant.training), training_epochs(entrant.training)
            yield from self.work_of_one(again=method > 0)
            if entrant.control:
                yield from self.work_of_one(again=True)
        if self.floor:
            yield from replace(self, attackers=(self.floor,)).attacks(again=False)

    def work_of_one(self, *, again: bool) -> Iterator[tuple[str, int]]:
        """What is measured of a method; ``again``: another one was attacked before."""
        yield from self.attacks(again=again)
        if self.measures_utility:
            yield from [("frozen", 0)] * len(self.readers)
            yield from [("retrained", self.options.classifier.epochs)] * self.utility_repeats

    def attacks(self, *, again: bool) -> Iterator[tuple[str, int]]:
        """Those of a method; ``again``: another one was attacked before."""
        for attacker in self.chosen:
            kind = attack_kind(attacker, again=again)
            learns = attacker.level.trained and kind == attack_kind(attacker, again=False)
            epochs = attacker.level.epochs(self.options) if learns else 0
            yield from [(kind, epochs)] * self.repeats(attacker)


def possible(plan: Plan, data: Dataset) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the attackers that find in the data what they need, with utility where there
    are findings to read, and the floor of age, sex and view where these are known; and why others
    do not take part.

    Raises:
        UsageError: none is left.
        DataError: nobody of the part can be found, which nothing need be trained to know.
    """
    _refuse_strangers(plan, data)
    reasons = {a.key: a.level.missing(data) for a in plan.chosen}
    kept = [key for key, reason in reasons.items() if not reason]
    why = tuple(f"{key} is left out: {reason}" for key, reason in reasons.items() if reason)
    if not kept:
        raise UsageError(f"no attacker can take part: {'; '.join(why)}")
    plan = replace(plan, attackers=kept)
    if plan.measures_utility and not data.table.labels:
        evaluation = plan.options.evaluation.model_copy(update={"utility": False})
        options = plan.options.model_copy(update={"evaluation": evaluation})
        plan = replace(plan, options=options)
        why += (f"utility is left out: source {data.table.source} has no findings to read",)
    reads = plan.measures_utility and not choose(READER).level.missing(data)
    measured = {attacker.key for attacker in plan.chosen} & {READER, choose(READER).name}
    return replace(plan, floor=READER if reads and not measured else ""), why


def _refuse_strangers(plan: Plan, data: Dataset) -> None:
    if all(_with_its_original(attacker, plan.options) for attacker in plan.chosen):
        return
    for part in plan.measured_parts:
        frame = data.table.frame.loc[data.table.part(part)]
        known = frame.loc[frame["identified"].astype(bool), "patient_id"]
        if not known.duplicated().any() or frame["patient_id"].nunique() < 2:
            raise DataError(
                f"part {part} cannot tell how good an attacker is: nobody there has several "
                f"images, or there is nobody else ({counted(len(frame), 'image')} of "
                f"{counted(frame['patient_id'].nunique(), 'patient')}); use more images"
            )


def _with_its_original(attacker: Chosen, options: TrainOptions) -> bool:
    """Whether it compares a released image with the one it was made from alone."""
    scenario = options.evaluation.scenario
    return "before-after" in (attacker.level.compares, scenario)


def training_kind(options: TrainOptions) -> str:
    """The kind of work of a training."""
    return f"training {options.generator.method}"


def training_epochs(options: TrainOptions) -> int:
    """Epochs of the generator, at most."""
    return options.reconstruction.epochs + options.adversarial.epochs


def attack_kind(attacker: Chosen, *, again: bool) -> str:
    """The kind of work of an attack; one that learnt from real images need not learn ``again``."""
    lasts = again and attacker.level.learns == "real"
    return f"attack {attacker.key} again" if lasts else f"attack {attacker.key}"
