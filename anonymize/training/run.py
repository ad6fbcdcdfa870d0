"""A run: data, classifier, verifier, generator, game, test. Reads top to bottom.

Every step leaves its result in the run's folder before the next one starts; a run that was
stopped continues at the epoch where it was.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from anonymize import flow
from anonymize.data.batches import Images
from anonymize.data.cache import prepare
from anonymize.data.pairs import Pairs, balanced, read_list
from anonymize.data.released import released_images
from anonymize.data.sources import read
from anonymize.data.splits import assign
from anonymize.data.table import Table
from anonymize.errors import ModelError, UsageError
from anonymize.model_file import MODEL, Card, load_weights, read_card, save_model, versions
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import (
    ClassifierOptions,
    DataOptions,
    TrainOptions,
    VerifierOptions,
    validated,
    write_options,
)
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.training.adversarial import AdversarialStage
from anonymize.training.loop import Figures, derive_seed, fit
from anonymize.training.recorder import Recorder
from anonymize.training.samples import save_samples
from anonymize.training.stages import (
    ClassifierStage,
    ReconstructionStage,
    VerifierStage,
    match,
    mean_auc,
    predict,
)

OPTIONS, SUMMARY = "options.yaml", "summary.json"
TEST_PAIRS = 5000


@dataclass(frozen=True)
class Data:
    """A split table, its images and its pairs; what every stage draws from."""

    table: Table
    images: Images
    targets: np.ndarray
    options: DataOptions

    @classmethod
    def open(
        cls, options: DataOptions, progress: Callable[[int, int], None] | None = None
    ) -> Data:
        """Reads, splits and caches the data set of ``options``."""
        table = assign(read(options), seed=options.split_seed)
        table, images = prepare(
            table,
            size=options.size,
            directory=options.cache,
            workers=options.workers,
            on_missing=options.on_missing,
            progress=progress,
        )
        return cls(table, images, table.targets(np.arange(len(table))), options)

    def training_pairs(self) -> Callable[[int], Pairs]:
        """The pairs of an epoch from its seed: a given list, fixed, or drawn afresh."""
        o = self.options
        if o.pair_list is not None:
            listed = read_list(o.pair_list, self.table)
            return lambda seed: listed
        rows = self.table.part("train")
        if o.negatives == "fixed":
            once = balanced(self.table, rows, count=o.pairs, seed=o.split_seed)
            return lambda seed: once
        return lambda seed: balanced(self.table, rows, count=o.pairs, seed=seed)

    def fixed_pairs(self, part: str) -> Pairs:
        """The same balanced pairs of a part at every call, at most ``TEST_PAIRS``."""
        rows = self.table.part(part)
        return balanced(
            self.table, rows, count=None, seed=derive_seed(self.options.split_seed, part)
        ).first_n(TEST_PAIRS)


def train(
    options: TrainOptions,
    run: Path,
    *,
    device: torch.device,
    classifier: Path | None = None,
    verifier: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Trains an anonymizer in the folder ``run``, or continues there, and returns its summary.

    Args:
        classifier, verifier: model files to use instead of training one.

    Raises:
        UsageError: the folder holds something else, or a run with other options.
    """
    with _claimed(run, options):
        finished = run / SUMMARY
        if finished.is_file():
            return json.loads(finished.read_text(encoding="utf-8"))
        if options.threads:
            torch.set_num_threads(options.threads)
        data = Data.open(options.data, progress)
        say(_describe(data.table))
        steps = Steps(options, run, data, device, Recorder(run / "metrics.jsonl", say))
        auxiliary = steps.classifier(classifier)
        opponent = steps.verifier(verifier)
        generator = steps.pretrained_generator()
        model = steps.game(generator, opponent, auxiliary)
        summary = steps.test(model, verifier=steps.verifier(verifier), classifier=auxiliary)
        _write_json(summary, finished)
        return summary


