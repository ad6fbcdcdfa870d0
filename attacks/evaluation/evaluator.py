"""One data set, its reference networks and the attackers; measures one method at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.fingerprint import fingerprint, sources
from anonymize.statistics import Measured, MeasuredLabels
from anonymize.training.compute import Compute
from attacks.evaluation.image_change import image_change
from attacks.evaluation.made_by import figure_options
from attacks.evaluation.notes import Notes, say_outdated
from attacks.evaluation.plan import Plan
from attacks.evaluation.reference import Reference
from attacks.evaluation.runner import AttackRunner, auc_in_words
from attacks.evaluation.utility import labels_read, retrained
from attacks.evaluation.work import Piece, Work
from attacks.knowledge.trial import Parts, Release
from attacks.measuring.extremes import Extreme, PairPictures
from attacks.measuring.statistics import estimate_classification
from attacks.results import Classification, Cost, Method, Utility
from attacks.training.learning import Learning

EXAMPLES = 3


@dataclass(frozen=True)
class MeasuredMethod:
    """One method's figures, by attacker those of each run, examples and their displacement in
    pixels, and pairs of its strongest attacker."""

    method: Method
    runs: Mapping[str, Sequence[Mapping[str, Measured]]]
    images: Tensor
    displacement: Tensor | None
    pairs: PairPictures | None


@dataclass
class MethodEvaluator:
    """Measures methods; what was measured before a stop is not measured again.

    A method's figures depend on its released images alone: the notes find them again.

    Attributes:
        plan: what to measure.
        data: the images.
        reference: classifier and verifier of real images.
        compute: what trains and runs networks.
        folder: of the notes.
        work: is told what is done.
    """

    plan: Plan
    data: Dataset
    reference: Reference
    compute: Compute
    folder: Path
    work: Work

    def __post_init__(self) -> None:
        plan, data, compute = self.plan, self.data, self.compute
        self.options, self.device = plan.options, compute.device
        self.rows = data.table.part(plan.part)
        self.bits = 8 * data.images.dtype.itemsize
        self.attacks = AttackRunner(plan, data, Parts(data), self.reference, compute, self.work)

    def measure(self, model: Anonymizer, varied: Mapping[str, Any], title: str) -> MeasuredMethod:
        """Everything about one method; ``varied`` are options that its model does not know."""
        started = time.monotonic()
        released = released_images(model, self.data.images, device=self.device, bits=self.bits)
        seconds = (time.monotonic() - started) / len(released)
        notes = Notes(self.folder, self.data.table.fingerprint, self.plan.part, released.pixels)
        release = Release(
            self.data,
            self.attacks.real,
            released,
            model,
            device=self.device,
            seed=self.options.seed,
        )
        measured = self.plan.measures_utility
        utility = self._utility(released, notes, title) if measured else Utility()
        privacy, runs = self.attacks.against(model, release, notes, title)
        method = Method(
            name=model.name,
            options={**model.options, **varied},
            privacy=privacy,
            utility=utility,
            image=image_change(model, self.data.images, released, self.rows, device=self.device),
            cost=Cost(seconds_per_image=seconds),
        )
        pairs = self._pairs(method, model, released, notes)
        return MeasuredMethod(method, runs, *self._examples(model, released), pairs)

    def _utility(self, released: HeldImages, notes: Notes, title: str) -> Utility:
        data, options = self.data, self.options
        own = self.reference.classifier
        made_by = figure_options(options), sources("attacks.evaluation.utility")
        frozen = notes.note("frozen", made_by=fingerprint(made_by, own.state_dict()))
        again = notes.note("retrained", made_by=fingerprint(made_by))
        say_outdated((frozen.folder, again.folder), self.work.say, file=".json")
        checkpoint = again.folder / "utility.safetensors"

        def read_released(piece: Piece) -> MeasuredLabels:
            return labels_read(own, released, data, options, self.compute)

        def read_real(piece: Piece) -> MeasuredLabels:
            learning = Learning(self.compute, checkpoint, piece.epoch)
            classifier = retrained(released, data, options, learning)
            return labels_read(classifier, data.images, data, options, self.compute)

        found = {}
        for kind, note, name, epochs, read in (
            ("frozen", frozen, "frozen classifier", 0, read_released),
            ("retrained", again, "classifier trained again", options.classifier.epochs, read_real),
        ):
            known = note.known
            resumed = known or (note is again and checkpoint.is_file())
            with self.work.piece(kind, f"{title}: {name}", epochs=epochs, resumed=resumed) as piece:
                labels = note.classification(partial(read, piece))
                piece.result = auc_in_words(labels.mean, known)
            found[kind] = Classification(auc=estimate_classification([labels]))
        return Utility(**found)

    def _examples(self, model: Anonymizer, released: HeldImages) -> tuple[Tensor, Tensor | None]:
        patients = self.data.patients[self.rows]
        rows = self.rows[np.sort(np.unique(patients, return_index=True)[1])[:EXAMPLES]]
        displacement = model.displacement(self.data.images.batch(rows).to(self.device))
        if displacement is not None:
            displacement = flow.pixels(displacement).cpu()
        return released.batch(rows), displacement

    def _pairs(
        self, method: Method, model: Anonymizer, released: HeldImages, notes: Notes
    ) -> PairPictures | None:
        """What the strongest attacker finds, misses and takes for one, in its first run."""
        if method.strongest is None:
            return None
        name, attack = method.strongest
        (chosen,) = (chosen for chosen in self.plan.chosen if chosen.key == name)
        kept = self.attacks.pairs(chosen, model, notes).value()
        pairs = [Extreme.of(entry) for entry in kept or ()]
        if not pairs:
            return None
        known = released if attack.compares == "released-released" else self.data.images
        probes, gallery = (
            np.array([getattr(pair, side) for pair in pairs]) for side in ("probe", "gallery")
        )
        return PairPictures(name, pairs, released.batch(probes), known.batch(gallery))
