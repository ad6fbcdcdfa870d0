"""Cubic B-splines: what they keep, and that they do not fold up to the bounds of the options."""

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline

from anonymize import flow, spline
from anonymize.flow import exponential
from anonymize.generator_options import STEEPEST_DISPLACEMENT, STEEPEST_VELOCITY, FlowOptions


def of_controls(values, side):
    """The spline (B, 2, side, side) of control values (B, 2, C, C), by scipy."""
    count = values.shape[-1]
    places, knots = np.linspace(0, count - 3, side), np.arange(-3.0, count + 1)

    def along(array):
        return BSpline(knots, np.moveaxis(array, -1, 0), 3)(places)

    rows = along(values.double().numpy())  # (side, B, 2, C)
    both = along(rows)  # (side of rows, side of columns, B, 2)
    return torch.from_numpy(np.moveaxis(both, (0, 1), (3, 2))).float()


def extremes(controls, batch=40, seed=0):
    """Control values of ±1: at random, converging, diverging, shearing, striped and checkered."""
    signs = torch.rand((batch, 2, controls, controls), generator=torch.manual_seed(seed)) - 0.5
    y, x = torch.meshgrid(*(torch.arange(controls) - controls / 2 + 0.25,) * 2, indexing="ij")
    odd = (torch.arange(controls) % 2 - 0.5).expand(controls, controls)
    pairs = [(x, y), (-x, -y), (y, x), (y, -x), (odd, odd.T), (odd * odd.T, -odd * odd.T)]
    return torch.cat((signs, torch.stack([torch.stack(p) for p in pairs]))).sign()


def raw_field(seed, size=(48, 48)):
    return torch.rand((2, 2, *size), generator=torch.manual_seed(seed)) * 2 - 1


def test_a_constant_is_kept_and_no_value_leaves_the_range():
    constant = torch.full((1, 2, 40, 24), 0.3)
    assert torch.allclose(spline.smooth(constant, 6), constant, atol=1e-6)
    assert spline.smooth(raw_field(1).sign(), 5).abs().max() <= 1


def test_it_is_the_spline_of_local_means():
    raw, controls = raw_field(2, (40, 24)), 6
    bases = BSpline(np.arange(-3.0, controls + 1), np.eye(controls), 3)
    weights = [bases(np.linspace(0, controls - 3, side)).T for side in (40, 24)]
    means = [w / w.sum(1, keepdims=True) for w in weights]
    values = np.einsum("ih,bchw,jw->bcij", means[0], raw.double().numpy(), means[1])
    expected = np.einsum("bcij,ih,jw->bchw", values, *weights)
    assert np.allclose(spline.smooth(raw, controls).numpy(), expected, atol=1e-5)


def test_it_is_the_same_from_every_side():
    raw = raw_field(3)
    turned = spline.smooth(raw.rot90(1, (2, 3)), 7)
    assert torch.allclose(turned, spline.smooth(raw, 7).rot90(1, (2, 3)), atol=1e-5)


def test_few_control_points_make_it_smooth():
    coarse, fine = (flow.pixels(spline.smooth(raw_field(4), c)) for c in (4, 24))
    assert coarse.diff(n=2).abs().max() < 0.05 * fine.diff(n=2).abs().max()


@pytest.mark.parametrize(("controls", "size"), [(3, 32), (33, 32)])
def test_it_needs_control_points_and_pixels(controls, size):
    with pytest.raises(ValueError, match="controls must lie between 4 and 32"):
        spline.smooth(torch.zeros(1, 2, size, size), controls)


def steepest(controls, side, limit):
    """The most extreme splines whose bound is ``limit`` of the spacing of control points."""
    return 2 * limit / (controls - 3) * of_controls(extremes(controls), side)


def least(displacement):
    """The smallest Jacobian determinant, at its own size and at a larger one."""
    larger = flow.resize(displacement, (2 * displacement.shape[-2], 3 * displacement.shape[-1]))
    return min(flow.jacobian_determinant(d).min().item() for d in (displacement, larger))


@pytest.mark.parametrize(("controls", "side"), [(4, 64), (6, 128), (12, 64), (16, 128)])
def test_no_fold_up_to_the_bound_that_options_allow(controls, side):
    assert least(steepest(controls, side, STEEPEST_DISPLACEMENT)) > 0
    assert least(exponential(steepest(controls, side, STEEPEST_VELOCITY), 7)) > 0


def test_a_displacement_of_a_velocity_s_bound_would_fold():
    assert least(steepest(8, 64, STEEPEST_VELOCITY)) < 0
    assert least(exponential(steepest(24, 64, 4 * STEEPEST_VELOCITY), 7)) < 0


@pytest.mark.parametrize("bound", [4, 12])
@pytest.mark.parametrize("squarings", [None, 7])
def test_large_fields_of_128_pixels_neither_fold_nor_pass_their_bound(bound, squarings):
    controls = max(
        c for c in range(4, 60) if allowed(controls=c, mu=bound, unit="pixels", squarings=squarings)
    )
    assert controls > {4: 17, 12: 7}[bound]
    for kind in range(3):
        raw = raw_field(bound + kind, (128, 128))
        if kind:  # in blocks of a spacing, saturated
            raw = torch.nn.functional.adaptive_avg_pool2d(raw, controls).sign()
            raw = torch.nn.functional.interpolate(raw, size=128)
        made = spline.displacement(2 * bound / 127 * raw, controls=controls, squarings=squarings)
        assert least(made) > 0
        assert 0.01 * bound < flow.pixels(made).abs().max() <= bound * (1 + 1e-5)


def allowed(**options):
    try:
        FlowOptions(**options).check_size(128)
    except ValueError:
        return False
    return True


def test_mixed_precision_leaves_the_field_exact():
    raw = 0.05 * raw_field(5)
    expected = spline.displacement(raw, controls=6, squarings=5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(spline.displacement(raw, controls=6, squarings=5), expected)
