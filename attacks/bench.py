"""One data set, its reference networks and the attackers; measures one method at a time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import Measured, MeasuredLabels, measure_auc
from anonymize.training.compute import launched
from attacks.attacker import Attacker, ImageSet, linked
from attacks.attackers import Chosen, Setting
from attacks.breakdown import measure_breakdown, taken_apart
from attacks.extremes import Extreme, extreme_pairs
from attacks.image_change import image_change
from attacks.metrics import Owners
from attacks.notes import Notes
from attacks.pair_sheet import PairPictures
from attacks.plan import Plan, attack_kind
from attacks.reference import Reference
from attacks.results import Attack, Classification, Cost, Method, Utility
from attacks.scenarios import compared
from attacks.statistics import (
    estimate_classification,
    estimate_identification,
    measure_identification,
)
from attacks.utility import frozen_utility, retrained_utility
from attacks.work import Piece, Work

EXAMPLES = 3
LISTED = "auc_listed"


@dataclass(frozen=True)
class MeasuredMethod:
    """One method's figures, examples and their displacement in pixels, and pairs of its strongest
    attacker."""

    method: Method
    images: Tensor
    displacement: Tensor | None
    pairs: PairPictures | None


class Bench:
    """Measures methods; what was measured before a stop is not measured again.

    A method's figures depend on its released images alone: the notes find them again.

    Args:
        plan: what to measure.
        data: the images.
        reference: classifier and verifier of real images.
        device: where networks compute.
        folder: of the notes.
        work: is told what is done.
    """

    def __init__(
        self,
        plan: Plan,
        data: Dataset,
        reference: Reference,
        device: torch.device,
        folder: Path,
        work: Work,
    ) -> None:
        self.plan, self.options, self.data = plan, plan.options, data
        self.reference, self.device, self.folder, self.work = reference, device, folder, work
        self.compute = launched(
            device, precision=self.options.precision, accumulation=self.options.accumulation
        )
        self.rows = data.table.part(plan.part)
        self.bits = 8 * data.images.dtype.itemsize
        frame = data.table.frame
        self.owners = Owners(
            np.arange(len(data.table)),
            np.unique(frame["patient_id"].to_numpy(str), return_inverse=True)[1],
            frame["identified"].to_numpy(bool),
        )
        self._lasting: dict[str, Attacker] = {}

    def measure(self, model: Anonymizer, varied: Mapping[str, Any], title: str) -> MeasuredMethod:
        """Everything about one method; ``varied`` are options that its model does not know."""
        started = time.monotonic()
        released = released_images(model, self.data.images, device=self.device, bits=self.bits)
        seconds = (time.monotonic() - started) / len(released)
        notes = Notes(
            self.folder,
            self.data.table.fingerprint,
            _what_matters(self.options),
            os.path.relpath(self.reference.folder, self.folder),
            released.pixels.numpy().tobytes(),
        )
        utility = Utility()
        if self.plan.part == "test":
            utility = self._utility(released, notes, title)
        method = Method(
            name=model.name,
            options={**model.options, **varied},
            privacy={
                a.key: self._attack(a, released, notes, f"{title}: {a.key}")
                for a in self.plan.chosen
            },
            utility=utility,
            image=image_change(model, self.data.images, released, self.rows, device=self.device),
            cost=Cost(seconds_per_image=seconds),
        )
        pairs = self._pairs(method, released, notes)
        return MeasuredMethod(method, *self._examples(model, released), pairs)

    def _attack(self, chosen: Chosen, released: HeldImages, notes: Notes, title: str) -> Attack:
        runs, repeats = [], self.plan.repeats(chosen)
        for repeat in range(repeats):
            key = (chosen.name, chosen.knowledge, repeat)
            checkpoint = notes.folder(*key) / "attack.safetensors"
            known = notes.knows(*key)
            with self.work.piece(
                attack_kind(chosen),
                f"{title} {repeat + 1}/{repeats}" if repeats > 1 else title,
                epochs=chosen.level.epochs(self.options) if chosen.level.trained else 0,
                begun=known or checkpoint.is_file(),
            ) as piece:
                found = notes.identification(
                    key,
                    lambda c=checkpoint, r=repeat, p=piece: self._run(
                        chosen, released, notes, r, c, p
                    ),
                )
                piece.result = _auc(found["auc"], known)
            runs.append(found)
        figures, breakdown = taken_apart(
            estimate_identification(runs), self.options.evaluation.false_match_rate
        )
        return Attack.of(
            chosen.knowledge,
            figures,
            breakdown=breakdown,
            scenario=chosen.level.scenario(self.options),
            compares=chosen.level.compares,
            sees=chosen.level.sees,
        )

    def _run(
        self,
        chosen: Chosen,
        released: HeldImages,
        notes: Notes,
        repeat: int,
        checkpoint: Path,
        piece: Piece,
    ) -> dict[str, Measured]:
        attacker = self._attacker(chosen, checkpoint, piece)
        if chosen.level.trained:
            train, validation = (self.data.table.part(p) for p in ("train", "validation"))
            attacker.fit(
                real=self._real(train),
                released=self._released(released, train),
                validation_real=self._real(validation),
                validation_released=self._released(released, validation),
                seed=derive_seed(self.options.seed, attacker.name, repeat),
            )
        scenario = chosen.level.compares
        probes, gallery = compared(scenario, self._released(released, self.rows), self.gallery)
        scores = linked(attacker, probes, gallery)
        shared = {
            "resamplings": self.options.evaluation.resamplings,
            "seed": self.options.seed,
        }
        found = measure_identification(scores, probes.owners, gallery.owners, **shared)
        if scenario != "before-after":
            rate = self.options.evaluation.false_match_rate
            found |= measure_breakdown(
                scores,
                probes.owners,
                gallery.owners,
                self.data.table,
                false_match_rate=rate,
                **shared,
            )
        if scenario == "released-real" and repeat == 0:
            extremes = extreme_pairs(scores, probes.owners, gallery.owners)
            notes.keep(_pairs_key(chosen.key), [pair.plain() for pair in extremes])
        if self.plan.part == "test" and scenario == "released-real":
            first, second, same = self._listed
            patient = probes.owners.patient[first]
            found[LISTED] = measure_auc(scores[first, second], same, patient, **shared)
        return found

    def _attacker(self, chosen: Chosen, checkpoint: Path, piece: Piece) -> Attacker:
        """A new attacker where it is trained, else the same for every method."""
        if chosen.key in self._lasting:
            return self._lasting[chosen.key]
        attacker = chosen.level.build(
            Setting(
                options=self.options,
                data=self.data,
                verifier=self.reference.verifier,
                compute=self.compute,
                checkpoint=checkpoint,
                epoch=piece.epoch,
            )
        )
        if not chosen.level.trained:
            self._lasting[chosen.key] = attacker
        return attacker

    def _utility(self, released: HeldImages, notes: Notes, title: str) -> Utility:
        shared = {
            "device": self.device,
            "resamplings": self.options.evaluation.resamplings,
            "seed": self.options.seed,
        }

        def frozen(piece: Piece) -> MeasuredLabels:
            return frozen_utility(self.reference.classifier, released, self.data, **shared)

        checkpoint = notes.folder("retrained") / "utility.safetensors"

        def retrained(piece: Piece) -> MeasuredLabels:
            return retrained_utility(
                self.options.classifier,
                released,
                self.data,
                checkpoint=checkpoint,
                epoch=piece.epoch,
                compute=self.compute,
                **shared,
            )

        found = {}
        for kind, name, epochs, measure in (
            ("frozen", "frozen classifier", 0, frozen),
            ("retrained", "classifier trained again", self.options.classifier.epochs, retrained),
        ):
            known = notes.knows(kind)
            begun = known or (kind == "retrained" and checkpoint.is_file())
            with self.work.piece(kind, f"{title}: {name}", epochs=epochs, begun=begun) as piece:
                labels = notes.classification((kind,), lambda m=measure, p=piece: m(p))
                piece.result = _auc(labels.mean, known)
            found[kind] = Classification(auc=estimate_classification([labels]))
        return Utility(**found)

    def _examples(self, model: Anonymizer, released: HeldImages) -> tuple[Tensor, Tensor | None]:
        patients = self.owners.patient[self.rows]
        rows = self.rows[np.sort(np.unique(patients, return_index=True)[1])[:EXAMPLES]]
        displacement = model.displacement(self.data.images.batch(rows).to(self.device))
        if displacement is not None:
            displacement = flow.pixels(displacement).cpu()
        return released.batch(rows), displacement

    def _pairs(self, method: Method, released: HeldImages, notes: Notes) -> PairPictures | None:
        """What the strongest attacker finds, misses and takes for one, in its first run."""
        name = method.strongest[0] if method.strongest else ""
        pairs = [Extreme.of(entry) for entry in notes.kept(_pairs_key(name)) or ()]
        if not pairs:
            return None
        probes, gallery = (
            np.array([getattr(pair, side) for pair in pairs]) for side in ("probe", "gallery")
        )
        return PairPictures(name, pairs, released.batch(probes), self.data.images.batch(gallery))

    @cached_property
    def gallery(self) -> ImageSet:
        """The real images that every probe is compared with."""
        return self._real(self.rows)

    @cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The test pairs of the options as positions of probe and gallery image."""
        pairs = self.data.fixed_pairs("test")
        first, second = (np.searchsorted(self.rows, n) for n in (pairs.first, pairs.second))
        return first, second, pairs.same

    def _real(self, rows: np.ndarray) -> ImageSet:
        pixels = torch.from_numpy(self.data.images.array(rows)).unsqueeze(1)
        if self.bits == 16:
            pixels = pixels.float() / 65535
        return ImageSet(pixels, self.owners[rows])

    def _released(self, released: HeldImages, rows: np.ndarray) -> ImageSet:
        return ImageSet(released.pixels[torch.as_tensor(rows)], self.owners[rows])


def _pairs_key(attacker: str) -> tuple[str, str]:
    return "pairs", attacker.replace(":", "-")


def _what_matters(options: TrainOptions) -> str:
    """The options that a method's figures depend on, given its released images."""
    return options.model_dump_json(
        include={"seed", "precision", "data", "classifier", "verifier", "evaluation"},
        exclude={"data": {"root", "cache", "workers"}, "evaluation": {"repeats"}},
    )


def _auc(measured: Measured, known: bool) -> str:
    value = "undefined" if math.isnan(measured.value) else f"{measured.value:.3f}"
    return f"AUC {value}, measured before" if known else f"AUC {value}"
