"""Equal pixels and equal files, and the scenario in which an image meets its own original."""

import numpy as np
import pytest
import torch
from identities import owners_of

from anonymize.errors import DataError
from attacks.attacker import ImageSet
from attacks.attackers.identical import Identical, pixel_digests
from attacks.knowledge.scenarios import probes_and_gallery
from attacks.measuring.metrics import pair_auc


@pytest.fixture(scope="module")
def images():
    random = torch.Generator().manual_seed(0)
    return torch.randint(256, (6, 1, 8, 10), generator=random, dtype=torch.uint8)


def test_only_equal_pixels_score(images):
    changed = images.clone()
    changed[2, 0, 3, 4] ^= 1
    scores = Identical().score(changed, images)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, np.diag([1, 1, 0, 1, 1, 1]))

    with pytest.raises(DataError, match="no gallery image"):
        Identical().score(images, images[:0])


def test_bytes_and_fractions_are_the_same_pixels_but_not_another_shape_or_level(images):
    digests = pixel_digests(images)
    assert (pixel_digests(images.float() / 255) == digests).all()
    assert not (pixel_digests(images.view(6, 1, 10, 8)) == digests).any()
    levels = torch.tensor([1000.0, 1001.0]).view(2, 1, 1, 1) / 65535  # of 16 bits
    assert len(set(pixel_digests(levels))) == 2


def test_an_image_meets_its_original_only_before_and_after(images):
    """Two patients of three images each; the release passes four of the images through."""
    released = images.clone()
    released[4:] = 255 - released[4:]
    owners = owners_of(np.repeat([0, 1], 3))
    real, released = ImageSet(images, owners), ImageSet(released, owners)

    def auc(scenario):
        probes, gallery = probes_and_gallery(scenario, released, real)
        return pair_auc(Identical().link(probes, gallery), probes.owners, gallery.owners)

    assert auc("before-after") == pytest.approx(0.5 + 0.5 * 4 / 6)
    assert auc("released-real") == 0.5
    with_original, _ = probes_and_gallery("before-after", released, real)
    assert with_original.images is released.images
