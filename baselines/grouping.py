"""Groups of patients who are alike in what is to be kept, and otherwise drawn at random.

Images that are alike make groups that give their members away: the mean of neighbours stays where
they are. So patients are brought together by a *utility code* – the labels that are given, or what
a classifier sees that learnt from other patients – and within a code by lot.
"""

import numpy as np
from sklearn.cluster import KMeans

from anonymize.set_anonymizer import Radiographs
from baselines.teacher import totals


def by_patient(patients: np.ndarray) -> list[np.ndarray]:
    """The rows of each patient, ascending; patients in the order of their codes."""
    order = np.argsort(patients, kind="stable")
    _, first = np.unique(patients[order], return_index=True)
    return np.split(order, first[1:]) if len(patients) else []


def codes_by_labels(given: Radiographs) -> np.ndarray:
    """float64 (patients, L): the mean of each patient's known labels, −1 where none is known;
    patients in the order of their codes."""
    known = ~np.isnan(given.targets)
    count = totals(known, given.patients)
    total = totals(np.where(known, given.targets, 0), given.patients)
    return np.where(count > 0, total / count.clip(min=1), -1.0)


def clusters(
    codes: np.ndarray, at_least: int, number: int, seed: int, *, join: bool = True
) -> list[np.ndarray]:
    """Patients (rows of ``codes``) by equal codes, or by k-means where there are more than
    ``number`` different ones; clusters of fewer than ``at_least`` patients join the nearest one, or
    are left out. None where there are fewer patients than that."""
    if len(codes) < at_least:
        return []
    different, cluster = np.unique(codes, axis=0, return_inverse=True)
    cluster = cluster.reshape(-1)
    if len(different) > number:
        cluster = KMeans(number, n_init=4, random_state=seed).fit_predict(codes)
    names, cluster = np.unique(cluster, return_inverse=True)
    if not join:
        large = np.flatnonzero(np.bincount(cluster) >= at_least)
        return [np.flatnonzero(cluster == name) for name in large]
    sizes = np.bincount(cluster).astype(float)
    centres = totals(codes, cluster) / sizes[:, None]
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
