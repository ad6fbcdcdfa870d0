"""Labels that say what an output shows: read in it by networks that learnt from other patients.

What is known of those who went into an output is more than it shows of them. A classifier that
learns from a release learns more where labels are what others read there (distillation: Hinton,
Vinyals and Dean 2015). The networks learn from the images as they are, and are not released; who
went into an output is among none of those whom its readers learnt from, so that its labels follow
from the output and from strangers, and tell no more of anybody in it than it shows itself.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, in_batches
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
        rng: starts and orders of the trainings follow from it; torch's own state stays as it was.
    """
    found = np.full((len(lot_of), given.targets.shape[1]), np.nan, np.float32)
    for lot, own in enumerate(lots):
        seed, rows = int(rng.integers(2**31)), np.flatnonzero(lot_of == lot)
        if len(rows):
            others = np.concatenate([one for number, one in enumerate(lots) if number != lot])
            assert not np.isin(given.patients[others], given.patients[own]).any()
            found[rows] = _read(given, others, _seen(outputs, rows), seed)
    return found


def _read(given: Radiographs, learnt: np.ndarray, shown: Tensor, seed: int) -> np.ndarray:
    """What networks that learnt from the rows ``learnt`` read in images ``shown`` (n, 1, H, W)."""
    targets = given.targets[learnt]
    told = (targets > 0.5).any(axis=0) & (targets < 0.5).any(axis=0)
    found = np.full((len(shown), targets.shape[1]), np.nan, np.float32)
    known = ~np.isnan(targets[:, told]).all(axis=1)
    patients = np.unique(given.patients[learnt[known]], return_inverse=True)[1]
    if patients.max(initial=-1) + 1 < HELD:
        return found
    images, targets = HeldImages(_seen(given.images, learnt[known])), targets[known][:, told]
    total, threads = np.zeros((len(shown), int(told.sum()))), torch.get_num_threads()
    torch.set_num_threads(1)  # the last bits do not depend on how many there are
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            for number in range(READERS):
                torch.manual_seed(seed + number)
                network = _learn(images, targets, patients, seed + number)
                total += torch.from_numpy(_logits(network, shown)).sigmoid().numpy()
    finally:
        torch.set_num_threads(threads)
    found[:, told] = (total / READERS * STEPS).round() / STEPS
    return found


def _learn(images: Images, targets: np.ndarray, patients: np.ndarray, seed: int) -> Classifier:
    count = int(patients.max()) + 1
    held = np.isin(patients, torch.randperm(count)[: max(1, count // HELD)].numpy())
    rows, decide = np.flatnonzero(~held), np.flatnonzero(held)
    network = build_classifier(NETWORK, targets.shape[1])
    data = Labelled(images, targets, rows, decide)
    fit(ClassifierStage(network, NETWORK, data, compute=Compute(), name="reader"), seed=seed)
    return network


def _logits(network: Classifier, shown: Tensor) -> np.ndarray:
    return predict(network, HeldImages(shown), np.arange(len(shown)), torch.device("cpu"))


def _seen(images: Images, rows: np.ndarray) -> Tensor:
    """As a reader sees images: in so many gray levels, and no larger than a teacher does."""
    found = []
    for some in in_batches(rows, BATCH):
        batch = (images.batch(some).float() * LEVELS).round() / LEVELS
        small = [min(side, SIDE) for side in batch.shape[-2:]]
        found.append(F.interpolate(batch, small, mode="area"))
    return torch.cat(found)
