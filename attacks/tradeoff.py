"""Methods × attackers × repeats on one data set → one results.json. Reads top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from anonymize.runs import METRICS
from anonymize.seeds import derive_seed
from anonymize.training.recorder import Recorder
from anonymize.training.steps import Steps
from attacks.attacker import Attacker, ImageSet
from attacks.checks import run_checks
from attacks.image_change import image_change
from attacks.metrics import Owners
from attacks.notes import Notes
from attacks.results import Attack, Classification, Cost, Method, Results, Source, Utility
from attacks.statistics import (
    estimate_classification,
    estimate_identification,
    measure_identification,
)
from attacks.training_free import TrainingFree
from attacks.utility import frozen_utility, retrained_utility
from attacks.verification import Verification

ATTACKERS = {
    "verification": "a siamese verifier trained again on pairs of released images "
    "(Packhäuser et al. 2023)",
    "training-free": "histograms of oriented gradients, nothing learnt",
}
TRAINED = ("verification",)
EXAMPLES = 3


@dataclass(frozen=True)
class Plan:
    """What is evaluated.

    Attributes:
        models: every method, the real images (``identity``) first.
        options: data set, classifier, verifier and repeats.
        attackers: names out of ``ATTACKERS``.
        part: "test", or "all" for attackers that learn nothing.
        reference: a run whose classifier and verifier are used; None: they are trained.
        utility: whether classifiers are evaluated too.
    """

    models: Sequence[Anonymizer]
    options: TrainOptions
    attackers: Sequence[str] = tuple(ATTACKERS)
    part: str = "test"
    reference: Path | None = None
    command: str = ""

    def __post_init__(self) -> None:
        unknown = [a for a in self.attackers if a not in ATTACKERS]
        if unknown or not self.attackers:
            given = ", ".join(unknown) or "none"
            raise UsageError(f"attackers must be among {', '.join(ATTACKERS)}; got {given}")
        trained = [a for a in self.attackers if a in TRAINED]
        if self.part == "all" and trained:
            raise UsageError(
                f"attacker {trained[0]} learns from the training part; use --part test, or "
                "--attackers training-free"
            )


@dataclass(frozen=True)
class Evaluation:
    """Results, and by title of a method a few released images (N, 1, H, W) of one patient each,
    and their displacements (N, 2, H, W) in pixels where the method deforms."""

    results: Results
    images: dict[str, Tensor]
    displacements: dict[str, Tensor]


@dataclass(frozen=True)
class MeasuredMethod:
    """One method's figures, examples and their displacement in pixels."""

    method: Method
    images: Tensor
    displacement: Tensor | None


