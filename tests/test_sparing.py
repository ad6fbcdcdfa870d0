"""Where a field vanishes, how it grows from there, and that it still does not fold."""

import numpy as np
import pytest
import torch
from scipy.ndimage import distance_transform_edt

from anonymize import flow, spline
from anonymize.sparing import taper

SIZE = (40, 60)
BOXES = [(10, 5, 22, 15), (30.5, 20.5, 41.2, 33)]


def inside():
    mask = np.zeros(SIZE, bool)
    mask[5:15, 10:22] = mask[20:33, 30:42] = True
    return mask


def test_it_is_zero_in_every_pixel_of_a_box_and_one_beyond_the_margin():
    kept = taper(BOXES, SIZE, 6)[0, 0].numpy()
    assert kept.dtype == np.float32
    assert (kept[inside()] == 0).all()
    distance = distance_transform_edt(~inside())
    assert (kept[distance >= 6] == 1).all()
    between = kept[(distance > 0) & (distance < 6)]
    assert ((between > 0) & (between < 1)).all()


def test_it_follows_the_distance_to_the_nearest_pixel_of_a_box():
    share = np.clip(distance_transform_edt(~inside()) / 8, 0, 1)
    expected = share**2 * (3 - 2 * share)
    found = taper(BOXES, SIZE, 8)[0, 0].numpy()
    assert np.abs(found - expected).max() < 1e-5
    assert np.abs(np.diff(found)).max() <= 1.5 / 8


def test_without_boxes_all_of_a_field_stays():
    assert torch.equal(taper([], SIZE, 5), torch.ones(1, 1, *SIZE))


def test_what_is_spared_keeps_its_pixels_bit_for_bit():
    images = torch.rand(2, 1, *SIZE, generator=torch.manual_seed(0))
    raw = torch.rand(2, 2, *SIZE, generator=torch.manual_seed(1)).sub(0.5).sign() * 0.1
    spared = taper(BOXES, SIZE, 12) * flow.smooth(raw, kernel=15, sigma=4)
    out, box = flow.warp(images, spared), torch.from_numpy(inside())
    assert torch.equal(out[..., box], images[..., box])
    assert not torch.equal(out[..., :4, :], images[..., :4, :])


def test_a_wide_margin_folds_nothing_and_a_narrow_one_does():
    raw = torch.rand(20, 2, 64, 64, generator=torch.manual_seed(2)) * 2 - 1
    blocks = torch.nn.functional.adaptive_avg_pool2d(raw, 6).sign()
    raw = torch.nn.functional.interpolate(blocks, size=64)
    field = spline.displacement(2 * 6 / 63 * raw, controls=6, squarings=7)

    def least(margin):
        spared = taper([(20, 20, 40, 45)], (64, 64), margin) * field
        return flow.jacobian_determinant(spared).min()

    assert least(2) < 0 < least(24)


@pytest.mark.parametrize("margin", [0, -1, float("nan")])
def test_a_margin_is_positive(margin):
    with pytest.raises(ValueError, match="margin must be positive"):
        taper(BOXES, SIZE, margin)
