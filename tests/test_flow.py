"""Conventions, exactness and algebra of displacements."""

import math
import warnings

import pytest
import torch
from safetensors.torch import load_file
from scipy.ndimage import gaussian_filter, map_coordinates

from anonymize import flow

MUS = ("0.001", "0.005", "0.01", "0.1")


def smooth_field(seed, strength, size=48, batch=2):
    generator = torch.Generator().manual_seed(seed)
    raw = torch.rand((batch, 2, size, size), generator=generator) * 2 - 1
    return strength * flow.smooth(raw, kernel=25, sigma=5.0) / 0.1


@pytest.mark.parametrize("border", flow.BORDERS)
def test_a_field_of_eight_bits_moves_pixels_as_exactly_as_any(border):
    """A network that computes in bfloat16 gives one; where a pixel comes from needs more bits."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand((1, 1, 128, 128), generator=generator)
    field = (0.02 * torch.rand((1, 2, 128, 128), generator=generator) - 0.01).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = flow.warp(images, flow.smooth(field, border=border))
    exact = flow.warp(images, flow.smooth(field.float(), border=border))
    torch.testing.assert_close(found, exact, atol=1e-6, rtol=0)


def test_a_still_pixel_keeps_its_value_where_others_move(images):
    displacement = torch.zeros(3, 2, 32, 32)
    displacement[..., 16:, :] = 0.05
    out = flow.warp(images, displacement)
    assert torch.equal(out[..., :16, :], images[..., :16, :])
    assert not torch.equal(out[..., 16:, :], images[..., 16:, :])


def test_channel_0_is_x_to_the_right_and_channel_1_is_y_downwards():
    image = torch.zeros(1, 1, 9, 9)
    image[0, 0, 4, 6] = 1.0
    right = torch.zeros(1, 2, 9, 9)
    right[:, 0] = 2 * 2 / 8  # two pixels: the output shows what lies two pixels to the right
    assert flow.warp(image, right)[0, 0, 4, 4] == pytest.approx(1, abs=1e-5)
    down = torch.zeros(1, 2, 9, 9)
    down[:, 1] = -3 * 2 / 8
    assert flow.warp(image, down)[0, 0, 7, 6] == pytest.approx(1, abs=1e-5)


def test_warp_agrees_with_scipy(images):
    displacement = smooth_field(1, 0.1, size=32, batch=3)
    pixels = flow.pixels(displacement)
    out = flow.warp(images, displacement)
    y, x = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    for i in range(3):
        at = torch.stack((y + pixels[i, 1], x + pixels[i, 0])).numpy()
        expected = map_coordinates(images[i, 0].numpy(), at, order=1, mode="nearest")
        assert torch.allclose(out[i, 0], torch.from_numpy(expected), atol=2e-5)


def test_smoothing_agrees_with_scipy_and_replicates_borders():
    raw = torch.randn(1, 2, 20, 24, generator=torch.Generator().manual_seed(0))
    out = flow.smooth(raw, kernel=9, sigma=2.0)
    for channel in range(2):
        expected = gaussian_filter(
            raw[0, channel].double().numpy(), 2.0, mode="nearest", truncate=2.0
        )
        assert torch.allclose(out[0, channel].double(), torch.from_numpy(expected), atol=1e-5)


def test_smoothing_keeps_a_constant_and_the_bound():
    constant = torch.full((1, 2, 16, 16), 0.3)
    assert torch.allclose(flow.smooth(constant), constant, atol=1e-6)
    field = torch.rand(1, 2, 16, 16) * 2 - 1
    assert flow.smooth(field).abs().max() <= 1


@pytest.mark.parametrize("mu", MUS)
def test_published_vectors(parity, mu):
    data = load_file(parity / "flow.safetensors")
    image, raw, grid = data["image"], data["raw_flow"], data[f"grid_mu{mu}"]
    if grid.shape[-1] == 2:
        grid = grid.permute(0, 3, 1, 2)
    inside = (..., slice(4, -4), slice(4, -4))
    ours = flow.smooth(-float(mu) * raw)
    assert torch.allclose((flow.identity_grid(image) + ours)[inside], grid[inside], atol=1e-5)
    theirs = flow.smooth(-float(mu) * raw, border="reference")
    assert torch.allclose(flow.identity_grid(image) + theirs, grid, atol=1e-5)
    assert torch.allclose(flow.warp(image, theirs), data[f"warped_mu{mu}"], atol=1e-5)
    # Without the artefact the frame is not folded inwards.
    assert (flow.identity_grid(image) + ours - grid).abs().max() > 0.3


def test_the_displacement_of_a_larger_image_is_the_same_map(images):
    displacement = smooth_field(2, 0.05, size=32, batch=3)
    larger = flow.resize(displacement, (63, 63))
    assert torch.allclose(larger[..., ::2, ::2], flow.resize(larger, (32, 32)), atol=1e-6)
    assert torch.allclose(flow.resize(larger, (32, 32)), displacement, atol=1e-2)
    assert flow.resize(displacement, (32, 32)) is displacement


def test_composition_and_inverse():
    first, second = smooth_field(3, 0.03), smooth_field(4, 0.03)
    image = flow.smooth(torch.rand(2, 1, 48, 48), kernel=9, sigma=2.0)
    twice = flow.warp(flow.warp(image, first), second)
    once = flow.warp(image, flow.compose(first, second))
    inside = (..., slice(6, -6), slice(6, -6))
    assert (once - twice)[inside].abs().max() < 0.01
    back = flow.compose(first, flow.invert(first))
    assert flow.pixels(back)[inside].abs().max() < 0.01


def test_inverse_of_a_translation_is_its_opposite():
    shift = torch.full((1, 2, 16, 16), 0.1)
    assert torch.allclose(flow.invert(shift), -shift)


def test_jacobian_of_a_scaling_and_of_a_fold():
    grid = flow.identity_grid(torch.zeros(1, 1, 21, 31))
    assert torch.allclose(flow.jacobian_determinant(0 * grid), torch.ones(1, 1, 20, 30))
    scaled = flow.jacobian_determinant(0.5 * grid)
    assert torch.allclose(scaled, torch.full_like(scaled, 1.5**2), atol=1e-4)
    mirrored = grid * torch.tensor([-2.0, 0.0]).view(1, 2, 1, 1)
    assert torch.allclose(
        flow.jacobian_determinant(mirrored), torch.tensor(-1.0).expand(1, 1, 20, 30), atol=1e-4
    )


def test_jacobian_tells_x_from_y():
    d = torch.zeros(1, 2, 8, 8)
    d[:, 0] = flow.identity_grid(d)[:, 1]  # x depends on y only: a shear keeps areas
    assert torch.allclose(flow.jacobian_determinant(d), torch.ones(1, 1, 7, 7), atol=1e-5)


def test_bending_energy_of_a_parabola_is_its_second_derivative_squared():
    x, y = ((flow.identity_grid(torch.zeros(1, 1, 40, 64)) + 1) / 2).unbind(1)  # sides
    u = 2 * torch.stack((0.3 * x**2, 0.2 * x * y - 0.5 * y**2), 1)
    expected = (0.6**2 + 2 * 0.2**2 + 1**2) / 2  # mean of the components
    assert flow.bending_energy(u).item() == pytest.approx(expected, rel=0.01)


def test_bending_energy_agrees_with_monai():
    from monai.losses import BendingEnergyLoss

    displacement = smooth_field(6, 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how it indexes
        other = BendingEnergyLoss()(flow.pixels(displacement).flip(1))  # rows first
    expected = other.item() * 47**2  # of pixels per pixel², in sides
    assert flow.bending_energy(displacement).item() == pytest.approx(expected, rel=0.2)


def test_an_affine_map_costs_no_bending_energy_and_the_size_hardly_matters():
    grid = flow.identity_grid(torch.zeros(1, 1, 32, 32))
    assert flow.bending_energy(0.3 * grid.flip(1) + 0.1) < 1e-5
    fine = flow.smooth(smooth_field(7, 0.05, size=191), kernel=61, sigma=15.0)
    coarse = fine[..., ::2, ::2]
    energies = [flow.bending_energy(d).item() for d in (coarse, fine, 2 * fine)]
    assert energies[0] == pytest.approx(energies[1], rel=0.1)
    assert energies[2] == pytest.approx(4 * energies[1])


def test_pixels_and_millimetres():
    displacement = torch.full((1, 2, 11, 21), 0.01)
    assert flow.pixels(displacement)[0, :, 0, 0].tolist() == pytest.approx([0.1, 0.05])
    assert flow.pixels(displacement, (257, 257))[0, 0, 0, 0] == pytest.approx(1.28)
    mm = flow.millimetres(displacement, (0.2, 0.1))  # rows 0.2 mm apart, columns 0.1 mm
    assert mm[0, :, 0, 0].tolist() == pytest.approx([0.01, 0.01])
    assert flow.magnitude(displacement)[0, 0, 0, 0] == pytest.approx(0.01 * math.sqrt(2))


def test_gradient_reaches_image_and_displacement_even_at_zero(images):
    field = torch.zeros(3, 2, 32, 32, requires_grad=True)
    source = images.clone().requires_grad_(True)
    flow.warp(source, field).square().sum().backward()
    assert field.grad.abs().max() > 0
    assert torch.allclose(source.grad, 2 * images, atol=1e-3)


def test_gradient_of_the_displacement_agrees_with_finite_differences():
    torch.manual_seed(0)
    image = torch.rand(1, 1, 6, 6, dtype=torch.float64)
    field = (torch.rand(1, 2, 6, 6, dtype=torch.float64) - 0.5) * 0.1
    field.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda d: flow.warp(image, d), (field,), atol=1e-6)


def test_one_by_one_equals_the_batch(images):
    displacement = smooth_field(5, 0.05, size=32, batch=3)
    single = [flow.warp(images[i : i + 1], displacement[i : i + 1]) for i in range(3)]
    assert torch.allclose(torch.cat(single), flow.warp(images, displacement), atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: flow.smooth(d, kernel=4), "kernel must be an odd number"),
        (lambda d: flow.smooth(d, sigma=0), "sigma must be positive"),
        (lambda d: flow.smooth(d, border="zeros"), "border must be one of"),
        (lambda d: flow.warp(torch.zeros(1, 1, 9, 8), d), "use flow.resize first"),
    ],
)
def test_wrong_input(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(1, 2, 8, 8))
