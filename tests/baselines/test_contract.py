"""Every method that takes one image at a time under one contract; see test_set_contract.py."""

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from asked import ask
from method_table import CASES, SET_CASES
from PIL import Image

import anonymize
from anonymize import flow
from anonymize.anonymizer import GROUP, method_class
from anonymize.cli import main
from anonymize.errors import UsageError
from anonymize.plugins import installed
from anonymize.release.transform import predict
from anonymize.set_anonymizer import SetAnonymizer
from anonymize.tone import toned

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SIZES = [(32, 32), (50, 41), (33, 64), (96, 80)]


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def spec(case, tmp_path_factory):
    return case.spec(tmp_path_factory.mktemp("method"))


@pytest.fixture(scope="module")
def model(spec):
    return anonymize.load(spec)


def cases_that(chosen):
    """Of the cases, those for which ``chosen`` holds."""
    return pytest.mark.parametrize("case", [*filter(chosen, CASES)], ids=str, indirect=True)


def picture(h, w, n=2):
    """Images (n, 1, h, w) that differ and have no symmetry."""
    y, x = torch.meshgrid(torch.linspace(0, 1, h), torch.linspace(0, 1, w), indexing="ij")
    strength = torch.linspace(1, 0.5, n).view(n, 1, 1, 1)
    ripple = torch.sin(23 * x + 31 * y * y).abs()
    return strength * (0.1 + 0.4 * x + 0.2 * y * y + 0.2 * ripple)


def test_no_method_is_forgotten():
    for cases, of_sets in ((CASES, False), (SET_CASES, True)):
        names = {
            n for n in installed(GROUP) if issubclass(method_class(n), SetAnonymizer) == of_sets
        }
        assert {c.name for c in cases} == names


@pytest.mark.parametrize("device", DEVICES)
def test_shape_type_device_and_range_are_kept(spec, device):
    model = anonymize.load(spec, device=device)
    for size in SIZES:
        given = picture(*size).to(device)
        for dtype in (torch.float16, torch.float32, torch.float64):
            out = model(given.to(dtype))
            assert (out.shape, out.dtype, out.device) == (given.shape, dtype, given.device)
            assert 0 <= out.min() <= out.max() <= 1
        assert model(given[:0]).shape == (0, 1, *size)


def test_extremes_stay_in_range(model):
    for value in (0.0, 1.0):
        out = model(torch.full((1, 1, 32, 40), value))
        assert 0 <= out.min() <= out.max() <= 1


def test_an_image_gives_the_same_output_however_often_and_is_left_alone(model, images):
    before, once = images.clone(), model(images)
    model.displacement(images)
    assert torch.equal(model(images), once)
    assert torch.equal(images, before)


def test_one_by_one_equals_the_batch(model, images):
    batch = model(images)
    for order in ([0, 1, 2], [2, 0, 1]):
        single = torch.cat([model(images[i : i + 1]) for i in order])
        assert torch.allclose(single, batch[order], atol=1e-5)


def test_double_precision_gives_what_single_gives(model, images):
    assert torch.equal(model(images.double()), model(images).double())


def test_sixteen_bits_are_not_cut_to_eight(model):
    levels = 30000 + torch.randperm(4096, generator=torch.manual_seed(0)).sort().values
    out = model((levels / 65535).view(1, 1, 64, 64))
    # Of 8 bits, the input spans 16 levels.
    assert len(torch.unique((out * 65535).round())) > 100


def test_up_stays_up_and_left_stays_left(model):
    plain = torch.full((1, 1, 48, 64), 0.2)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        spot = plain.clone()
        spot[..., 8 + 24 * down :, 12 + 32 * right :][..., :8, :8] = 0.9
        # Squared, for what a method changes everywhere by a little is more than the spot in sum.
        change = (model(spot) - model(plain)).square()[0, 0]
        quarters = torch.stack([q.sum() for half in change.chunk(2, 0) for q in half.chunk(2, 1)])
        assert quarters.argmax() == 2 * down + right


