"""Blur, down-sampling and random warp, each derived a second way."""

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage.metrics import structural_similarity

import anonymize
from anonymize import flow
from anonymize.errors import UsageError
from baselines.down_sampling import DownSampling
from baselines.gaussian_blur import GaussianBlur
from baselines.random_warp import RandomWarp

WIDE = torch.rand(2, 1, 40, 61, generator=torch.manual_seed(0))


# Gaussian blur


@pytest.mark.parametrize("sigma", [0.005, 0.02, 0.1, 0.5])
def test_blur_is_the_gaussian_filter_of_scipy(sigma):
    out = GaussianBlur(sigma=sigma)(WIDE)
    pixels = 40 * sigma
    for image, blurred in zip(WIDE[:, 0].double().numpy(), out[:, 0].numpy(), strict=True):
        radius = int(np.ceil(4 * pixels))
        expected = gaussian_filter(image, pixels, mode="nearest", radius=radius)
        assert np.abs(blurred - expected).max() < 1e-6


def test_blur_is_the_same_for_every_size_of_an_image():
    y, x = torch.meshgrid(torch.linspace(0, 1, 512), torch.linspace(0, 1, 512), indexing="ij")
    large = (((x > 0.3) & (y > 0.6)) * 0.8 + 0.1).float()[None, None]
    small = torch.nn.functional.avg_pool2d(large, 8)
    blurred = torch.nn.functional.avg_pool2d(GaussianBlur(sigma="4/64")(large), 8)
    assert (GaussianBlur(sigma="4/64")(small) - blurred).abs().max() < 0.01
    assert (small - blurred).abs().max() > 0.3


def test_sigma_may_be_written_as_pixels_of_a_side():
    assert anonymize.load("gaussian-blur:sigma=2/96").options == {"sigma": 2 / 96}


@pytest.mark.parametrize("sigma", ["2", "-0.1", "0.6", "nan", "1/0", "1/2/3", "x", "", "5/6"])
def test_sigma_in_pixels_is_refused_with_the_way_to_write_it(sigma):
    with pytest.raises(UsageError, match=r"part of the shorter side.*2 px of 96 is sigma=2/96"):
        anonymize.load(f"gaussian-blur:sigma={sigma}")


# Down-sampling


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_nothing_finer_than_the_small_image_is_left(factor):
    """Checks of one pixel vanish; the mean over the image stays."""
    checks = (torch.arange(64)[:, None] + torch.arange(64)) % 2
    out = DownSampling(factor=factor)(checks[None, None].float())
    assert (out - 0.5).abs().max() < 0.02 + 0.1 * (factor == 2)
    flat = torch.full((1, 1, 50, 41), 0.3)
    assert torch.allclose(DownSampling(factor=factor)(flat), flat, atol=1e-6)


def test_down_sampling_by_its_definition():
    """Triangle of ± factor around each small pixel's centre, then linear interpolation."""
    signal = torch.rand(48, generator=torch.manual_seed(0)).double()
    centres = (torch.arange(12) + 0.5) * 4
    distance = (torch.arange(48) + 0.5 - centres[:, None]).abs()
    weights = (1 - distance / 4).clamp(min=0).double()
    small = (weights @ signal) / weights.sum(1)
    expected = np.interp(np.arange(48) + 0.5, centres, small)
    out = DownSampling(factor=4)(signal.float().expand(1, 1, 48, 48))
    assert np.abs(out[0, 0, 20].numpy() - expected).max() < 1e-6


def test_a_side_keeps_equally_much_of_every_size():
    half = DownSampling(factor=8)(torch.nn.functional.interpolate(WIDE, scale_factor=4))
    same = DownSampling(side=20)(torch.nn.functional.interpolate(WIDE, scale_factor=4))
    assert torch.equal(half, same)
    assert not DownSampling(side=20).changes_nothing
    assert torch.equal(DownSampling(side=100)(WIDE), WIDE)


def test_a_factor_or_a_side_is_given():
    assert anonymize.load("down-sampling").options == {"factor": 8}
    assert anonymize.load("down-sampling:side=12").options == {"side": 12}


# Random warp


def test_the_field_is_smoothed_noise_of_strength_mu():
    """Smoothed once more it hardly changes; unsmoothed noise would lose nine tenths."""
    model = RandomWarp(mu=0.02, size=64, seed=1)
    field = model.displacement(torch.rand(4, 1, 64, 64, generator=torch.manual_seed(0)))
    assert torch.allclose(field.abs().amax((1, 2, 3)), torch.full((4,), 0.02))
    assert abs(field.mean()) < 0.001
    assert field.std() > 0.15 * 0.02
    smoother = flow.smooth(field)
    assert 0.6 < smoother.std() / field.std() < 0.8  # two equal Gaussians in a row: 1/√2


