"""The classifier and the verifier of real images: given or trained once, used for every method."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from anonymize.data.dataset import Dataset
from anonymize.networks.chexnet import Classifier
from anonymize.options import TrainOptions
from anonymize.runs import CLASSIFIER, METRICS, VERIFIER
from anonymize.training.compute import Compute
from anonymize.training.parts import find_part
from anonymize.training.recorder import Recorder
from anonymize.training.steps import Steps
from attacks.evaluation.processes.work import Work


class Reference:
    """Trains both in ``folder`` where they are not there yet.

    Args:
        folder: a run that has them, or where they come to lie.
        parts: "classifier" and "verifier" that are given, as `parts.find_part` names them.
        data: the images; of their labels, those held back are not used.
    """

    def __init__(
        self,
        folder: Path,
        parts: Mapping[str, str],
        options: TrainOptions,
        data: Dataset,
        compute: Compute,
        work: Work,
    ) -> None:
        self.folder, self._options, self.work = folder, options, work
        self._given = {kind: find_part(spec, kind) for kind, spec in parts.items()}
        if self._given:
            folder.mkdir(parents=True, exist_ok=True)
        self._recorder = _Watched(folder / METRICS, work)
        self.compute = compute
        self._steps = Steps(options, folder, data.told, compute, self._recorder)

    def prepare(self, *, classifier: bool, verifier: bool, which: str = "") -> None:
        """Trains those that are asked for; ``which`` of several, in words."""
        own = self._options
        for name, file, options, wanted, train in (
            ("classifier", CLASSIFIER, own.classifier, classifier, lambda: self.classifier),
            ("verifier", VERIFIER, own.verifier, verifier, self.verifier),
        ):
            if not wanted:
                continue
            known = (self.folder / file).is_file()
            checkpoint = self.folder / "checkpoint" / f"{name}.safetensors"
            with self.work.piece(
                name,
                f"{name} of real images{which}",
                epochs=options.epochs,
                resumed=known or checkpoint.is_file() or name in self._given,
            ) as piece:
                self._recorder.watch = piece.epoch
                train()
                piece.result = (
                    "given" if name in self._given else "trained before" if known else "trained"
                )

    @cached_property
    def classifier(self) -> Classifier:
        """In evaluation mode; laid out alike, trained now or before, which decides on last bits."""
        return self.compute.ready(self._steps.classifier(self._given.get("classifier"))).eval()

    def verifier(self) -> Path:
        """The model file of the verifier."""
        return self._steps.verifier_file(self._given.get("verifier"))


class _Watched(Recorder):
    """Tells the number of finished epochs too."""

    watch: Callable[[int], None] = staticmethod(lambda done: None)

    def stage(self, name: str, epochs: int) -> Callable[[list[dict[str, Any]]], None]:
        record = super().stage(name, epochs)

        def report(history: list[dict[str, Any]]) -> None:
            record(history)
            self.watch(len(history))

        return report
