"""A classifier that sees findings in radiographs, and reads nobody's images whom it learnt from.

A classifier that has seen the very patient would repeat the given labels, and a release that
follows from it would tell what nobody can see (label laundering). So several learn, each from four
fifths of the patients, and read the others.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from anonymize.data.batches import Images, in_batches
from anonymize.networks.gradients import histograms
from anonymize.set_anonymizer import Radiographs

FOLDS = 5
SIDE = 128  # pixels along a side of what the teacher sees, at most
CELLS = (6, 12)
COMPONENTS = 100
STRENGTH = 0.01  # inverse penalty of the logistic regression
LEAST = 1e-6  # deviation of logits that is more than rounding
BATCH = 64


@dataclass(frozen=True)
class Teacher:
    """Logistic regressions of gradient histograms, one a label; None where a label has one known
    value only, or where all images are alike."""

    basis: PCA | None
    labels: list[LogisticRegression | None]

    @classmethod
    def fit(cls, described: np.ndarray, targets: np.ndarray) -> Self:
        """Learns from described images (N, D) and their targets (N, L)."""
        labels: list[LogisticRegression | None] = [None] * targets.shape[1]
        if len(described) < 2 or (described == described[0]).all():
            return cls(None, labels)
        count = min(COMPONENTS, len(described) - 1)
        basis = PCA(count, svd_solver="randomized", iterated_power=2, whiten=True, random_state=0)
        inputs = basis.fit_transform(described)
        for label, target in enumerate(targets.T):
            known = ~np.isnan(target)
            present = target[known] > 0.5
            if len(np.unique(present)) == 2:
                model = LogisticRegression(C=STRENGTH, max_iter=200)
                labels[label] = model.fit(inputs[known], present)
        return cls(basis, labels)

    def logits(self, described: np.ndarray) -> np.ndarray:
        """float64 (n, L) of described images (n, D); 0 for labels that it did not learn."""
        found = np.zeros((len(described), len(self.labels)))
        if self.basis is not None and len(described):
            inputs = self.basis.transform(described)
            for label, model in enumerate(self.labels):
                if model is not None:
                    found[:, label] = model.decision_function(inputs)
        return found


@dataclass(frozen=True)
class Standard:
    """Mean and deviation (L,) of a teacher's logits among patients whom it did not learn from."""

    mean: np.ndarray
    spread: np.ndarray

    def of(self, logits: np.ndarray) -> np.ndarray:
        """Logits (n, L) standardised; 0 for a label in which those patients do not differ."""
        varies = self.spread > LEAST
        return (logits - self.mean) * varies / np.where(varies, self.spread, 1)


@dataclass(frozen=True)
class CrossFitted:
    """Teachers that learnt from four fifths of the patients each.

    Logits are standardised by the patients left out: the fewer have a finding there, the more have
    it among the others, so that the level alone would give away what was left out.

    Attributes:
        teachers: each with the standard of those whom it did not learn from.
        own: float64 (patients, L), what the patients whom they learnt from look like to the one
            that did not learn from them; in the order of their codes.
    """

    teachers: list[tuple[Teacher, Standard]]
    own: np.ndarray

    @classmethod
    def fit(cls, given: Radiographs, rng: np.random.Generator) -> Self:
        """Learns from a set; which fifth a patient is in is drawn."""
        described = descriptions(given.images)
        patients, whose = np.unique(given.patients, return_inverse=True)
        fold_of = rng.permutation(len(patients)) % min(FOLDS, len(patients))
        fold = fold_of[whose.reshape(-1)]
        teachers, own = [], np.zeros((len(patients), given.targets.shape[1]))
        for held in np.unique(fold):
            learn, read = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
            teacher = Teacher.fit(described[learn], given.targets[learn])
            seen = means(teacher.logits(described[read]), given.patients[read])
            standard = Standard(seen.mean(axis=0), seen.std(axis=0))
            own[fold_of == held] = standard.of(seen)
            teachers.append((teacher, standard))
        return cls(teachers, own)

    def read(self, images: Images, patients: np.ndarray) -> np.ndarray:
        """float64 (patients, L): what strangers look like to all teachers on average, in the mean
        of each one's images; in the order of their codes."""
        described = descriptions(images)
        seen = [
            standard.of(means(teacher.logits(described), patients))
            for teacher, standard in self.teachers
        ]
        return np.mean(seen, axis=0)


def descriptions(images: Images) -> np.ndarray:
    """float32 (N, D): gradient histograms of every image."""
    found = []
    for rows in in_batches(np.arange(len(images)), BATCH):
        batch = images.batch(rows)
        if min(batch.shape[-2:]) > SIDE:
            batch = F.interpolate(batch, (SIDE, SIDE), mode="area")
        cells = [c for c in CELLS if c <= min(batch.shape[-2:])] or CELLS[:1]
        found.append(histograms(batch, *cells))
    return torch.cat(found).numpy()


def totals(values: np.ndarray, patients: np.ndarray) -> np.ndarray:
    """Sum (patients, L) of (N, L) over the rows of each patient, in the order of the codes."""
    names, place = np.unique(patients, return_inverse=True)
    total = np.zeros((len(names), values.shape[1]))
    np.add.at(total, place.reshape(-1), values)
    return total


def means(values: np.ndarray, patients: np.ndarray) -> np.ndarray:
    """Mean (patients, L) of (N, L) over the rows of each patient, in the order of the codes."""
    counts = np.unique(patients, return_counts=True)[1]
    return totals(values, patients) / counts[:, None]
