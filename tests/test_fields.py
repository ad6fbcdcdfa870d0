"""The generator's fields: units, bounds, soundness, penalty, and what a file keeps of them."""

import pytest
import torch

import anonymize
from anonymize import flow
from anonymize.errors import UsageError
from anonymize.generator_options import FlowOptions
from anonymize.model_file import save_model
from anonymize.options import TrainOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.section import validated

KINDS = {"filter": {}, "spline": {"controls": 6}, "velocity": {"controls": 6, "squarings": 5}}
TONED = {"controls": 6, "tone": 0.2}
DRAWN = {"controls": 6, "drawn": 0.5}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def made(seed=0, gain=1.0, **options):
    """A generator without training; ``gain`` drives it into saturation."""
    torch.manual_seed(seed)
    generator = FlowGenerator(FlowOptions(features=2, levels=2, **options))
    with torch.no_grad():
        generator.unet.conv.weight.mul_(gain)
    return generator


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"mu": 0.05}, 0.05 * 31 / 2),
        ({"mu": 0.025, "unit": "share"}, 0.025 * 31),
        ({"mu": 3, "unit": "pixels"}, 3),
        ({"mu": 30, "unit": "millimetres", "side": 310}, 3),
    ],
    ids=str,
)
def test_the_bound_is_kept_in_its_unit_at_any_size(kind, options, most):
    model = PriCheXyNet(made(gain=100, **options, **kind), size=32)
    assert model.mu == pytest.approx(2 * most / 31)
    for size in ((32, 32), (63, 63), (50, 41)):
        images = torch.rand(4, 1, *size, generator=torch.manual_seed(1))
        moved = flow.pixels(model.displacement(images)).abs().amax((0, 2, 3))
        bound = most * (torch.tensor(size[::-1]) - 1) / 31
        assert (moved <= bound * (1 + 1e-5)).all()
        assert (moved > 0.1 * bound).all()


def test_strength_zero_changes_nothing_bit_for_bit(kind, images):
    model = PriCheXyNet(made(mu=0, **kind), size=32)
    assert model.changes_nothing
    assert torch.equal(model(images), images)


def test_the_border_moves_as_its_neighbours_do(kind):
    """No frame: the published program's filter bends one of 4 pixels inwards by up to 2.4."""
    displacement = made(mu=3, unit="pixels", gain=100, **kind).displacement(
        torch.rand(2, 1, 32, 32)
    )
    across = flow.pixels(displacement).diff(dim=-1).abs().amax((0, 1, 2))
    assert across[:4].max() < 1.5 * across[4:-4].max()
    assert across[-4:].max() < 1.5 * across[4:-4].max()


class Free(torch.nn.Module):
    """Any field in (−1, 1), in the network's place."""

    def __init__(self):
        super().__init__()
        self.field = torch.nn.Parameter(torch.randn(4, 2, 32, 32, generator=torch.manual_seed(3)))

    def forward(self, images):
        return self.field.tanh()


@pytest.mark.parametrize(
    ("kind", "most"), [({}, 2.5), (KINDS["spline"], 4.95), (KINDS["velocity"], 8.25)], ids=str
)
def test_only_a_filtered_field_can_learn_to_fold(kind, most):
    options = {"mu": most, "unit": "pixels", **kind}
    FlowOptions(**options).check_size(32)
    generator = made(**options)
    generator.unet = Free()
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.2)
    for _ in range(60):
        optimizer.zero_grad()
        folds = flow.jacobian_determinant(generator.displacement(torch.zeros(4, 1, 32, 32)))
        folds.amin((1, 2, 3)).sum().backward()
        optimizer.step()
    assert (folds.min() < -0.5) if not kind else (0 < folds.min() < 0.4)