class Steps:
    """The steps of one run; each continues from its checkpoint."""

    def __init__(
        self,
        options: TrainOptions,
        run: Path,
        data: Data,
        device: torch.device,
        recorder: Recorder,
    ) -> None:
        self.options, self.run, self.data = options, run, data
        self.device, self.recorder = device, recorder

    def classifier(self, given: Path | None):
        """The auxiliary classifier: given, already trained, or trained now."""
        path, table = self.run / "classifier.safetensors", self.data.table
        if given is not None and not path.is_file():
            labels = read_card(given).labels
            if tuple(labels) != table.labels:
                raise ModelError(
                    f"classifier {given} knows other labels ({', '.join(labels)}) than the "
                    f"source {table.source} ({', '.join(table.labels)})"
                )
            shutil.copyfile(given, path)
        if path.is_file():
            return load_classifier(path).to(self.device)
        network = self._seeded(build_classifier, self.options.classifier, len(table.labels))
        stage = ClassifierStage(
            network,
            self.options.classifier,
            images=self.data.images,
            targets=self.data.targets,
            rows=table.part("train"),
            validation=table.part("validation"),
            device=self.device,
        )
        self._fit(stage)
        save_model(network, self._card("classifier", self.options.classifier), path)
        return network

    def verifier(self, given: Path | None):
        """The verifier as pre-trained on real images: given, already trained, or trained now."""
        path = self.run / "verifier.safetensors"
        if given is not None and not path.is_file():
            load_verifier(given)
            shutil.copyfile(given, path)
        if path.is_file():
            return load_verifier(path).to(self.device)
        network = self._seeded(build_verifier, self.options.verifier)
        images = self.data.images
        self._fit(self._verification(network, images, images, name="verifier"))
        save_model(network, self._card("verifier", self.options.verifier), path)
        return network

    def pretrained_generator(self) -> FlowGenerator:
        """The generator after reconstruction pre-training."""
        generator = self._seeded(FlowGenerator, self.options.generator)
        if self.options.reconstruction.epochs:
            table = self.data.table
            self._fit(
                ReconstructionStage(
                    generator,
                    self.options.reconstruction,
                    images=self.data.images,
                    rows=table.part("train"),
                    validation=table.part("validation"),
                    device=self.device,
                )
            )
        return generator.to(self.device)

    def game(self, generator: FlowGenerator, verifier, classifier) -> PriCheXyNet:
        """The adversarial training; the best generator becomes the run's model."""
        path, size = self.run / MODEL, self.options.data.size
        if path.is_file():
            return PriCheXyNet.from_spec(str(path)).to(self.device)
        stage = AdversarialStage(
            generator,
            verifier,
            classifier,
            self.options.adversarial,
            images=self.data.images,
            targets=self.data.targets,
            pairs=self.data.training_pairs(),
            validation=self.data.fixed_pairs("validation"),
            device=self.device,
        )
        self._samples(generator, "0-pretrained")
        figures = self._fit(stage)
        self._samples(generator, "1-trained")
        model = PriCheXyNet(generator, size=size)
        card = model.card(data=self._fingerprint(), figures=_plain(figures))
        save_model(generator.unet, card, path)
        return PriCheXyNet.from_spec(str(path)).to(self.device)

    def test(self, model: PriCheXyNet, *, verifier, classifier) -> dict[str, Any]:
        """How private and how useful, on the test part; the verifier is also trained again."""
        table, images = self.data.table, self.data.images
        released = released_images(model, images, device=self.device)
        rows, pairs = table.part("test"), self.data.fixed_pairs("test")
        attacker = self._seeded(build_verifier, self.options.verifier)
        self._fit(self._verification(attacker, released, released, name="attack"))

        def verification(network, first: Images) -> float:
            logits = match(network, first, images, pairs, self.device)
            return float(roc_auc_score(pairs.same, logits))

        def classification(seen: Images) -> float:
            logits = predict(classifier, seen, rows, self.device)
            return mean_auc(self.data.targets[rows], logits)

        displacement = torch.cat(
            [
                flow.magnitude(flow.pixels(model.displacement(images.batch(r[None]).to(self.device))))
                for r in rows[:100]
            ]
        )
        return {
            "run": str(self.run),
            "mu": self.options.generator.mu,
            "source": table.source,
            "test": {
                "images": len(rows),
                "patients": int(table.frame.loc[rows, "patient_id"].nunique()),
                "pairs": len(pairs),
            },
            "verification_auc": {
                "real images": verification(verifier, images),
                "released, pre-trained verifier": verification(verifier, released),
                "released, verifier trained again": verification(attacker, released),
            },
            "classification_auc": {
                "real images": classification(images),
                "released": classification(released),
            },
            "displacement_px": {
                "mean": float(displacement.mean()),
                "max": float(displacement.max()),
            },
        }

    def _verification(self, network, first: Images, second: Images, *, name: str):
        return VerifierStage(
            network,
            self.options.verifier,
            first=first,
            second=second,
            pairs=self.data.training_pairs(),
            validation=self.data.fixed_pairs("validation"),
            device=self.device,
            name=name,
        )

    def _fit(self, stage) -> Figures:
        return fit(
            stage,
            seed=self.options.seed,
            checkpoint=self.run / "checkpoint" / f"{stage.name}.safetensors",
            report=self.recorder.stage(stage.name, stage.epochs),
        )

    def _seeded(self, build: Callable, *arguments):
        torch.manual_seed(derive_seed(self.options.seed, build.__name__))
        return build(*arguments)

    def _samples(self, generator: FlowGenerator, name: str) -> None:
        rows = self.data.table.part("validation")[: self.options.samples]
        if not len(rows):
            return
        images = self.data.images.batch(rows)
        with torch.no_grad():
            displacement = generator.eval()(images.to(self.device)).cpu()
        title = f"{name.partition('-')[2]}, μ = {self.options.generator.mu:g}"
        save_samples(images, displacement, self.run / "samples" / f"{name}.png", title=title)

    def _card(self, kind: str, options: ClassifierOptions | VerifierOptions) -> Card:
        return Card(
            kind=kind,
            architecture=options.model_dump(),
            size=self.options.data.size,
            labels=list(self.data.table.labels) if kind == "classifier" else [],
            data=self._fingerprint(),
            versions=versions(),
            figures=_plain(self.recorder.best(kind)),
        )

    def _fingerprint(self) -> dict[str, Any]:
        table = self.data.table
        return {
            "source": table.source,
            "fingerprint": table.fingerprint,
            "images": len(table),
            "split_seed": self.options.data.split_seed,
        }


