"""What a release says of its own protection does not sound safer than it is."""

import pytest
import torch
from release_specimens import Wave, command, fill, pillow, png, scene

import anonymize
from anonymize.commands.apply_report import MOST_SIZES, about_protection, describe
from anonymize.errors import UsageError
from anonymize.model_file import save_model
from anonymize.options import FlowOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.summary import Told

SIZES = {f"{side}.png": png(scene(size=(side, side + 4)), 8, 0) for side in (32, 64, 100, 160)}


def model_of(tmp_path, *, data, figures):
    torch.manual_seed(0)
    generator = FlowGenerator(FlowOptions(features=4, levels=1, mu=0.05))
    card = PriCheXyNet(generator, size=32).card(data=data, figures=figures)
    save_model(generator.core, card, tmp_path / "model.safetensors")
    return anonymize.load(tmp_path / "model.safetensors")


def test_a_model_says_what_it_was_trained_on_and_what_its_verifier_still_finds(tmp_path, release):
    figures = {"validation_verifier_auc": 0.8131}
    model = model_of(tmp_path, data={"source": "phantom"}, figures=figures)
    said = describe(release({"a.png": SIZES["32.png"]}, model).summary, 1.0)
    (line,) = [line for line in said.splitlines() if line.startswith("protection")]
    for words in ("NOT SHOWN", "leaves people linkable", "drawings", "AUC 0.81", "no other"):
        assert words in line


@pytest.mark.parametrize("data", [{}, {"source": "\x1b[2J"}])
def test_a_card_that_does_not_say_is_not_believed(tmp_path, data):
    said = model_of(tmp_path, data=data, figures={}).evidence
    assert "AUC" not in said
    assert "tried" in said
    assert said.isprintable()
    assert "not known" in said or data


def test_where_nothing_is_known_nothing_was_tried():
    assert about_protection(Told(evidence=Wave().evidence)) == [
        "protection NOT SHOWN: no attacker was tried"
    ]


@pytest.mark.parametrize(
    ("spec", "fits", "too_large"),
    [
        ("dp-pix:b=2", 96, 97),
        ("dp-pix:b=8", 256, 1024),
        ("down-sampling:factor=8", 384, 385),
        ("down-sampling:side=32", 4096, None),
        ("down-sampling:side=300", 48, 600),
        ("gaussian-blur", 4096, None),
    ],
)
def test_strength_by_the_pixel_fits_small_images_only(spec, fits, too_large):
    model = anonymize.load(spec)
    assert model.unfit(fits, fits + 100) == ""
    if too_large is not None:
        assert str(too_large) in model.unfit(too_large + 100, too_large)


@pytest.mark.parametrize(("epsilon", "fits"), [(0.1, True), (3.9, True), (4.1, False)])
def test_noise_below_a_gray_level_fits_nothing(epsilon, fits):
    said = anonymize.load(f"dp-pix:b=8,epsilon={epsilon}").unfit(64, 64)
    assert (said == "") == fits
    assert fits or "hides nothing; use epsilon=0.39" in said


@pytest.mark.parametrize(("side", "fits"), [(15, False), (16, True), (64, True), (65, False)])
def test_a_model_fits_images_near_its_training_size(tmp_path, side, fits):
    model = model_of(tmp_path, data={}, figures={})
    assert (model.unfit(side, 2 * side) == "") == fits


class Particular(Wave):
    """Fits images of 32 pixels only."""

    def unfit(self, height, width):
        return "" if min(height, width) == 32 else f"too large: {height}"


def test_images_that_the_method_does_not_fit_are_counted_and_named(release):
    done = release(SIZES, Particular())
    assert done.summary.unfit == {"too large: 64": 1, "too large: 100": 1, "too large: 160": 1}
    assert release((), Particular()).summary.unfit == done.summary.unfit  # nothing was done anew
    said = describe(done.summary, 1.0)
    assert said.count("warning    1 image: too large") == min(3, MOST_SIZES)


def test_strict_quarantines_them(release):
    done = release(SIZES, Particular(), strict=True, batch_size=2)
    assert set(done.quarantine.values()) == {"unfit-size"}
    assert set(done.files) == {"32.png", "manifest.csv"}
    with pytest.raises(UsageError, match="strict"):
        release((), Particular())


def test_a_plan_says_whom_strict_will_quarantine(tmp_path):
    fill(tmp_path / "in", SIZES)
    options = ReleaseOptions(strict=True)
    planned = pipeline.plan(tmp_path / "in", tmp_path / "out", Particular(), options)
    reasons = {p.input: p.reason for p in planned}
    assert reasons == {name: "unfit-size" * (name != "32.png") for name in SIZES}
    assert {p.action for p in planned} == {"anonymize", "quarantine"}


def test_the_command_says_so(tmp_path):
    fill(tmp_path / "in", {"a.png": pillow(scene(size=(600, 600)), "PNG")})
    done = command(tmp_path / "in", tmp_path / "out", "--strict", model="dp-pix:b=8", code=3)
    assert "unfit-size" in done.stdout
    done = command(tmp_path / "in", tmp_path / "other", model="dp-pix:b=8", code=0)
    assert "use b=19" in done.stdout
    assert "NOT SHOWN" in done.stdout
