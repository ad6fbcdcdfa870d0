"""Groups of patients who are alike in what is to be kept, and otherwise drawn at random.

Images that are alike make groups that give their members away: the mean of neighbours stays where
they are. So patients are brought together by a *utility code* – the labels that are given, or what
a classifier sees that learnt from other patients – and within a code by lot.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.cluster import KMeans
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
BATCH = 64


def codes_by_labels(given: Radiographs) -> np.ndarray:
    """float64 (patients, L): the mean labels of each patient, unknown ones as a value of their
    own (−1); patients in the order of their codes."""
    return _by_patient(np.where(np.isnan(given.targets), -1.0, given.targets), given.patients)


def codes_by_teacher(given: Radiographs, rng: np.random.Generator) -> np.ndarray:
    """float64 (patients, L): what a classifier that learnt from other patients sees in each
    patient's images, as standardised logits.

    A classifier that has seen the very patient would repeat the given labels, and the release would
    tell what nobody can see (label laundering). So the patients are divided into five parts, and
    each is read by a logistic regression of gradient histograms that learnt from the others. Labels
    of which a fold knows one value only are left out.
    """
    described = _descriptions(given.images)
    patients = np.unique(given.patients)
    fold_of = rng.permutation(len(patients)) % min(FOLDS, len(patients))
    fold = fold_of[np.searchsorted(patients, given.patients)]
    logits = np.zeros(given.targets.shape)
    for held in np.unique(fold):
        learn, read = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        if len(learn) < 2:
            continue
        count = min(COMPONENTS, len(learn) - 1)
        basis = PCA(count, svd_solver="randomized", iterated_power=2, whiten=True, random_state=0)
        inputs = basis.fit(described[learn]).transform
        for label, target in enumerate(given.targets.T):
            known = learn[~np.isnan(target[learn])]
            if len(np.unique(target[known])) < 2:
                continue
            teacher = LogisticRegression(C=STRENGTH, max_iter=200)
            teacher.fit(inputs(described[known]), target[known] > 0.5)
            seen = teacher.decision_function(inputs(described[read]))
            logits[read, label] = seen
    spread = logits.std(axis=0)
    return _by_patient(
        (logits - logits.mean(axis=0)) / np.where(spread > 0, spread, 1), given.patients
    )


def clusters(codes: np.ndarray, at_least: int, number: int, seed: int) -> list[np.ndarray]:
    """Patients (rows of ``codes``) by equal codes, or by k-means where there are more than
    ``number`` different ones; clusters of fewer than ``at_least`` patients join the nearest one.
    None where there are fewer patients than that."""
    if len(codes) < at_least:
        return []
    different, cluster = np.unique(codes, axis=0, return_inverse=True)
    cluster = cluster.reshape(-1)
    if len(different) > number:
        cluster = KMeans(number, n_init=4, random_state=seed).fit_predict(codes)
    while True:
        names, sizes = np.unique(cluster, return_counts=True)
        if sizes.min() >= at_least or len(names) == 1:
            return [np.flatnonzero(cluster == name) for name in names]
        centres = np.stack([codes[cluster == name].mean(axis=0) for name in names])
        small = int(np.argmin(sizes))
        away = np.linalg.norm(centres - centres[small], axis=1)
        away[small] = np.inf
        cluster[cluster == names[small]] = names[int(np.argmin(away))]


def _descriptions(images: Images) -> np.ndarray:
    """float32 (N, D): gradient histograms of every image."""
    found = []
    for rows in in_batches(np.arange(len(images)), BATCH):
        batch = images.batch(rows)
        if min(batch.shape[-2:]) > SIDE:
            batch = F.interpolate(batch, (SIDE, SIDE), mode="area")
        cells = [c for c in CELLS if c <= min(batch.shape[-2:])]
        found.append(histograms(batch, *cells))
    return torch.cat(found).numpy()


def _by_patient(values: np.ndarray, patients: np.ndarray) -> np.ndarray:
    """Mean (patients, L) of (N, L) over the images of each patient, in the order of the codes."""
    _, place, count = np.unique(patients, return_inverse=True, return_counts=True)
    total = np.zeros((len(count), values.shape[1]))
    np.add.at(total, place, values)
    return total / count[:, None]