def evaluate(
    plan: Plan,
    out: Path,
    *,
    device: torch.device,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Measures every method; what was measured before a stop is not measured again.

    A method's figures depend on its released images alone: the notes find them again."""
    if plan.options.threads:
        torch.set_num_threads(plan.options.threads)
    data = Dataset.open(plan.options.data, progress)
    reference = plan.reference or out / "reference"
    recorder = Recorder(reference / METRICS, say)
    steps = Steps(plan.options, reference, data, device, recorder)
    bench = Bench(plan, data, steps, device, out / "notes", say)
    measured = [bench.measure(model) for model in plan.models]
    table, rows = data.table, bench.rows
    results = Results(
        source=Source(
            name=table.source,
            images=len(rows),
            patients=int(table.frame.loc[rows, "patient_id"].nunique()),
            split={p: len(table.part(p)) for p in ("train", "validation", "test")},
            part=plan.part,
            size=plan.options.data.size,
            labels=list(table.labels),
            fingerprint=table.fingerprint,
        ),
        seed=plan.options.seed,
        command=plan.command,
        methods=[m.method for m in measured],
    )
    results = results.model_copy(update={"checks": tuple(run_checks(results))})
    titles = results.titles()
    return Evaluation(
        results,
        {t: m.images for t, m in zip(titles, measured, strict=True)},
        {
            t: m.displacement
            for t, m in zip(titles, measured, strict=True)
            if m.displacement is not None
        },
    )


class Bench:
    """One data set, its reference networks and its attackers; measures one method at a time."""

    def __init__(
        self,
        plan: Plan,
        data: Dataset,
        steps: Steps,
        device: torch.device,
        notes: Path,
        say: Callable[[str], None],
    ) -> None:
        self.plan, self.data, self.steps, self.device = plan, data, steps, device
        self.notes_folder, self.say = notes, say
        self.rows = data.table.part(plan.part)
        self.bits = 8 * data.images.dtype.itemsize
        every = np.arange(len(data.table))
        frame = data.table.frame
        self.owners = Owners(
            every,
            np.unique(frame["patient_id"].to_numpy(str), return_inverse=True)[1],
            frame["identified"].to_numpy(bool),
        )

    def measure(self, model: Anonymizer) -> MeasuredMethod:
        """Everything about one method."""
        title = " ".join([model.name, *(f"{k}={v}" for k, v in model.options.items())])
        self.say(f"{title}: {len(self.data.table)} images")
        started = time.monotonic()
        released = released_images(model, self.data.images, device=self.device, bits=self.bits)
        seconds = (time.monotonic() - started) / len(released)
        notes = Notes(
            self.notes_folder,
            self.data.table.fingerprint,
            self.plan.options.model_dump_json(exclude={"evaluation": {"repeats"}}),
            str(self.plan.reference),
            released.pixels.numpy().tobytes(),
        )
        privacy = {name: self._attack(name, released, notes) for name in self.plan.attackers}
        method = Method(
            name=model.name,
            options=model.options,
            privacy=privacy,
            utility=self._utility(released, notes),
            image=image_change(model, self.data.images, released, self.rows, device=self.device),
            cost=Cost(seconds_per_image=seconds),
        )
        return MeasuredMethod(method, *self._examples(model, released))

    def _examples(self, model: Anonymizer, released: HeldImages) -> tuple[Tensor, Tensor | None]:
        patients = self.owners.patient[self.rows]
        rows = self.rows[np.sort(np.unique(patients, return_index=True)[1])[:EXAMPLES]]
        displacement = model.displacement(self.data.images.batch(rows).to(self.device))
        if displacement is not None:
            displacement = flow.pixels(displacement).cpu()
        return released.batch(rows), displacement

    def _attack(self, name: str, released: HeldImages, notes: Notes) -> Attack:
        options = self.plan.options
        repeats = options.evaluation.repeats if name in TRAINED else 1
        runs = []
        for repeat in range(repeats):
            checkpoint = notes.folder(name, repeat) / "attack.safetensors"
            attacker = self._attacker(name, checkpoint)
            measured = notes.identification(
                (name, repeat), lambda a=attacker, r=repeat: self._run(a, released, r)
            )
            runs.append(measured)
            self.say(f"  {name} {repeat + 1}/{repeats}: AUC {measured['auc'].value:.3f}")
        return Attack.of(
            attacker.knowledge, estimate_identification(runs), scenario=ATTACKERS[name]
        )

    def _run(self, attacker: Attacker, released: HeldImages, repeat: int):
        table, evaluation = self.data.table, self.plan.options.evaluation
        if attacker.name in TRAINED:
            train, validation = table.part("train"), table.part("validation")
            attacker.fit(
                real=self._real(train),
                released=self._released(released, train),
                validation_real=self._real(validation),
                validation_released=self._released(released, validation),
                seed=derive_seed(self.plan.options.seed, attacker.name, repeat),
            )
        probes, gallery = self._released(released, self.rows), self._real(self.rows)
        return measure_identification(
            attacker.score(probes.images, gallery.images),
            probes.owners,
            gallery.owners,
            resamplings=evaluation.resamplings,
            seed=self.plan.options.seed,
        )

    def _attacker(self, name: str, checkpoint: Path) -> Attacker:
        options = self.plan.options
        if name == "training-free":
            return TrainingFree()
        start = None
        if options.evaluation.attacker_start == "verifier":
            start = self.steps.verifier_file(None)
        return Verification(
            options.verifier,
            start=start,
            pairs=options.data.pairs,
            device=self.device,
            checkpoint=checkpoint,
        )

    def _utility(self, released: HeldImages, notes: Notes) -> Utility:
        if self.plan.part == "all":
            self.say("  utility: measured with --part test only")
            return Utility()
        options = self.plan.options
        shared = {
            "device": self.device,
            "resamplings": options.evaluation.resamplings,
            "seed": options.seed,
        }
        frozen = notes.classification(
            ("frozen",),
            lambda: frozen_utility(self.steps.classifier(None), released, self.data, **shared),
        )
        self.say(f"  utility, frozen classifier: AUC {frozen.mean.value:.3f}")
        retrained = notes.classification(
            ("retrained",),
            lambda: retrained_utility(
                options.classifier,
                released,
                self.data,
                checkpoint=notes.folder("retrained") / "utility.safetensors",
                **shared,
            ),
        )
        self.say(f"  utility, classifier trained again: AUC {retrained.mean.value:.3f}")
        return Utility(
            frozen=Classification(auc=estimate_classification([frozen])),
            retrained=Classification(auc=estimate_classification([retrained])),
        )

    def _real(self, rows: np.ndarray) -> ImageSet:
        pixels = torch.from_numpy(self.data.images.array(rows)).unsqueeze(1)
        if self.bits == 16:
            pixels = pixels.float() / 65535
        return ImageSet(pixels, self.owners[rows])

    def _released(self, released: HeldImages, rows: np.ndarray) -> ImageSet:
        return ImageSet(released.pixels[torch.as_tensor(rows)], self.owners[rows])
