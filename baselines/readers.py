"""Labels that say what an output shows: read in it by networks that learnt from other patients.

What is known of those who went into an output is more than it shows of them. A classifier that
learns from a release learns more where labels are what others read there (distillation: Hinton,
Vinyals and Dean 2015). The networks learn from the images as they are, and are not released; who
went into an output is among none of those whom its readers learnt from, so that its labels follow
from the output and from strangers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.inference import one_thread
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import ClassifierOptions
from anonymize.set_anonymizer import Radiographs
from anonymize.training.compute import Compute
from anonymize.training.loop import fit
from anonymize.training.stages import ClassifierStage, Labelled, predict
from baselines.teacher import SIDE

NETWORK = ClassifierOptions(
    architecture="compact", width=16, epochs=12, patience=4, batch=32, rate=1e-3
)
READERS = 2  # networks whose mean is taken
HELD = 8  # one patient of so many decides when a network has learnt
LEVELS = 255  # gray levels of an output that are read, and no finer ones
STEPS = 100  # in which a probability is said
BATCH = 256


@dataclass(frozen=True)
class Readers:
    """Networks that learnt to read some labels, ``told`` (L,), from some patients; of too few, or
    with nothing to tell, none did."""

    networks: list[Classifier]
    told: np.ndarray

    @classmethod
    def fit(cls, given: Radiographs, rows: np.ndarray, seed: int) -> Self:
        """Learn from the ``rows`` of a set, on one thread, so that the last bits do not depend on
        how many there are; torch's own state stays as it was."""
        targets = given.targets[rows]
        told = (targets > 0.5).any(axis=0) & (targets < 0.5).any(axis=0)
        known = ~np.isnan(targets[:, told]).all(axis=1)
        patients = np.unique(given.patients[rows[known]], return_inverse=True)[1]
        if patients.max(initial=-1) + 1 < HELD:
            return cls([], told)
        images, targets = HeldImages(_seen(given.images, rows[known])), targets[known][:, told]
        with _alone():
            networks = [_learn(images, targets, patients, seed + n) for n in range(READERS)]
        return cls(networks, told)

    def read(self, outputs: Images, rows: np.ndarray) -> np.ndarray:
        """float32 (n, L): the probability of each label in the ``rows`` of outputs; NaN where they
        cannot tell."""
        found = np.full((len(rows), len(self.told)), np.nan, np.float32)
        if self.networks and len(rows):
            with _alone():
                shown, every = HeldImages(_seen(outputs, rows)), np.arange(len(rows))
                logits = [predict(n, shown, every, torch.device("cpu")) for n in self.networks]
                mean = torch.from_numpy(np.stack(logits)).double().sigmoid().mean(dim=0)
            found[:, self.told] = (mean.numpy() * STEPS).round() / STEPS
        return found


def read_by_others(
    given: Radiographs,
    lots: Sequence[np.ndarray],
    outputs: Images,
    lot_of: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """float32 (M, L): the probability of each label in each output; NaN where no patient of the
    other lots is known to have it, or none not to, and where they are fewer than eight.

    Args:
        lots: rows of the patients that are mixed with each other; two lots or more.
        outputs: M of them.
        lot_of: int64 (M,), the lot of each output.
        rng: starts and orders of the trainings follow from it.
    """
    found = np.full((len(lot_of), given.targets.shape[1]), np.nan, np.float32)
    for lot in range(len(lots)):
        others = np.concatenate([one for number, one in enumerate(lots) if number != lot])
        seed, rows = int(rng.integers(2**31)), np.flatnonzero(lot_of == lot)
        found[rows] = Readers.fit(given, others, seed).read(outputs, rows)
    return found


@contextmanager
def _alone() -> Iterator[None]:
    with one_thread(), torch.random.fork_rng(devices=[]), torch.enable_grad():
        yield


def _learn(images: Images, targets: np.ndarray, patients: np.ndarray, seed: int) -> Classifier:
    torch.manual_seed(seed)
    count = int(patients.max()) + 1
    held = np.isin(patients, torch.randperm(count)[: max(1, count // HELD)].numpy())
    rows, decide = np.flatnonzero(~held), np.flatnonzero(held)
    network = build_classifier(NETWORK, targets.shape[1])
    data = Labelled(images, targets, rows, decide)
    fit(ClassifierStage(network, NETWORK, data, compute=Compute(), name="reader"), seed=seed)
    return network


def _seen(images: Images, rows: np.ndarray) -> Tensor:
    """As a reader sees images: in so many gray levels, and no larger than a teacher does."""
    found = []
    for some in in_batches(rows, BATCH):
        batch = (images.batch(some).float() * LEVELS).round() / LEVELS
        small = [min(side, SIDE) for side in batch.shape[-2:]]
        found.append(F.interpolate(batch, small, mode="area"))
    return torch.cat(found)
