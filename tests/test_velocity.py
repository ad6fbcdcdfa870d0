"""The exponential of a velocity, derived in other ways."""

import math
import warnings

import pytest
import torch

from anonymize import flow, spline
from anonymize.flow import exponential

INSIDE = (..., slice(10, -10), slice(10, -10))


def velocity_field(seed, strength, size=(48, 48)):
    raw = torch.rand((2, 2, *size), generator=torch.manual_seed(seed)) * 2 - 1
    smooth = spline.smooth(raw, 7)
    return strength / smooth.abs().max() * smooth


def test_no_velocity_moves_nothing_bit_for_bit(images):
    still = exponential(torch.zeros(3, 2, 32, 32), 7)
    assert torch.equal(still, torch.zeros(3, 2, 32, 32))
    assert torch.equal(flow.warp(images, still), images)


def test_it_agrees_with_monai():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it computes with torch
        from monai.networks.blocks import DVF2DDF

        other = DVF2DDF(num_steps=6, padding_mode="border")
    velocity = velocity_field(1, 0.2, (40, 56))
    expected = other(flow.pixels(velocity).flip(1)).flip(1)  # pixels, rows first
    found = flow.pixels(exponential(velocity, 6))
    assert flow.pixels(velocity).sub(expected).abs().max() > 0.3
    assert torch.allclose(found, expected, atol=1e-3)


def test_small_steps_along_it_arrive_at_the_same_place():
    velocity, steps = velocity_field(2, 0.15).double(), 300
    way = torch.zeros_like(velocity)
    for _ in range(steps):  # Euler: p ← p + v(p)/n
        way = way + flow.warp(velocity, way) / steps
    assert flow.pixels(exponential(velocity, 9) - way)[INSIDE].abs().max() < 0.02


def test_a_circling_velocity_turns_the_picture():
    grid, angle = flow.identity_grid(torch.zeros(1, 1, 65, 65)), math.radians(25)
    x, y = grid[:, 0], grid[:, 1]
    found = exponential(angle * torch.stack((-y, x), 1), 8)
    turned = torch.stack(
        (x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)), 1
    )
    inside = (..., slice(20, 45), slice(20, 45))
    assert flow.pixels(grid + found - turned)[inside].abs().max() < 0.05


def test_the_opposite_velocity_is_the_inverse():
    velocity = velocity_field(3, 0.15)
    there, back = exponential(velocity, 8), exponential(-velocity, 8)
    for d in (flow.compose(there, back), flow.compose(back, there)):
        assert flow.pixels(d)[INSIDE].abs().max() < 0.05
    assert flow.pixels(flow.compose(there, -there))[INSIDE].abs().max() > 0.2


@pytest.mark.parametrize("squarings", [3, 7, 10])
def test_nothing_moves_further_than_the_velocity_s_bound(squarings):
    velocity = velocity_field(4, 0.3)
    assert exponential(velocity, squarings).abs().max() <= 0.3 * (1 + 1e-5)


def test_the_velocity_continues_beyond_the_border():
    constant = torch.full((1, 2, 24, 32), 0.25)
    assert torch.allclose(exponential(constant, 7), constant, atol=1e-6)


def test_the_gradient_reaches_every_component_even_at_zero():
    velocity = torch.zeros(1, 2, 16, 16, requires_grad=True)
    exponential(velocity, 7).sum().backward()
    assert velocity.grad is not None
    assert torch.allclose(velocity.grad, torch.ones(1, 2, 16, 16), atol=1e-3)
