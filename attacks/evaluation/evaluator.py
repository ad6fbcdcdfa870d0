"""One data set, its reference networks and the attackers; measures one method at a time."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer, load
from anonymize.data.batches import HeldImages, Rows
from anonymize.data.dataset import Dataset
from anonymize.errors import DataError
from anonymize.fingerprint import fingerprint
from anonymize.folder_lock import in_turn
from anonymize.set_anonymizer import SetAnonymizer
from anonymize.statistics import Measured
from anonymize.training.compute import Compute
from anonymize.training.stages import predict
from attacks.attackers.labels import labels_alike
from attacks.evaluation.contents import known_by, split_of
from attacks.evaluation.copies import RealImages
from attacks.evaluation.donors import donors_told, pool_rows
from attacks.evaluation.image_change import image_change
from attacks.evaluation.made_by import model_made_by
from attacks.evaluation.marks import marks_told
from attacks.evaluation.plan import Plan
from attacks.evaluation.processes.notes import Notes
from attacks.evaluation.processes.work import Work
from attacks.evaluation.reference import Reference
from attacks.evaluation.runner import AttackRunner
from attacks.evaluation.set_figures import set_figures
from attacks.evaluation.shown import pair_pictures, shown_images
from attacks.evaluation.target import Target
from attacks.evaluation.utility_runner import UtilityRunner
from attacks.knowledge.scenarios import Scenario
from attacks.knowledge.set_release import Released, released_by
from attacks.knowledge.trial import Parts, Release
from attacks.measuring.extremes import PairPictures
from attacks.measuring.matching import headline_auc
from attacks.measuring.metrics import genuine_places, impostor_scores
from attacks.measuring.outputs import each_once
from attacks.measuring.statistics import summary
from attacks.results import REAL, Attack, Cost, ImageChange, Method, Utility

RELEASED = "released"  # the work of making a release; and where one lies that processes share


@dataclass(frozen=True)
class MeasuredMethod:
    """One method's figures, by attacker those of each run, examples and their displacement in
    pixels, pairs of its strongest attacker, and what each retrained classifier read."""

    method: Method
    runs: Mapping[str, Sequence[Mapping[str, Measured]]]
    images: Tensor
    displacement: Tensor | None
    pairs: PairPictures | None
    read: Sequence[Measured] = ()


def refuse_alone(release: Release, parts: Iterable[str], scenario: Scenario, title: str) -> None:
    """Raises DataError for a release of sets with a part of which nobody's other image is left, or
    nobody else's."""
    for part in parts:
        owners = release.owners(scenario, part)
        blank = np.broadcast_to(np.float32(0), tuple(map(len, owners)))
        if not len(genuine_places(*owners)[0]):
            left = "nothing of anybody with another image"
        elif not any(map(len, impostor_scores(blank, *owners))):
            left = "nothing that is not of everybody"
        else:
            continue
        raise DataError(
            f"{title} cannot be measured: of the {part} part it releases {left}; use more "
            "patients, or fewer an output. What was measured of others is kept"
        )


def may_be_asked(model: Anonymizer) -> bool:
    """Whether attackers may ask a method what it learnt from a set."""
    names = ("pool", "coding", "undoing")
    return isinstance(model, SetAnonymizer) and any(
        getattr(type(model), name) is not getattr(SetAnonymizer, name) for name in names
    )


