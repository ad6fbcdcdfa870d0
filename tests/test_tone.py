"""What tone does to gray levels, and what a release makes of it."""

import numpy as np
import pytest
import torch
from test_fields import TONED, made

from anonymize import flow
from anonymize.anonymizer import DEFORMED
from anonymize.prichexy_net import PriCheXyNet
from anonymize.tone import LARGEST, toned


def levels(tone):
    x = torch.linspace(0, 1, 1001).view(1, 1, 1, -1)
    return x, toned(x, torch.tensor(tone).view(1, 1, 1, 1))


def test_no_tone_changes_nothing_bit_for_bit(images):
    assert torch.equal(toned(images, torch.zeros(3, 1, 32, 32)), images)


@pytest.mark.parametrize("tone", [-LARGEST, -0.1, 0.05, LARGEST])
def test_gray_levels_stay_in_range_and_order_and_near_to_what_they_were(tone):
    x, y = levels(tone)
    assert (y[..., 0], y[..., -1]) == (0, 1)
    assert (y.diff() > 0).all()
    assert (y - x).abs().max().item() == pytest.approx(abs(tone))


def test_beyond_the_largest_two_levels_would_become_one():
    assert not (levels(1.2 * LARGEST)[1].diff() > 0).all()


def test_a_generator_shades_what_it_has_moved(images):
    generator = made(mu=0.05, **TONED)
    displacement, tone = generator.fields(generator.unet(images), images)
    assert tone.shape == (3, 1, 32, 32)
    assert torch.equal(generator(images), toned(flow.warp(images, displacement), tone))
    smoother = flow.bending_energy(tone.expand(-1, 2, -1, -1)) / tone.abs().max() ** 2
    noise = torch.rand(3, 2, 32, 32)
    assert smoother < 0.01 * flow.bending_energy(noise)


def test_the_tone_keeps_its_bound_at_any_size():
    model = PriCheXyNet(made(mu=0.05, gain=100, controls=6, tone=0.1), size=32)
    for size in ((32, 32), (50, 41)):
        images = torch.rand(2, 1, *size, generator=torch.manual_seed(1))
        assert 0.01 < model.tone(images).abs().max() <= 0.1 * (1 + 1e-6)
        assert 0 <= model(images).min() <= model(images).max() <= 1


def test_nobody_claims_what_was_measured_of_deformations():
    assert DEFORMED in PriCheXyNet(made(controls=6), size=32).evidence
    evidence = PriCheXyNet(made(**TONED), size=32).evidence
    assert DEFORMED not in evidence
    assert "not measured" in evidence


def test_arrays_are_toned_as_tensors_are():
    x, t = torch.rand(5, 7), 0.2 * torch.rand(5, 7)
    assert np.allclose(toned(x.numpy(), t.numpy()), toned(x, t).numpy())