def test_only_strength_zero_changes_nothing(case, model, images):
    assert bool(model.changes_nothing) == case.zero
    assert torch.equal(model(images), images) == case.zero


def test_what_is_released_is_the_input_warped_by_the_displacement(model):
    given = picture(40, 52)
    displacement = model.displacement(given)
    assert (displacement is None) == (model.mu is None and "rms" not in model.options)
    if displacement is not None:
        assert displacement.shape == (2, 2, 40, 52)
        assert displacement.dtype == torch.float32
        assert model.mu is None or displacement.abs().max() <= model.mu * (1 + 1e-6)
        expected, tone = flow.warp(given, displacement), model.tone(given)
        assert (tone is not None) == ("tone" in model.options)
        if tone is not None:
            assert 0 < tone.abs().max() <= model.options["tone"] * (1 + 1e-6)
            expected = toned(expected, tone)
        assert torch.equal(model(given), expected.clamp(0, 1))
        # A release asks for the displacement alone.
        assert torch.equal(torch.cat(predict(model, given)), displacement)


def test_options_are_plain_and_make_the_same_method(case, model, images):
    assert json.loads(json.dumps(model.options)) == model.options
    assert model.noise_is_known == case.seeded
    if case.generator is not None:
        assert case.generator.items() <= model.options.items()
    elif not case.key:
        text = ",".join(f"{key}={value}" for key, value in model.options.items())
        again = anonymize.load(f"{case.name}:{text}")
        assert again.options == model.options
        same = torch.equal(again(images), model(images))
        assert same == (case.zero or case.seeded or not model.is_random)


def test_fingerprint_is_that_of_the_model_file(case, spec, model):
    if case.generator is None:
        assert model.fingerprint == ""
    else:
        content = Path(spec.partition(":")[2]).read_bytes()
        assert model.fingerprint == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    "name", sorted({c.name for c in (*CASES, *SET_CASES) if c.generator is None})
)
def test_an_unknown_option_lists_the_known_ones(name):
    known = list(method_class(name).Options.model_fields)
    expected = "known here: " + ", ".join(known) if known else f"{name} takes no options"
    with pytest.raises(UsageError, match=expected) as error:
        anonymize.load(f"{name}:nonsense=1")
    assert name in str(error.value)
    assert "nonsense" in str(error.value)


def test_wrong_images_are_refused(model):
    for wrong, message in (
        (torch.zeros(1, 3, 8, 8), "shape"),
        (torch.zeros(8, 8), "shape"),
        (torch.zeros(1, 1, 8, 8, dtype=torch.uint8), "floating point"),
        (torch.full((1, 1, 8, 8), 1.5), r"lie in \[0, 1\]"),
        (torch.full((1, 1, 8, 8), -0.1), r"lie in \[0, 1\]"),
        (torch.full((1, 1, 8, 8), float("nan")), r"lie in \[0, 1\]"),
    ):
        with pytest.raises(UsageError, match=message):
            model(wrong)


@pytest.fixture
def apply(spec, tmp_path):
    """Files of 8 and 16 bits through `anonymize apply`."""
    (tmp_path / "in").mkdir()
    array = (picture(50, 41, 1)[0, 0].numpy() * 65535).astype(np.uint16)
    Image.fromarray(array).save(tmp_path / "in" / "a.png")
    Image.fromarray((array >> 8).astype(np.uint8)).save(tmp_path / "in" / "b.png")
    words = ("--model", spec, "--names=keep", "--device=cpu")
    return partial(ask, main, "apply", tmp_path / "in", tmp_path / "out", *words)


@cases_that(lambda case: case.refused)
def test_no_release_without_change_or_with_known_noise(case, apply, tmp_path):
    result = apply(code=2)
    assert ("changes nothing" if case.zero else "leave the seed out") in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@cases_that(lambda case: not case.refused)
def test_a_release_of_every_other_method(apply, tmp_path):
    apply()
    for name in ("a.png", "b.png"):
        before, after = (np.asarray(Image.open(tmp_path / f / name)) for f in ("in", "out"))
        assert (after.shape, after.dtype) == (before.shape, before.dtype)
        assert (after != before).any()
