"""The classifiers that read one method's release: frozen ones, retrained ones, and its control."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.data.batches import Images, Rows
from anonymize.data.dataset import Dataset
from anonymize.fingerprint import fingerprint, sources
from anonymize.networks.chexnet import Classifier
from anonymize.training.compute import Compute
from anonymize.training.stages import Labelled, predict
from attacks.evaluation.contents import known_by
from attacks.evaluation.donors import pool_rows
from attacks.evaluation.made_by import attack_options
from attacks.evaluation.plan import Plan
from attacks.evaluation.processes.notes import Note, Notes, say_outdated
from attacks.evaluation.processes.work import Piece, Work
from attacks.evaluation.reference import Reference
from attacks.evaluation.said_aucs import read_in_words
from attacks.evaluation.target import Target
from attacks.evaluation.utility import retrained
from attacks.knowledge.set_release import Released
from attacks.measuring.classification import (
    ALL,
    ECE,
    HELD_BACK,
    TOLD,
    Known,
    Reading,
    measure_reading,
)
from attacks.measuring.comparisons import equivalence, paired_runs
from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.measuring.statistics import Measured, estimate_classification, mean_over_runs, summary
from attacks.results import REAL, Classification, Utility
from attacks.training.learning import Learning

ON_RELEASED = "on_released"
Runs = list[Reading]
Logits = dict[str, np.ndarray]  # (images, labels) of each that was read


@dataclass
class UtilityRunner:
    """What was measured before a stop is not measured again."""

    plan: Plan
    data: Dataset
    readers: Sequence[Reference]
    compute: Compute
    folder: Path
    work: Work
    _real: dict[str, Runs] = field(default_factory=dict)

    def measure(self, target: Target) -> tuple[Utility, list[Measured]]:
        """Everything about one release; differences where the real images were measured before; and
        the mean AUC of each retrained classifier. Raises DataError: a method that draws from images
        that the data set does not list."""
        rows, every = pool_rows(target.model, self.data.table), range(self.plan.utility_repeats)
        found = {"frozen": self.frozen(target), "retrained": self._retrained(target, every)}
        if target.model.name == REAL:
            self._real = found
        made = {kind: self._classification(kind, runs) for kind, runs in found.items()}
        read = [run[ALL].mean for run in found["retrained"]]
        read = [] if any(np.isnan(one.value) for one in read) else read
        if rows is not None:
            runs = self._control(rows, target.title, every)
            empty = Classification(auc=LabelAuc(mean=None))
            made["pool_only"] = self._classification("retrained", runs) if runs else empty
            return Utility(**made, over_pool=_less(found["retrained"], runs)), read
        return Utility(**made), read

    def frozen(self, target: Target) -> Runs:
        """What the classifiers of real images read in a release."""
        images = target.release.released
        kept = {
            n: self._notes(target.notes, "frozen", n, reader.classifier.state_dict())
            for n, reader in enumerate(self.readers)
        }

        def read(n: int, piece: Piece) -> Logits:
            return {ALL: self._logits(self.readers[n].classifier, images)}

        title = f"{target.title}: frozen classifier"
        return self._runs("frozen", kept, title, read, {ALL: images})

    def train(self, target: Target, repeats: Sequence[int]) -> None:
        """Measures some of the classifiers that learn from a release, and from its pool alone."""
        rows = pool_rows(target.model, self.data.table)
        self._retrained(target, repeats)
        if rows is not None:
            self._control(rows, target.title, repeats)

    def _retrained(self, target: Target, repeats: Sequence[int]) -> Runs:
        released = target.release.released
        rows = released.of(self.data.table.part("train"))
        return self._trained("retrained", Rows(released, rows), target.notes, target.title, repeats)

    def _control(self, rows: np.ndarray, title: str, repeats: Sequence[int]) -> Runs:
        """Empty where there is nothing to learn from."""
        if len(rows) < 2:
            self.work.say(f"{title}: too few training images in its pool for a control, 2 needed")
            return []
        notes = Notes(self.folder, "pool", known_by(self.data), rows)
        self.work.more("pool_only", self.plan.options.classifier.epochs, len(repeats))
        return self._trained("pool_only", Rows(self.data.images, rows), notes, title, repeats)

    def _trained(
        self, kind: str, given: Rows, notes: Notes, title: str, repeats: Sequence[int]
    ) -> Runs:
        """Trained on images; what each reads from real images, and from these."""
        images = given.images
        shown: dict[str, Images] = {ALL: self.data.images}
        if images is not self.data.images:
            shown[ON_RELEASED] = images
        labels = self._labels(images)
        said = [labels] if isinstance(images, Released) and images.labels is not None else []
        kept = {repeat: self._notes(notes, kind, repeat, *said) for repeat in repeats}

        def read(repeat: int, piece: Piece) -> Logits:
            learning = Learning(self.compute, _checkpoint(kept[repeat][1]), piece.epoch)
            validation = _there(images, self.data.table.part("validation"))
            learns = Labelled(images, labels, given.rows, validation)
            classifier = retrained(learns, self.plan.options, learning, repeat)
            return {name: self._logits(classifier, one) for name, one in shown.items()}

        words = {"retrained": "classifier trained again", "pool_only": "classifier of its pool"}
        return self._runs(kind, kept, f"{title}: {words[kind]}", read, shown)

    def _labels(self, images: Images) -> np.ndarray:
        """The labels that images are released with: of findings that a method says something of
        its own; the real ones where it does not."""
        if not isinstance(images, Released):
            return self.data.targets
        known = self.data.targets[images.image]
        if images.labels is not None:
            told = self.data.told.table.labels
            known[:, [self.data.table.labels.index(name) for name in told]] = images.labels
        return known

    def _runs(
        self,
        kind: str,
        kept: Mapping[int, tuple[Note, Note]],
        name: str,
        read: Callable[[int, Piece], Logits],
        shown: Mapping[str, Images],
    ) -> Runs:
        """Of the numbers of ``kept``, each with the notes of its figures and of its logits."""
        say_outdated((note.folder for note, _ in kept.values()), self.work.say, file=".json")
        found, of_all = [], self.plan.utility_repeats
        epochs = 0 if kind == "frozen" else self.plan.options.classifier.epochs
        for repeat, (note, logits) in kept.items():
            of = f" {repeat + 1}/{of_all}" if of_all > 1 else ""
            known = note.known
            resumed = known or logits.has_scores or _checkpoint(logits).is_file()
            with self.work.piece(kind, f"{name}{of}", epochs=epochs, resumed=resumed) as piece:
                if not (known or logits.has_scores):
                    logits.keep_scores(read(repeat, piece))
                    logits.end_training()
                found.append(note.reading(partial(self._reading, logits, shown)))
                piece.result = read_in_words(found[-1][ALL].mean, known)
        return found

    def _logits(self, classifier: Classifier, images: Images) -> np.ndarray:
        rows = _there(images, self.data.table.part("test"))
        return predict(classifier, images, rows, self.compute.device)

    def _reading(self, logits: Note, shown: Mapping[str, Images]) -> Reading:
        """The figures of what was read from the images ``shown``; of others than `ALL` the mean."""
        found: Reading = {}
        for name, images in shown.items():
            rows = _originals(images, _there(images, self.data.table.part("test")))
            patients = self.data.table.frame.loc[rows, "patient_id"].to_numpy()
            known = Known(
                self.data.targets[rows], patients, self.data.table.labels, self.data.held_back
            )
            options = self.plan.options
            drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
            read = measure_reading(logits.scores[name], known, **drawn)
            found |= read if name == ALL else {name: read[ALL]}
        return found

    def _notes(self, notes: Notes, kind: str, number: int, *others: Any) -> tuple[Note, Note]:
        """Of the figures of a classifier, and of its logits; ``others``: of :func:`fingerprint`,
        what it was made of beside the images."""
        options = self.plan.options
        reading = attack_options(options), sources("attacks.evaluation.utility")
        measuring = attack_options(options, to="figures"), sources(measure_reading)
        read_by = fingerprint(*reading, others)
        return (
            notes.note(kind, number, made_by=fingerprint(read_by, *measuring)),
            notes.note("logits", kind, number, made_by=read_by),
        )

    def _classification(self, kind: str, runs: Runs) -> Classification:
        of = {name: [run[name] for run in runs] for name in runs[0]}
        errors = [error.mean.value for error in of.pop(ECE)]
        means = {name: estimate_classification(labels) for name, labels in of.items()}
        return Classification(
            auc=means[ALL],
            told=means.get(TOLD),
            held_back=means.get(HELD_BACK),
            ece=float(np.mean(errors)),
            **self._difference(kind, runs),
            on_released=means.get(ON_RELEASED),
        )

    def _difference(self, kind: str, runs: Runs) -> dict[str, Any]:
        """To the real images, and whether it is within the margin; nothing where they were not
        measured, are these, or have no AUC."""
        real = self._real.get(kind)
        if real is None or real is runs or np.isnan(runs[0][ALL].mean.value):
            return {}
        paired = _paired(runs, real, ALL)
        margin = self.plan.options.evaluation.utility_margin
        shown = equivalence(mean_over_runs(paired), margin)
        found = {"difference": summary(paired), "margin": shown}
        if TOLD in runs[0] and not np.isnan(runs[0][TOLD].mean.value):
            found["told_difference"] = summary(_paired(runs, real, TOLD))
        return found


def _less(runs: Runs, others: Runs) -> Estimate | None:
    """How much more is read after some trainings than after others; None where it has no AUC."""
    if not others or any(np.isnan(one[0][ALL].mean.value) for one in (runs, others)):
        return None
    return summary(_paired(runs, others, ALL))


def _paired(runs: Runs, real: Runs, of: str) -> list[Measured]:
    """Each run less that of the real images, of the labels ``of``."""
    return paired_runs([run[of].mean for run in runs], [run[of].mean for run in real])


def _there(images: Images, rows: np.ndarray) -> np.ndarray:
    """Those of the rows of which there are images."""
    return images.of(rows) if isinstance(images, Released) else rows


def _originals(images: Images, rows: np.ndarray) -> np.ndarray:
    """The rows of the table that they stand for."""
    return images.image[rows] if isinstance(images, Released) else rows


def _checkpoint(note: Note) -> Path:
    return note.folder / "utility.safetensors"
