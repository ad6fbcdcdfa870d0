"""Every method under one contract, and DP-Pix against its definition."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import kstest, laplace

import anonymize
from anonymize import flow
from anonymize.anonymizer import methods
from anonymize.errors import ModelError, UsageError
from anonymize.model_file import save_model
from anonymize.options import FlowOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from baselines.dp_pix import DPPix


@pytest.fixture
def model_file(tmp_path):
    """A generator that was not trained, at 32 px."""
    torch.manual_seed(0)
    generator = FlowGenerator(FlowOptions(features=4, mu=0.05))
    model = PriCheXyNet(generator, size=32)
    path = tmp_path / "run" / "model.safetensors"
    save_model(generator.core, model.card(data={}, figures={}), path)
    return path


@pytest.fixture(params=["identity", "dp-pix:b=4,epsilon=0.5", "prichexy-net"])
def model(request, model_file):
    spec = f"prichexy-net:{model_file}" if request.param == "prichexy-net" else request.param
    return anonymize.load(spec)


def test_same_shape_type_and_range(model, images):
    for size in (32, 50):
        given = images if size == 32 else torch.rand(2, 1, size, 41)
        for dtype in (torch.float32, torch.float64):
            out = model(given.to(dtype))
            assert out.shape == given.shape
            assert out.dtype == dtype
            assert 0 <= out.min() <= out.max() <= 1


def test_input_is_left_alone(model, images):
    before = images.clone()
    model(images)
    assert torch.equal(images, before)


def test_released_image_is_the_input_warped_where_there_is_a_displacement(model, images):
    displacement = model.displacement(images)
    if model.name != "prichexy-net":
        assert displacement is None
        return
    assert displacement.shape == (3, 2, 32, 32)
    assert displacement.abs().max() <= model.mu
    assert torch.equal(model(images), flow.warp(images, displacement).clamp(0, 1))


def test_one_by_one_equals_the_batch_where_no_noise_is_drawn(model, images):
    if model.name == "dp-pix":
        pytest.skip("noise differs from call to call, as it must")
    single = torch.cat([model(images[i : i + 1]) for i in range(3)])
    assert torch.allclose(single, model(images), atol=1e-5)


def test_only_identity_says_that_it_changes_nothing(model):
    assert model.changes_nothing == (model.name == "identity")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (torch.zeros(1, 3, 8, 8), "shape"),
        (torch.zeros(8, 8), "shape"),
        (torch.zeros(1, 1, 8, 8, dtype=torch.uint8), "floating point"),
        (torch.full((1, 1, 8, 8), 1.5), r"lie in \[0, 1\]"),
        (torch.full((1, 1, 8, 8), float("nan")), r"lie in \[0, 1\]"),
    ],
)
def test_wrong_images(model, wrong, message):
    with pytest.raises(UsageError, match=message):
        model(wrong)


def test_all_methods_are_entry_points():
    assert {"identity", "dp-pix", "prichexy-net"} <= set(methods())


def test_a_run_a_file_and_a_method_give_the_same_model(model_file, images):
    specs = (model_file.parent, model_file, f"prichexy-net:{model_file.parent}")
    outs = [anonymize.load(spec)(images) for spec in specs]
    assert all(torch.equal(outs[0], out) for out in outs)
    assert len(anonymize.load(model_file).fingerprint) == 64


def test_strength_zero_gives_the_images_back_bit_for_bit(images):
    model = PriCheXyNet(FlowGenerator(FlowOptions(features=4, mu=0)), size=32)
    assert torch.equal(model(images), images)
    assert model.changes_nothing


def test_displacement_of_a_larger_image_is_the_same_field(model_file):
    model = anonymize.load(model_file)
    small = torch.rand(1, 1, 32, 32)
    large = torch.nn.functional.interpolate(small, size=(96, 96), mode="nearest")
    difference = model.displacement(large) - flow.resize(model.displacement(small), (96, 96))
    assert difference.abs().max() < 0.1 * model.mu


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-thing", "neither a run, a model file nor a method; methods: dp-pix, identity"),
        ("dp-pix:c=3", "dp-pix knows b, epsilon, m and seed; got c"),
        ("dp-pix:b", "key=value"),
        ("dp-pix:b=2.5", "b must be a whole number"),
        ("dp-pix:b=0", "b must lie between 1"),
        ("dp-pix:epsilon=-1", "epsilon must lie between"),
        ("dp-pix:epsilon=x", "epsilon must be a number"),
        ("identity:a=1", "identity takes no options"),
        ("prichexy-net", "needs a run or a model file"),
    ],
)
def test_wrong_method(spec, message):
    with pytest.raises(UsageError, match=message):
        anonymize.load(spec)


def test_wrong_files(tmp_path, model_file):
    text = tmp_path / "a.safetensors"
    text.write_text("no model")
    with pytest.raises(ModelError, match="no safetensors file"):
        anonymize.load(text)
    with pytest.raises(ModelError, match=r"holds no model\.safetensors"):
        anonymize.load(tmp_path)
    other = FlowGenerator(FlowOptions(features=8))
    wrong = PriCheXyNet(FlowGenerator(FlowOptions(features=4)), size=32)
    save_model(other.unet, wrong.card(data={}, figures={}), tmp_path / "b.safetensors")
    with pytest.raises(ModelError, match="has shape"):
        anonymize.load(tmp_path / "b.safetensors")


# DP-Pix


@pytest.mark.parametrize("b", [1, 2, 4, 8])
def test_pixelization_is_the_published_one(shared, b):
    data = load_file(shared / "parity" / "dp_pix_no_noise.safetensors")
    out = DPPix(b=b, epsilon=1e9, seed=0)(data["image"])
    # The published program rounds to whole gray levels.
    assert torch.allclose(out, data[f"dp_pix_b{b}_eps1e9"], atol=1.01 / 255)


def test_cells_at_the_edge_are_means_of_what_they_hold():
    image = torch.rand(1, 1, 5, 7)
    out = DPPix(b=3, epsilon=1e9, seed=0)(image)
    for y in range(0, 5, 3):
        for x in range(0, 7, 3):
            cell = (..., slice(y, y + 3), slice(x, x + 3))
            assert torch.allclose(out[cell], image[cell].mean().expand_as(out[cell]), atol=1e-5)


@pytest.mark.parametrize(("b", "epsilon", "m"), [(1, 400.0, 1), (2, 50.0, 1), (4, 30.0, 4)])
def test_noise_is_laplace_with_the_papers_scale(b, epsilon, m):
    image = torch.full((1, 1, 256, 256), 0.5)
    out = DPPix(b=b, epsilon=epsilon, m=m, seed=3)(image)[0, 0, ::b, ::b].double().numpy().ravel()
    noise = 255 * (out - 0.5)
    scale = 255 * m / (b * b * epsilon)
    inside = np.abs(noise) < 127
    assert inside.mean() > 0.99
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 1e-3
    # A scale that is 10 % off would be seen.
    assert kstest(noise, laplace(scale=1.1 * scale).cdf).pvalue < 1e-3


def test_noise_repeats_with_a_seed_only():
    image = torch.full((1, 1, 16, 16), 0.5)
    options = {"b": 1, "epsilon": 100.0}
    assert torch.equal(DPPix(**options, seed=1)(image), DPPix(**options, seed=1)(image))
    assert not torch.equal(DPPix(**options)(image), DPPix(**options)(image))
