"""Fields that are drawn: who can repeat them, how far they move, and that they tell nothing."""

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline
from test_fields import DRAWN, made

from anonymize import flow
from anonymize.generator_options import STEEPEST_DISPLACEMENT, STEEPEST_VELOCITY
from anonymize.prichexy_net import PriCheXyNet

SIZE, CONTROLS = 32, DRAWN["controls"]
SPACING = (SIZE - 1) / (CONTROLS - 3)  # of the control points, in pixels
SECRET = bytes(range(32))


@pytest.fixture
def model():
    return PriCheXyNet(made(mu=2, unit="pixels", **DRAWN), size=SIZE)


def pictures(count, seed=0):
    return torch.rand(count, 1, SIZE, SIZE, generator=torch.manual_seed(seed))


def test_who_holds_the_key_repeats_it_and_nobody_else(model, images):
    released = model.keyed(SECRET)(images)
    assert torch.equal(model.keyed(SECRET)(images), released)
    assert not torch.equal(model.keyed(SECRET[::-1])(images), released)
    assert not torch.equal(model(images), released)
    again = PriCheXyNet(model.generator, size=SIZE)
    assert not torch.equal(again(images), model(images))
    model.fingerprint = "of another file"
    assert not torch.equal(model.keyed(SECRET)(images), released)


def test_a_seed_is_known_and_a_key_does_not_replace_it(model, images):
    seeded = model.redrawn(3)
    assert seeded.noise_is_known
    assert not model.noise_is_known
    assert seeded.options == model.options | {"seed": 3}
    assert torch.equal(seeded.redrawn(3)(images), seeded(images))
    assert torch.equal(seeded.keyed(SECRET)(images), seeded(images))
    assert not torch.equal(seeded.redrawn(4)(images), seeded(images))


def test_nothing_is_drawn_unless_it_is_asked_for(images):
    plain = PriCheXyNet(made(mu=2, unit="pixels", controls=CONTROLS), size=SIZE)
    assert not plain.is_random
    assert plain.keyed(SECRET) is plain.redrawn(1) is plain


def test_a_pixel_more_moves_everything_elsewhere(model):
    given = pictures(1)
    other = given.clone()
    other[..., 3, 4] += 1e-3
    moved, elsewhere = (flow.pixels(model.displacement(x)) for x in (given, other))
    assert (moved - elsewhere).square().sum(1).mean().sqrt() > 0.3


def test_the_mean_says_nothing_and_the_length_is_the_spline_s(model):
    """Directions are uniform: E|u|² = μ²·E[s²]·Σb² of the basis functions b, by scipy."""
    with torch.no_grad():
        model.generator.unet.conv.bias.fill_(50)  # as far as it may
    fields = flow.pixels(model.displacement(pictures(400))).double()
    basis = BSpline(np.arange(-3.0, CONTROLS + 1), np.eye(CONTROLS), 3)
    squares = torch.from_numpy((basis(np.linspace(0, CONTROLS - 3, SIZE)) ** 2).sum(1))
    expected = 4 * squares[:, None] * squares
    assert torch.allclose(fields.square().sum(1).mean(0), expected, rtol=0.25)
    assert fields.mean(0).abs().max() < 5 * (4 / 2 / 400) ** 0.5


def test_the_network_says_how_far_from_its_least_share_on(model):
    generator, found = model.generator, []
    for bias in (-50, 50):
        with torch.no_grad():
            generator.unet.conv.bias.fill_(bias)
            found.append(flow.pixels(generator.displacement(pictures(50))))
    least, most = (float(field.square().mean().sqrt()) for field in found)
    assert least == pytest.approx(DRAWN["drawn"] * most)


@pytest.mark.parametrize(
    ("squarings", "steepest"), [(None, STEEPEST_DISPLACEMENT), (6, STEEPEST_VELOCITY)]
)
def test_no_draw_folds_at_the_steepest_that_options_allow(squarings, steepest):
    kind = {**DRAWN, "squarings": squarings, "mu": 0.999 * steepest * SPACING, "unit": "pixels"}
    generator = made(**kind)
    generator.options.check_size(SIZE)
    with torch.no_grad():
        generator.unet.conv.bias.fill_(50)
    fields = generator.displacement(pictures(300))
    assert flow.jacobian_determinant(fields).min() > 0


def test_gradients_reach_every_weight(images):
    generator = made(mu=0.05, **DRAWN)
    (generator(images) - images).square().mean().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in generator.parameters())


def test_an_epoch_draws_anew(images):
    generator = made(mu=0.05, **DRAWN)
    first = generator(images)
    generator.redraw(1)
    second = generator(images)
    generator.redraw(0)
    assert torch.equal(generator(images), first)
    assert not torch.equal(first, second)
