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
LEAST = 1e-6  # deviation of logits that is more than rounding
BATCH = 64


def by_patient(patients: np.ndarray) -> list[np.ndarray]:
    """The rows of each patient, ascending; patients in the order of their codes."""
    order = np.argsort(patients, kind="stable")
    _, first = np.unique(patients[order], return_index=True)
    return np.split(order, first[1:]) if len(patients) else []


def codes_by_labels(given: Radiographs) -> np.ndarray:
    """float64 (patients, L): the mean of each patient's known labels, −1 where none is known;
    patients in the order of their codes."""
    known = ~np.isnan(given.targets)
    count = _totals(known, given.patients)
    total = _totals(np.where(known, given.targets, 0), given.patients)
    return np.where(count > 0, total / count.clip(min=1), -1.0)


def codes_by_teacher(given: Radiographs, rng: np.random.Generator) -> np.ndarray:
    """float64 (patients, L): what a classifier that learnt from other patients sees in each
    patient's images, as standardised logits.

    A classifier that has seen the very patient would repeat the given labels, and the release would
    tell what nobody can see (label laundering). So the patients are divided into five parts, and
    each is read by a logistic regression of gradient histograms that learnt from the others. Its
    logits are standardised within the part: the fewer have a finding there, the more have it among
    the others, so that the level alone would give away what was left out. Labels of which a
    classifier knows one value only are left out.
    """
    described = _descriptions(given.images)
    patients, whose = np.unique(given.patients, return_inverse=True)
    fold_of = rng.permutation(len(patients)) % min(FOLDS, len(patients))
    fold = fold_of[whose.reshape(-1)]
    logits = np.zeros(given.targets.shape)
    for held in np.unique(fold):
        learn, read = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        logits[read] = _seen(described[read], described[learn], given.targets[learn])
    codes = _totals(logits, given.patients) / np.bincount(whose.reshape(-1))[:, None]
    for held in np.unique(fold):
        part = codes[fold_of == held]
        spread = part.std(axis=0)
        varies = spread > LEAST
        codes[fold_of == held] = (part - part.mean(axis=0)) * varies / np.where(varies, spread, 1)
    return codes


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
    names, cluster = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(cluster).astype(float)
    centres = _totals(codes, cluster) / sizes[:, None]
    left = np.ones(len(names), bool)
    while left.sum() > 1 and sizes[left].min() < at_least:
        small = int(np.argmin(np.where(left, sizes, np.inf)))
        left[small] = False
        away = np.linalg.norm(centres - centres[small], axis=1)
        near = int(np.argmin(np.where(left, away, np.inf)))
        both = sizes[[small, near]]
        centres[near] = both @ centres[[small, near]] / both.sum()
        sizes[near] = both.sum()
        cluster[cluster == small] = near
    return [np.flatnonzero(cluster == name) for name in np.flatnonzero(left)]


def _seen(images: np.ndarray, learnt: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Logits (n, L) of described images (n, D) by classifiers of others (N, D) and their (N, L)."""
    found = np.zeros((len(images), targets.shape[1]))
    if len(learnt) < 2 or (learnt == learnt[0]).all():
        return found
    count = min(COMPONENTS, len(learnt) - 1)
    basis = PCA(count, svd_solver="randomized", iterated_power=2, whiten=True, random_state=0)
    inputs, seen = basis.fit_transform(learnt), basis.transform(images)
    for label, target in enumerate(targets.T):
        known = ~np.isnan(target)
        present = target[known] > 0.5
        if len(np.unique(present)) == 2:
            teacher = LogisticRegression(C=STRENGTH, max_iter=200).fit(inputs[known], present)
            found[:, label] = teacher.decision_function(seen)
    return found


def _descriptions(images: Images) -> np.ndarray:
    """float32 (N, D): gradient histograms of every image."""
    found = []
    for rows in in_batches(np.arange(len(images)), BATCH):
        batch = images.batch(rows)
        if min(batch.shape[-2:]) > SIDE:
            batch = F.interpolate(batch, (SIDE, SIDE), mode="area")
        cells = [c for c in CELLS if c <= min(batch.shape[-2:])] or CELLS[:1]
        found.append(histograms(batch, *cells))
    return torch.cat(found).numpy()


def _totals(values: np.ndarray, patients: np.ndarray) -> np.ndarray:
    """Sum (patients, L) of (N, L) over the rows of each patient, in the order of the codes."""
    names, place = np.unique(patients, return_inverse=True)
    total = np.zeros((len(names), values.shape[1]))
    np.add.at(total, place.reshape(-1), values)
    return total
