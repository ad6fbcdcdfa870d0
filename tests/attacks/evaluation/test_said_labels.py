"""Whom the labels of a release tell, by themselves."""

from dataclasses import replace

import numpy as np
from identities import owners_of
from scipy.special import expit

from attacks.attackers.labels import labels_alike
from attacks.measuring.matching import headline_auc

PATIENTS, LABELS = 60, 6
DRAWN = {"resamplings": 200, "seed": 0}


def owners(first, *, kinds=1):
    """One image of each patient, of so many kinds of findings."""
    patients = np.arange(PATIENTS)
    return replace(owners_of(patients, patients % kinds), image=first + patients)


def linked(labels, logits, **how):
    alike = labels_alike(labels, logits)
    return headline_auc(alike, owners(0, **how), owners(PATIENTS, **how), **DRAWN)


def logits(seed):
    return np.random.default_rng(seed).normal(0, 2, (PATIENTS, LABELS))


def test_labels_of_nobody_tell_nobody():
    low, high = linked(expit(logits(0)), logits(1)).interval
    assert low < 0.5 < high


def test_labels_of_ones_own_image_tell_whose_it_is():
    own = logits(0)
    near = expit(own + np.random.default_rng(2).normal(0, 0.3, own.shape))
    near[::2, 1] = np.nan
    assert linked(near, own).interval[0] > 0.95


def test_labels_that_say_the_findings_alone_tell_nobody_of_equal_findings():
    kind = np.arange(PATIENTS) % 3
    said = (kind[:, None] == np.arange(LABELS)).astype(np.float32)
    read = 4 * said - 2 + np.random.default_rng(3).normal(0, 0.1, said.shape)
    low, high = linked(said, read, kinds=3).interval
    assert low < 0.5 < high
    alike = {"kinds": 1}  # nobody knows of the findings: then they tell
    assert linked(said, read, **alike).value > 0.6