@dataclass
class MethodEvaluator:
    """Measures methods; what was measured before a stop is not measured again.

    A method's figures depend on its released images alone: the notes find them again.

    Attributes:
        shared: other processes measure the same methods, and what they released is kept for them.
    """

    plan: Plan
    data: Dataset
    reference: Reference
    readers: Sequence[Reference]
    compute: Compute
    folder: Path
    work: Work
    shared: bool = False

    def __post_init__(self) -> None:
        plan, data, compute = self.plan, self.data, self.compute
        self.options, self.device = plan.options, compute.device
        self.rows = data.table.part(plan.part)
        self.bits, self.images = 8 * data.images.dtype.itemsize, known_by(data)
        self.real = RealImages(data)
        self.attacks = AttackRunner(plan, data, Parts(data), self.reference, compute, self.work)
        self.utility = UtilityRunner(plan, data, self.readers, compute, self.folder, self.work)

    def target(self, model: Anonymizer, title: str, *, again: bool) -> Target:
        """A method with what it releases; ``again``: another one was measured before."""
        self.work.beside(f"{title}: released")
        released = self._released(model)
        # Who went into an output decides which pairs are genuine; what it says of one is read, too.
        made_of = [] if released.contributors is None else [released.contributors.image]
        said = [] if released.labels is None else [released.labels]
        subject = (self.images, self.plan.part, released.pixels, *made_of, *said)
        made = Release(
            self.data,
            self.attacks.real,
            released,
            model,
            device=self.device,
            seed=self.options.seed,
        )
        if released.contributors is not None:
            parts = self.plan.measured_parts
            refuse_alone(made, parts, self.options.evaluation.scenario, title)
        return Target(model, made, Notes(self.folder, *subject), title, again)

    def _released(self, model: Anonymizer) -> Released:
        """To the last bit what another process made, where several want it; of a method that may be
        asked each makes its own."""
        if not self.shared or may_be_asked(model):
            return self._made(model)
        by = fingerprint(split_of(self.data), model_made_by(model), self.bits)
        folder = self.folder / RELEASED
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"{by}.npz"
        with in_turn(folder / f"{by}.lock"):
            if file.is_file():
                return Released.read(file)
            found = self._made(model)
            found.write(file)
        return found

    def _made(self, model: Anonymizer) -> Released:
        started = time.monotonic()
        found = released_by(model, self.data, device=self.device, bits=self.bits)
        seconds = time.monotonic() - started
        self.work.took(RELEASED, seconds)
        found.seconds = seconds / len(found)
        return found

    def change(self, target: Target) -> ImageChange:
        """How far its release is from the real images of the part."""
        released = target.release.released
        rows = released.of(self.rows)
        before = Rows(self.data.images, released.image)
        found = image_change(target.model, before, released, rows, device=self.device)
        measured = {
            "donors": self._donors(target.model, released, rows),
            "labels": self._labels(target.release),
            "marks": marks_told(target.release, self.plan.part, self.options),
        }
        told = {name: one and summary([one]) for name, one in measured.items()}
        return found.model_copy(update={**self.real.shares(released, rows), **told})

    def _donors(self, model: Anonymizer, released: Released, rows: np.ndarray) -> Measured | None:
        pool = pool_rows(model, self.data.table)
        if pool is None:
            return None
        return donors_told(released.batch(rows), self.data, pool, **self._drawn)

    def _labels(self, release: Release) -> Measured | None:
        probes, gallery = release.plain.compared("released-real", self.plan.part)
        if probes.labels is None or not self.plan.measures_utility:
            return None
        network, known = self.reference.classifier, gallery.owners
        logits = predict(network, self.data.images, known.image, self.device)
        scores, outputs = each_once(labels_alike(probes.labels, logits), probes.owners)
        return headline_auc(scores, outputs, known, **self._drawn)

    @property
    def _drawn(self) -> dict[str, int]:
        return {"resamplings": self.options.evaluation.resamplings, "seed": self.options.seed}

    def measure(self, target: Target, varied: Mapping[str, Any]) -> MeasuredMethod:
        """Everything about one method; ``varied`` are options that its model does not know."""
        model, released, notes = target.model, target.release.released, target.notes
        utility, read = Utility(), list[Measured]()
        if self.plan.measures_utility:
            utility, read = self.utility.measure(target)
        privacy, runs = self.attacks.against(target)
        method = Method(
            name=model.name,
            options={**model.options, **varied},
            privacy=privacy,
            utility=utility,
            image=self.change(target),
            cost=Cost(seconds_per_image=released.seconds),
            sets=set_figures(released, self.rows, self.plan.part),
        )
        pairs = self._pairs(method, model, released, notes)
        return MeasuredMethod(method, runs, *self._examples(model, released), pairs, read)

    def on_real_images(self) -> Attack:
        """What the attacker of the plan's floor reaches."""
        runner, target = self._floor
        (attack,) = runner.against(target)[0].values()
        return attack

    def learn_floor(self, repeats: Iterable[int]) -> None:
        """Measures some runs of it, for the notes."""
        runner, target = self._floor
        (chosen,) = runner.plan.chosen
        runner.runs(chosen, repeats, target)

    @cached_property
    def _floor(self) -> tuple[AttackRunner, Target]:
        plan = replace(self.plan, attackers=(self.plan.floor,))
        given = self.data, self.attacks.real, self.reference, self.compute, self.work
        real = self.target(load(REAL, device=self.device), "real images", again=False)
        return AttackRunner(plan, *given), real

    def _examples(self, model: Anonymizer, released: Released) -> tuple[Tensor, Tensor | None]:
        """NaN where nothing was released of an image."""
        rows = shown_images(self.data, self.plan.part)
        images = released.batch(rows)
        images[~torch.from_numpy(released.there[rows])] = torch.nan
        displacement = model.displacement(self.data.images.batch(rows).to(self.device))
        if displacement is not None:
            displacement = flow.pixels(displacement).cpu()
        return images, displacement

    def _pairs(
        self, method: Method, model: Anonymizer, released: HeldImages, notes: Notes
    ) -> PairPictures | None:
        """What the strongest attacker finds, misses and takes for one, in its first run."""
        if method.strongest is None:
            return None
        name, attack = method.strongest
        (chosen,) = (chosen for chosen in self.plan.chosen if chosen.key == name)
        kept = self.attacks.pairs(chosen, model, notes).value()
        known = released if attack.compares == "released-released" else self.data.images
        return pair_pictures(kept, name, released, known) if kept else None
