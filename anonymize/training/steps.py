"""The steps of a run; each continues from its checkpoint and leaves its result in a file."""

import copy
import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from anonymize import flow
from anonymize.data.batches import Images
from anonymize.data.dataset import Dataset
from anonymize.data.splits import learning_patients
from anonymize.errors import UsageError
from anonymize.model_card import Card
from anonymize.model_file import save_model, versions
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import ClassifierOptions, TrainOptions, VerifierOptions
from anonymize.runs import CLASSIFIER, MODEL, TRAINING, VERIFIER
from anonymize.seeds import derive_seed
from anonymize.trained import Generator, TrainedAnonymizer, trained_method
from anonymize.training.adversarial import AdversarialStage, Players
from anonymize.training.compute import Compute
from anonymize.training.course import ATTACKER, course, course_of
from anonymize.training.curves import draw_course
from anonymize.training.loop import Figures, History, Stage, fit
from anonymize.training.opponents import build_opponents
from anonymize.training.parts import Given, load_classifier, load_verifier
from anonymize.training.recorder import Recorder
from anonymize.training.samples import save_samples
from anonymize.training.stages import (
    ClassifierStage,
    Labelled,
    Paired,
    ReconstructionStage,
    VerifierStage,
)


class Steps:
    """The steps of one run; each continues from its checkpoint."""

    def __init__(
        self, options: TrainOptions, run: Path, data: Dataset, compute: Compute, recorder: Recorder
    ) -> None:
        self.options, self.run, self.data = options, run, data
        if not compute.fits(options):
            raise UsageError(
                "compute has another precision or accumulation than the options of the run; make "
                "it with Compute.of(options, device)"
            )
        self.compute, self.device, self.recorder = compute, compute.device, recorder
        self.method = trained_method(options.generator.method)

    @cached_property
    def images(self) -> Images:
        """Of the data set, where training finds them fastest."""
        return self.compute.held(self.data.images)

    def classifier(self, given: Given | None):
        """The auxiliary classifier: given, already trained, or trained now."""
        path, options = self.run / CLASSIFIER, self.options.classifier
        if self._taken(given, path):
            return load_classifier(path).to(self.device)
        network = self._seeded(build_classifier, options, len(self.data.table.labels))
        stage = ClassifierStage(network, options, self._labelled(), compute=self.compute)
        self._write(save_model, network, self._card("classifier", options, self._fit(stage)), path)
        return network

    def verifier(self, given: Given | None):
        """The verifier as pre-trained on real images: given, already trained, or trained now."""
        return load_verifier(self.verifier_file(given)).to(self.device)

    def verifier_file(self, given: Given | None) -> Path:
        """The file of that verifier."""
        path, options = self.run / VERIFIER, self.options.verifier
        if not self._taken(given, path):
            network = self._seeded(build_verifier, options)
            stage = VerifierStage(network, options, self._paired(), compute=self.compute)
            card = self._card("verifier", options, self._fit(stage))
            self._write(save_model, network, card, path)
        return path

    def pretrained_generator(self) -> Generator:
        """The generator after reconstruction pre-training."""
        generator = self._seeded(self.method.Generator, self.options.generator)
        options = self.options.reconstruction
        if options.epochs:
            stage = ReconstructionStage(generator, options, self._labelled(), compute=self.compute)
            self._fit(stage)
        return generator.to(self.device)

    def game(self, generator: Generator, verifier, classifier) -> TrainedAnonymizer:
        """The adversarial training; the best generator becomes the run's model."""
        path, options = self.run / MODEL, self.options.adversarial
        if self._have(path):
            return self._model(path)
        opponents = self._seeded(build_opponents, options, verifier, generator.options)
        players = Players(generator, verifier, classifier, opponents)
        stage = AdversarialStage(
            players, options, self._paired(), self.data.targets, compute=self.compute
        )
        self._samples(generator, "0-pretrained")
        report = self.recorder.stage(stage.name, stage.epochs)

        def drawn(history: History) -> None:
            report(history)
            if ATTACKER in history[-1] and len(history) < stage.epochs:
                self._draw_course()

        figures = self._fit(stage, drawn)
        self._draw_course()
        self._samples(generator, "1-trained")
        model = self.method(generator, size=self.options.data.size)
        known = course(self.recorder.lines, options.course, kept=figures["epoch"])
        known, labels = _plain(figures) | known, self.data.table.labels
        card = model.card(data=self._fingerprint(), figures=known, labels=labels)
        self._write(save_model, generator.core, card, path)
        return self._model(path)

    def _model(self, path: Path) -> TrainedAnonymizer:
        """The run's model, which draws the same numbers whenever the run is finished."""
        return self.method.from_spec(str(path)).redrawn(self.options.seed).to(self.device)

    def measured(self, model: TrainedAnonymizer) -> dict[str, Any]:
        """What the model is, and how far it moves the images of the test part."""
        table, rows = self.data.table, self.data.table.part("test")
        return {
            "run": str(self.run),
            "method": model.name,
            "mu": model.mu,
            "training": course_of(model.origin.figures if model.origin else {}),
            "source": table.source,
            "test": {
                "images": len(rows),
                "patients": int(table.frame.loc[rows, "patient_id"].nunique()),
            },
            "displacement_px": self._displacement(model, rows[:100]),
        }

    def _displacement(self, model: TrainedAnonymizer, rows: np.ndarray) -> Figures | None:
        """Mean and largest length in pixels; None for a method that does not deform."""
        images = (self.data.images.batch(row[None]).to(self.device) for row in rows)
        fields = [field for image in images if (field := model.displacement(image)) is not None]
        if not fields:
            return None
        length = flow.magnitude(flow.pixels(torch.cat(fields)))
        return {"mean": float(length.mean()), "max": float(length.max())}

    def _labelled(self) -> Labelled:
        rows, validation = map(self.data.table.part, ("train", "validation"))
        return Labelled(self.images, self.data.targets, rows, validation)

    def _paired(self) -> Paired:
        data, images = self.data, self.images
        pairs, validation = data.training_pairs(), data.fixed_pairs("validation")
        return Paired(images, images, data.patients, pairs, validation)

    def _fit(self, stage: Stage, report: Callable[[History], None] | None = None) -> Figures:
        return fit(
            stage,
            seed=self.options.seed,
            checkpoint=self.run / "checkpoint" / f"{stage.name}.safetensors",
            report=report or self.recorder.stage(stage.name, stage.epochs),
        )

    def _draw_course(self) -> None:
        if self.compute.main:
            own = self.recorder.of(AdversarialStage.name)
            given = self.options.generator.model_dump().get("mu")
            title = self.method.name + ("" if given is None else f", μ = {given:g}")
            draw_course(own, self.run / TRAINING, title=title)

    def _have(self, path: Path) -> bool:
        return self.compute.broadcast(path.is_file())

    def _taken(self, given: Given | None, path: Path) -> bool:
        """Whether the run has that part: from before, or as it is given."""
        if given is not None and not self._have(path):
            given.check_labels(self.data.table)
            self._write(given.write, path, self.data.table)
        return self._have(path)

    def _write(self, write: Callable, *arguments) -> None:
        """One process writes, the others wait for it."""
        if self.compute.main:
            write(*arguments)
        self.compute.broadcast(None)

    def _seeded(self, build: Callable, *arguments):
        torch.manual_seed(derive_seed(self.options.seed, build.__name__))
        return build(*arguments)

    def _samples(self, generator: Generator, name: str) -> None:
        rows = self.data.table.part("validation")
        _, first = np.unique(self.data.patients[rows], return_index=True)
        rows = rows[np.sort(first)[: self.options.samples]]
        if not len(rows) or not self.compute.main:
            return
        model = self.method(copy.deepcopy(generator), size=self.options.data.size)
        model = model.redrawn(self.options.seed)
        title = f"{name.partition('-')[2]} {model.name}"
        title = title if model.mu is None else f"{title}, μ = {model.mu:g}"
        images = self.data.images.batch(rows).to(self.device)
        save_samples(model, images, self.run / "samples" / f"{name}.png", title=title)

    def _card(
        self, kind: str, options: ClassifierOptions | VerifierOptions, figures: Figures
    ) -> Card:
        return Card(
            kind=kind,
            architecture=options.model_dump(),
            size=self.options.data.size,
            labels=list(self.data.table.labels) if kind == "classifier" else [],
            data=self._fingerprint(),
            versions=versions(),
            figures=_plain(figures),
        )

    def _fingerprint(self) -> dict[str, Any]:
        table = self.data.table
        return {
            "source": table.source,
            "fingerprint": table.fingerprint,
            "images": len(table),
            "split_seed": self.options.data.split_seed,
            "learning_patients": learning_patients(table),
        }


def _plain(figures: dict[str, Any]) -> Figures:
    """The numbers among them; an undefined one would make a card that nobody can read."""
    numbers = {k: float(v) for k, v in figures.items() if isinstance(v, int | float)}
    return {k: v for k, v in numbers.items() if math.isfinite(v)}
