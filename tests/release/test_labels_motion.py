"""How points and masks move with an image."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize import flow
from anonymize.release.labels import motion as module
from anonymize.release.labels.motion import Motion, area, densified, same_shape

SIZE = (60, 44)  # W, H


def motion_of(displacement):
    return Motion(SIZE, flow.pixels(displacement)[0].numpy())


def random_displacement(seed, mu):
    """Smooth, (1, 2, H, W), of largest magnitude about ``mu``."""
    noise = torch.randn(1, 2, SIZE[1], SIZE[0], generator=torch.Generator().manual_seed(seed))
    smooth = flow.smooth(noise, kernel=25, sigma=4.0)
    return mu * smooth / smooth.abs().max()


fields = st.builds(random_displacement, st.integers(0, 10_000), st.floats(0.001, 0.15))


@given(fields)
@settings(max_examples=40)
def test_a_pushed_point_is_pulled_back_to_where_it_came_from(displacement):
    motion = motion_of(displacement)
    x, y = np.meshgrid(np.linspace(0, SIZE[0], 13), np.linspace(0, SIZE[1], 11))
    points = np.stack([x.ravel(), y.ravel()], 1)
    pushed = motion.push(points)
    back = pushed.points + motion.at(pushed.points)
    assert np.abs(back - points).max() < 0.01  # well below half a pixel
    np.testing.assert_allclose(np.linalg.norm(back - points, axis=1), pushed.residual, atol=1e-6)


def test_a_drawn_point_is_found_where_its_label_says():
    """By the picture itself: a bright dot of the input, warped, is centred on the pushed point."""
    displacement = random_displacement(3, 0.08)
    motion = motion_of(displacement)
    y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]] + 0.5
    for point in [(20.3, 15.8), (41.0, 30.5), (12.5, 33.0)]:
        dot = np.exp(-((x - point[0]) ** 2 + (y - point[1]) ** 2) / 4.5)
        shown = flow.warp(torch.tensor(dot)[None, None], displacement.double())[0, 0].numpy()
        jacobian = motion._jacobian(motion.push(np.array([point])).points)[0]
        centre = np.array([(x * shown).sum(), (y * shown).sum()]) / shown.sum()
        assert np.linalg.norm(centre - motion.push(np.array([point])).points[0]) < 0.35, jacobian


def test_signs_and_axes():
    """Content that moves 5 px to the right and 2 up: its labels do the same."""
    w, h = SIZE
    units = torch.tensor([-5 * 2 / (w - 1), 2 * 2 / (h - 1)]).view(1, 2, 1, 1)
    displacement = units.expand(1, 2, h, w).contiguous()
    image = torch.zeros(1, 1, h, w)
    image[0, 0, 20, 30] = 1
    assert flow.warp(image, displacement)[0, 0, 18, 35] > 0.99
    motion = motion_of(displacement)
    np.testing.assert_allclose(motion.push(np.array([[30.5, 20.5]])).points, [[35.5, 18.5]])
    mask = np.zeros((h, w), np.uint8)
    mask[20, 30] = 7
    assert np.argwhere(motion.pull(mask) == 7).tolist() == [[18, 35]]


def test_masks_are_pulled_like_nearest_pixels_of_the_image():
    displacement = random_displacement(8, 0.1)
    mask = torch.randint(0, 5, (1, 1, SIZE[1], SIZE[0]), generator=torch.Generator().manual_seed(1))
    expected = flow.warp(mask.double(), displacement.double(), mode="nearest")[0, 0].numpy()
    pulled = motion_of(displacement).pull(mask[0, 0].numpy())
    assert (pulled == expected).mean() > 0.999  # they differ in ties alone
    assert set(np.unique(pulled)) <= set(range(5))


@pytest.mark.parametrize("factor", [0.5, 2, 3])
def test_a_mask_of_another_resolution_moves_the_same_way(factor):
    """A disc of half, twice, three times the resolution ends where the image's disc ends."""
    displacement = random_displacement(5, 0.06)
    motion = motion_of(displacement)

    def disc(scale):
        size = round(SIZE[1] * scale), round(SIZE[0] * scale)
        y, x = (np.mgrid[: size[0], : size[1]] + 0.5) / scale
        return ((x - 33) ** 2 + (y - 21) ** 2 < 144).astype(np.uint8)

    def centre(mask):
        return (np.argwhere(mask).mean(0) + 0.5) / (mask.shape[0] / SIZE[1])

    own, other = motion.pull(disc(1)), motion.pull(disc(factor))
    assert other.shape == disc(factor).shape
    np.testing.assert_allclose(centre(other), centre(own), atol=0.3)
    point = np.array([[33.0, 21.0]])
    scaled = motion.push(point * factor, (round(60 * factor), round(44 * factor))).points / factor
    np.testing.assert_allclose(scaled, motion.push(point).points, atol=1e-6)


def test_points_where_the_image_folds_are_reported_and_still_solved():
    h, w = SIZE[1], SIZE[0]
    x = torch.linspace(-1, 1, w).expand(h, w)
    folding = torch.stack([0.35 * torch.sin(9 * x), torch.zeros(h, w)])[None]
    assert flow.jacobian_determinant(folding).min() < 0
    motion = motion_of(folding)
    points = np.stack([np.linspace(0, w, 121), np.full(121, 22.0)], 1)
    pushed = motion.push(points)
    assert pushed.residual.max() < 0.01
    # Second derivation: a point is shown again wherever x + d(x) passes it in the other direction.
    along = np.linspace(1, w - 1, 5000)
    row = np.stack([along, np.full(5000, 22.0)], 1)
    reached = along + motion.at(row)[:, 0]
    times = [(np.diff(np.sign(reached - p)) != 0).sum() for p in points[:, 0]]
    several = np.array(times) > 1
    assert several.any()
    assert not several.all()
    assert pushed.folded[several].all()
    assert not pushed.folded.all()
    calm = motion_of(random_displacement(2, 0.01)).push(points)
    assert not calm.folded.any()


def test_a_field_that_moves_nothing_moves_nothing():
    points, mask = np.array([[3.25, 8.5]]), np.eye(5, dtype=np.uint8)
    for motion in (Motion(SIZE, None), motion_of(torch.zeros(1, 2, 44, 60))):
        np.testing.assert_array_equal(motion.push(points).points, points)
        np.testing.assert_array_equal(motion.pull(mask), mask)


def test_an_outline_keeps_its_area_under_a_shift_and_stays_inside():
    motion = motion_of(torch.full((1, 2, 44, 60), -0.1))
    ring = np.array([[5.0, 5.0], [25.0, 5.0], [25.0, 20.0], [5.0, 20.0]])
    moved, _ = motion.outline(ring)
    assert area(moved) == pytest.approx(area(ring)) == 300
    assert len(moved) == 4  # straight edges need no further points
    beyond, _ = motion.outline(np.array([[50.0, 30.0], [60.0, 30.0], [60.0, 44.0], [50.0, 44.0]]))
    assert beyond.max(0) == pytest.approx([60, 44])


def test_outlines_are_dense():
    ring = densified(np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]]))
    steps = np.linalg.norm(np.diff(np.concatenate([ring, ring[:1]]), axis=0), axis=1)
    assert steps.max() <= module.SPACING
    assert area(ring) == pytest.approx(40.5)


@pytest.mark.parametrize(
    ("size", "other", "same"),
    [
        ((512, 400), (256, 200), True),
        ((511, 399), (256, 200), True),
        ((512, 512), (512, 400), False),
    ],
)
def test_sizes_that_can_be_one_picture(size, other, same):
    assert same_shape(size, other) is same