def load_classifier(path: Path):
    """The classifier of a model file, without its published start weights."""
    card = _card_of(path, "classifier")
    options = validated(ClassifierOptions, {**card.architecture, "weights": None})
    network = build_classifier(options, len(card.labels))
    load_weights(network, path)
    return network.eval()


def load_verifier(path: Path):
    """The verifier of a model file."""
    card = _card_of(path, "verifier")
    network = build_verifier(validated(VerifierOptions, {**card.architecture, "weights": None}))
    load_weights(network, path)
    return network.eval()


def _card_of(path: Path, kind: str) -> Card:
    card = read_card(path)
    if card.kind != kind:
        raise ModelError(f"{path} is a model of kind {card.kind}, not {kind}")
    return card


@contextmanager
def _claimed(run: Path, options: TrainOptions) -> Iterator[None]:
    """The run's folder with its options in it, for one process at a time."""
    if run.is_dir() and any(run.iterdir()) and not (run / OPTIONS).is_file():
        raise UsageError(f"{run} is not empty and no run; choose another --out")
    run.mkdir(parents=True, exist_ok=True)
    with (run / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another process trains in {run}; choose another --out") from None
        if not (run / OPTIONS).is_file():
            write_options(options, run / OPTIONS)
        yield


def _describe(table: Table) -> str:
    parts = ", ".join(f"{len(table.part(p))} {p}" for p in ("train", "validation", "test"))
    patients = table.frame["patient_id"].nunique()
    skipped = f", {len(table.skipped)} skipped" if table.skipped else ""
    return f"{table.source}: {len(table)} images of {patients} patients ({parts}{skipped})"


def _plain(figures: dict[str, Any]) -> Figures:
    return {k: float(v) for k, v in figures.items() if isinstance(v, int | float)}


def _write_json(value: dict[str, Any], path: Path) -> None:
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