@pytest.mark.parametrize("what", ["images", "penalty"])
@pytest.mark.parametrize("kind", [*KINDS.values(), TONED], ids=str)
def test_gradients_reach_every_weight_of_the_network(kind, what, images):
    generator = made(mu=0.05, bending=1e-3, **kind)
    if what == "images":
        (generator(images) - images).square().mean().backward()
    else:
        generator.penalty(generator.core(images)).backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in generator.parameters())
    reached = generator.unet.conv.weight.grad.abs().amax((1, 2, 3)) > 0  # each output by itself
    assert reached.tolist() == [True, True, what == "images"][: len(reached)]


def test_the_penalty_is_the_weighted_bending_energy_of_its_own_field(kind, images):
    plain = made(mu=0.05, **kind)
    assert plain.penalty(plain.core(images)) == 0
    generator = made(mu=0.05, bending=0.25, **kind)
    energy = flow.bending_energy(generator.displacement(images))
    assert energy > 0
    assert torch.equal(generator.penalty(generator.core(images)), 0.25 * energy)


def test_the_penalty_makes_a_field_smooth(images):
    generator = made(mu=0.05, gain=20, bending=1.0)

    def penalty():
        return generator.penalty(generator.core(images))

    before, still = penalty().item(), generator.displacement(images)
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2)
    for _ in range(20):
        optimizer.zero_grad()
        penalty().backward()
        optimizer.step()
    assert penalty().item() < 0.2 * before
    assert not torch.equal(generator.displacement(images), still)


@pytest.mark.parametrize(
    "options", [*({"bending": 0.5, **kind} for kind in [*KINDS.values(), TONED]), DRAWN], ids=str
)
def test_a_file_keeps_every_option(options, tmp_path, images):
    generator = made(mu=2, unit="pixels", **options)
    model, path = PriCheXyNet(generator, size=32), tmp_path / "model.safetensors"
    save_model(generator.core, model.card(data={}, figures={}), path)
    again = anonymize.load(path)
    assert again.generator.options == generator.options
    assert (again.options, again.mu) == (model.options, model.mu)
    assert again.is_random == ("drawn" in options)
    assert torch.equal(again(images), model(images)) != again.is_random


def test_the_paper_s_options_are_all_that_is_said_of_them():
    model = PriCheXyNet(made(), size=32)
    expected = {"features": 2, "levels": 2, "mu": 0.01, "kernel": 9, "sigma": 2.0}
    assert model.options == {**expected, "border": "replicate", "size": 32}


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        ({"mu": 0.6, "unit": "share"}, "generator.mu: it must be less than or equal to 0.5; got"),
        ({"unit": "mm"}, "generator.unit: it must be 'share', 'pixels' or 'millimetres'"),
        ({"unit": "millimetres"}, "generator.side goes with generator.unit=millimetres"),
        ({"side": 400}, "generator.side goes with generator.unit=millimetres"),
        ({"unit": "millimetres", "side": 400, "mu": 201}, "less than or equal to 200; got 201"),
        ({"controls": 3}, "generator.controls: it must be greater than or equal to 4"),
        ({"squarings": 7}, "generator.squarings needs generator.controls"),
        ({"controls": 6, "border": "reference"}, "border=reference is of the filter"),
        ({"drawn": 0.5}, "generator.drawn needs generator.controls"),
        ({"controls": 6, "drawn": 1}, "generator.drawn: it must be less than 1; got 1"),
        ({**DRAWN, "bending": 1}, "generator.bending is of a field that is not drawn"),
        ({"controls": 66}, "generator.controls must be at most data.size"),
        (
            {"controls": 8, "mu": 0.2},
            "mu 0.2 is 0.50 of the spacing of 8 control points, and may fold beyond 0.48; take "
            "fewer of generator.controls, or generator.squarings=7",
        ),
        (
            {"controls": 8, "mu": 12, "unit": "pixels", "squarings": 7},
            "mu 12 is 0.95 of the spacing of 8 control points, and may fold beyond 0.8; take "
            "fewer of generator.controls$",
        ),
    ],
)
def test_unsound_options(generator, message):
    with pytest.raises(UsageError, match=message):
        validated(TrainOptions, {"data": {"size": 64}, "generator": generator})
