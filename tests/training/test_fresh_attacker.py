"""The attacker that is trained anew: it finds who can be found, and is told nothing by findings."""

import numpy as np
import pytest
import torch

from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs, draw_pairs
from anonymize.training.fresh_attacker import FreshAttacker, comparisons, of_several
from anonymize.training.stages import Paired

CPU = torch.device("cpu")
PATIENTS, IMAGES = 24, 4  # of each, of which the last third validates


def people(*, by="patient", findings=2):
    """Images of each patient, alike as ``by`` says: of one patient, or of all with one finding."""
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(PATIENTS), IMAGES)
    finding = patients % findings
    shown = patients if by == "patient" else finding
    patterns = rng.random((PATIENTS, 1, 24, 24))
    noise = rng.random((len(patients), 1, 24, 24))
    images = torch.tensor(0.8 * patterns[shown] + 0.2 * noise, dtype=torch.float32)
    targets = np.eye(findings, dtype=np.float32)[finding]
    learn = patients < 2 * PATIENTS // 3
    rows = [np.flatnonzero(learn), np.flatnonzero(~learn)]

    def pairs(rows, seed):
        drawn = draw_pairs(patients[rows], np.ones(len(rows), bool), seed=seed)
        return Pairs(rows[drawn.first], rows[drawn.second], drawn.same)

    held = HeldImages(images)
    data = Paired(held, held, patients, lambda seed: pairs(rows[0], seed), pairs(rows[1], 0))
    return data, targets


def attacker(data, targets, most=1000):
    return FreshAttacker(data, targets, most=most, device=CPU)


def test_it_finds_whom_images_show():
    data, targets = people()
    assert attacker(data, targets).auc(data.first) > 0.95


def test_it_finds_nobody_in_images_of_nothing():
    data, targets = people()
    gray = HeldImages(torch.full((PATIENTS * IMAGES, 1, 24, 24), 0.5))
    # Equal images may differ by a rounding error where they lie in a batch: AVX2.
    assert attacker(data, targets).auc(gray) == pytest.approx(0.5, abs=0.01)
    rng = torch.Generator().manual_seed(0)
    noise = HeldImages(torch.rand(PATIENTS * IMAGES, 1, 24, 24, generator=rng))
    assert abs(attacker(data, targets).auc(noise) - 0.5) < 0.15


def test_what_images_of_a_finding_have_in_common_links_nobody():
    data, targets = people(by="finding")
    assert abs(attacker(data, targets).auc(data.first) - 0.5) < 0.1
    untold = np.zeros((len(targets), 1), np.float32)
    assert attacker(data, untold).auc(data.first) > 0.65


def test_the_same_release_gets_the_same_figure():
    data, targets = people()
    one = attacker(data, targets)
    first = one.auc(data.first)
    assert first == one.auc(data.first) == attacker(data, targets).auc(data.first)


def test_nobody_can_be_measured_without_several_images_or_matched_impostors():
    data, targets = people()
    assert attacker(data, targets).measurable
    alone = np.eye(len(targets), dtype=np.float32)  # a finding for each image
    assert not attacker(data, alone).measurable
    nobody = Pairs(np.arange(4), np.arange(4, 8), np.zeros(4, bool))
    single = Paired(data.first, data.second, data.patients, lambda seed: nobody, nobody)
    assert not attacker(single, targets).measurable


def test_comparisons_one_by_one():
    patients = np.array([0, 0, 1, 2, 2, 3])
    targets = np.array([[1, 0], [0, 0], [1, 0], [np.nan, 1], [np.nan, 1], [np.nan, 1]])
    genuine, counted = comparisons(patients, targets)
    for i in range(6):
        for j in range(6):
            alike = np.array_equal(targets[i], targets[j], equal_nan=True)
            same = patients[i] == patients[j]
            assert counted[i, j] == (i != j and alike)
            assert genuine[i, j] == (counted[i, j] and same)


@pytest.mark.parametrize("most", [1, 7, 20, 1000])
def test_patients_are_drawn_whole(most):
    patients = np.array([5, 5, 5, 7, 7, 9, 2, 2, 2, 2, 4, 4])
    pairs = draw_pairs(patients, np.ones(12, bool), seed=0)
    rows = of_several(pairs, patients, most=most, seed=3)
    assert len(rows) <= most
    assert np.array_equal(rows, np.unique(rows))
    assert 9 not in patients[rows]
    for patient in set(patients[rows]):
        assert np.count_nonzero(patients[rows] == patient) == np.count_nonzero(patients == patient)
    if most == 1000:
        assert len(rows) == 11