def test_the_field_does_not_depend_on_the_size_of_the_image():
    model = RandomWarp(mu=0.02, size=48, seed=1)
    wide = model.displacement(WIDE)
    same = RandomWarp(mu=0.02, size=48, seed=1)
    assert torch.equal(wide[1:], same.displacement(WIDE[1:]))
    field = same._field(WIDE[0, 0])
    assert torch.equal(wide[:1], flow.resize(field, (40, 61)))


@pytest.mark.parametrize("kind", ["", ",controls=8", ",controls=8,squarings=7"])
def test_a_control_has_the_rms_that_it_is_asked_for(kind):
    model = anonymize.load(f"random-warp:rms=0.06,size=64,seed=1{kind}")
    assert model.mu is None
    for size in (64, 96):
        images = torch.rand(3, 1, size, size, generator=torch.manual_seed(0))
        displacement = model.displacement(images)
        rms = flow.magnitude(displacement).square().mean((1, 2, 3)).sqrt()
        assert torch.allclose(rms, torch.tensor(0.06), rtol=0.05)
    if "squarings" in kind:
        assert flow.jacobian_determinant(displacement).min() > 0


@pytest.mark.parametrize("rms", [0.15, 0.2])
def test_a_control_of_a_framed_field_has_its_frame_and_its_rms(rms):
    """The frame is what the published filter makes of no displacement; the rest is noise."""
    model = anonymize.load(f"random-warp:rms={rms},size=64,seed=1,border=reference")
    images = torch.rand(2, 1, 64, 64, generator=torch.manual_seed(0))
    displacement = model.displacement(images)
    found = flow.magnitude(displacement).square().mean((1, 2, 3)).sqrt()
    assert torch.allclose(found, torch.tensor(rms), rtol=1e-3)
    beside = displacement - flow.smooth(torch.zeros(1, 2, 64, 64), border="reference")
    assert abs(torch.corrcoef(beside.flatten(1))[0, 1]) < 0.3  # another image, other noise


def test_a_framed_field_moves_no_less_than_its_frame():
    least = flow.magnitude(flow.smooth(torch.zeros(1, 2, 64, 64), border="reference"))
    model = anonymize.load("random-warp:rms=0.05,size=64,seed=1,border=reference")
    found = flow.magnitude(model.displacement(torch.rand(1, 1, 64, 64)))
    assert found.square().mean().item() == pytest.approx(least.square().mean().item(), rel=0.01)


def test_a_replicated_border_is_no_other_warp():
    images = torch.rand(1, 1, 64, 64)
    fields = [
        anonymize.load(f"random-warp:mu=0.02,size=64,seed=1{kind}").displacement(images)
        for kind in ("", ",border=replicate")
    ]
    assert torch.equal(*fields)


def test_a_control_of_a_velocity_is_bounded_and_smooth():
    plain, spline, velocity = (
        anonymize.load(f"random-warp:mu=0.2,size=64,seed=1{kind}").displacement(WIDE)
        for kind in ("", ",controls=8", ",controls=8,squarings=7")
    )
    assert max(d.abs().max() for d in (plain, spline, velocity)) <= 0.2 * (1 + 1e-5)
    bent = [flow.bending_energy(d).item() for d in (plain, spline, velocity)]
    assert bent[0] > 20 * max(bent[1:])


def test_the_warp_is_unpredictable_unless_known():
    fields = [m.displacement(WIDE) for m in (RandomWarp(), RandomWarp(), RandomWarp(seed=1))]
    fields.append(RandomWarp(seed=2).displacement(WIDE))
    flat = torch.stack([f.flatten() for f in [*fields, fields[0].flip(0)]])
    others = torch.corrcoef(flat) - torch.eye(len(flat))
    assert others.abs().max() < 0.3


# On a real image


@pytest.mark.parametrize(
    "specs",
    [
        [f"gaussian-blur:sigma={s}/96" for s in (1, 2, 4)],
        [f"down-sampling:factor={f}" for f in (2, 4, 8)],
        [f"random-warp:mu={mu},seed=0" for mu in (0.01, 0.03, 0.1)],
        [f"dp-pix:epsilon={e},seed=0" for e in (10, 1, 0.1)],
    ],
    ids=lambda specs: specs[0].partition(":")[0],
)
def test_more_strength_changes_a_radiograph_more(shared, specs):
    folder = shared / "data" / "pediatric_pneumonia_224px"
    file = min(p for p in folder.rglob("*") if p.suffix in (".png", ".jpg", ".jpeg"))
    real = np.asarray(Image.open(file).convert("L"), np.float32) / 255
    given = torch.from_numpy(real)[None, None]
    alike = [
        structural_similarity(real, anonymize.load(s)(given)[0, 0].numpy(), data_range=1)
        for s in specs
    ]
    assert alike == sorted(alike, reverse=True)
    assert alike[0] < 0.995
