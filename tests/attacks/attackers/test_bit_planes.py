"""Marks in the lowest bits are found, and nothing else is."""

import numpy as np
import pytest
import torch
from identities import owners_of

from attacks.attackers.bit_planes import BitPlanes, BitPlanesOptions
from attacks.measuring.metrics import pair_auc
from attacks.registry import choose, finds_marks

WHO = np.repeat(np.arange(20), 2)
OWNERS = owners_of(WHO)


def marked(largest):
    """One gray image for all, and in its lowest bits a pattern of the patient."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, largest, (1, 1, 8, 8)) & ~1
    return base | rng.integers(0, 2, (20, 1, 8, 8))[WHO]


@pytest.mark.parametrize("depth", [8, 16])
def test_a_watermark_of_the_patient_links(depth):
    levels = marked(2**depth - 1)
    images = torch.from_numpy((levels / (2**depth - 1)).astype(np.float32))
    assert pair_auc(BitPlanes().score(images, images), OWNERS, OWNERS) == 1


def test_bytes_and_fractions_are_the_same():
    levels = marked(255)
    images = torch.from_numpy(levels.astype(np.uint8))
    found = BitPlanes(BitPlanesOptions(planes=3)).features(images)
    assert found.shape == (40, 3 * 64)
    np.testing.assert_array_equal(found[:, :64], (levels & 1).reshape(40, 64))
    np.testing.assert_array_equal(found[:, 128:], (levels >> 2 & 1).reshape(40, 64))
    same = BitPlanes(BitPlanesOptions(planes=3)).features(images.float() / 255)
    np.testing.assert_array_equal(found, same)


def test_without_a_mark_it_is_at_chance():
    alike = torch.from_numpy((marked(255) & ~1).astype(np.uint8))
    assert pair_auc(BitPlanes().score(alike, alike), OWNERS, OWNERS) == 0.5


def test_it_is_known_as_one_that_finds_marks():
    assert choose("bit-planes").level.compares == "released-released"
    assert finds_marks("bit-planes")
    assert not finds_marks("pixels")
    assert not finds_marks("somebody's")
