"""Utility codes and clusters: what decides who may be brought together."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sets_made_up import chosen, people
from sklearn.metrics import roc_auc_score

from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient, clusters, codes_by_labels
from baselines.teacher import CrossFitted


def test_rows_of_each_patient():
    whose = np.array([5, -3, 5, 9, -3, 5])
    found = [rows.tolist() for rows in by_patient(whose)]
    assert found == [[1, 4], [0, 2, 5], [3]]
    assert by_patient(whose[:0]) == []


def test_codes_by_labels_are_means_of_what_is_known():
    given = people(40, labels=3, seed=4)
    found = codes_by_labels(given)
    for patient, code in zip(np.unique(given.patients), found, strict=True):
        for label, value in enumerate(code):
            own = given.targets[given.patients == patient, label]
            own = own[~np.isnan(own)]
            assert value == pytest.approx(own.mean() if len(own) else -1)
    assert (found == -1).any()


def test_half_known_is_not_absent():
    given = Radiographs(
        HeldImages(torch.zeros(3, 1, 8, 8)),
        np.array([0, 0, 1]),
        np.array([[1.0], [np.nan], [0.0]]),
    )
    assert codes_by_labels(given).tolist() == [[1], [0]]


# The teacher


def drawn(patients, seed, each=2):
    """Small images; half of the patients have a bright stripe, which is the first label; the second
    label is a coin's. Every patient has ``each`` images."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(patients), each)
    targets = rng.integers(0, 2, (patients, 2)).astype(np.float32)[whose]
    images = torch.tensor(rng.random((len(whose), 1, 16, 16)), dtype=torch.float32) * 0.5
    images[targets[:, 0] == 1, :, 6:9] += 0.4
    return Radiographs(HeldImages(images), whose, targets)


def teach(given, seed=0):
    return CrossFitted.fit(given, np.random.default_rng(seed)).own


def test_the_teacher_sees_what_can_be_seen_and_nothing_else():
    """A coin that it read from who tossed it would be told by the release. Its level alone would
    tell: where fewer patients have a finding, the others have it more often."""
    seen, tossed = [], []
    for seed in range(8):
        given = drawn(60, seed, each=1)
        codes, truth = teach(given, seed), given.targets
        seen.append(roc_auc_score(truth[:, 0], codes[:, 0]))
        tossed.append(roc_auc_score(truth[:, 1], codes[:, 1]))
    assert min(seen) > 0.95
    assert abs(np.mean(tossed) - 0.5) < 0.06


def test_no_label_reaches_its_own_patient():
    """Whatever is said of all patients of a part at once, their codes stay bit for bit."""
    given = drawn(20, 1)
    before = teach(given)
    fold_of = np.random.default_rng(0).permutation(20) % 5
    for part in range(5):
        told = given.targets.copy()
        told[np.isin(given.patients, np.flatnonzero(fold_of == part))] = [[1, 0]]
        after = teach(Radiographs(given.images, given.patients, told))
        same = (before == after).all(axis=1)
        assert same[fold_of == part].all()
        assert not same.all()


def test_images_of_a_patient_are_read_together():
    given = drawn(20, 2, each=3)
    codes = teach(given)
    assert codes.shape == (20, 2)
    rows = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(teach(chosen(given, rows)), codes, atol=0.05)


def test_what_a_teacher_cannot_learn_is_left_out():
    given = drawn(20, 3)
    given.targets[:, 1] = 1  # everybody has it
    assert (teach(given)[:, 1] == 0).all()
    given.targets[:, 1] = np.where(given.targets[:, 0] == 1, 0.3, 0)  # nobody is sure to
    assert (teach(given)[:, 1] == 0).all()
    given.targets[:] = np.nan
    assert (teach(given) == 0).all()
    known = drawn(20, 3)
    known.targets[::3, 0] = np.nan
    truth = drawn(20, 3).targets[::2, 0]
    assert spearmanr(teach(known)[:, 0], truth).statistic > 0.8


# Clusters


def test_few_codes_are_clusters_themselves():
    codes = np.array([[0.0, 1], [1, 1], [0, 1], [1, 1], [0, 0], [0, 0], [0, 0]])
    found = sorted(rows.tolist() for rows in clusters(codes, 2, 16, 0))
    assert found == [[0, 2], [1, 3], [4, 5, 6]]


def test_a_small_cluster_joins_the_nearest():
    codes = np.array([0.0] * 4 + [0.3] + [1.0] * 4 + [1.2] * 2)[:, None]
    found = sorted(rows.tolist() for rows in clusters(codes, 3, 16, 0))
    assert found == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10]]
    (all_of_them,) = clusters(codes, 10, 16, 0)
    assert all_of_them.tolist() == list(range(11))
    assert clusters(codes, 12, 16, 0) == []
    assert clusters(codes[:0], 1, 16, 0) == []


def test_or_is_left_out():
    codes = np.array([0.0] * 4 + [0.3] + [1.0] * 4 + [1.2] * 2)[:, None]
    found = sorted(rows.tolist() for rows in clusters(codes, 3, 16, 0, join=False))
    assert found == [[0, 1, 2, 3], [5, 6, 7, 8]]
    assert clusters(codes, 10, 16, 0, join=False) == []


@pytest.mark.parametrize("at_least", [1, 5, 20])
@pytest.mark.parametrize("number", [1, 4, 1000])
def test_clusters_divide_the_patients(at_least, number):
    codes = np.random.default_rng(0).normal(size=(300, 3))
    found = clusters(codes, at_least, number, seed=1)
    assert sorted(np.concatenate(found).tolist()) == list(range(300))
    assert min(map(len, found)) >= at_least
    assert len(found) <= number
    again = clusters(codes, at_least, number, seed=1)
    assert [*map(list, found)] == [*map(list, again)]
