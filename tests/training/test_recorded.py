"""What is recorded is repeated blindly: a step must be the same operations for all batches of a
shape, and fetch nothing. What is repeated must be what a step would have done."""

import copy

import numpy as np
import pytest
import torch
from tiny_run import COMPACT, Operations, game

from anonymize.data.batches import HeldImages, held
from anonymize.data.pairs import Pairs
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import ClassifierOptions, FlowOptions, ReconstructionOptions, VerifierOptions
from anonymize.prichexy_net import FlowGenerator
from anonymize.training.compute import Compute
from anonymize.training.recorded import BEFORE, Recorded
from anonymize.training.stages import (
    ClassifierStage,
    Labelled,
    Paired,
    ReconstructionStage,
    VerifierStage,
)

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
ROWS = np.arange(8)
# Of a size that depends on values, or a value itself.
WAITING = ("nonzero", "_local_scalar_dense", "index.Tensor", "masked_select", "_unique")


def images(seed):
    return HeldImages(torch.rand(8, 1, 32, 32, generator=torch.Generator().manual_seed(seed)))


def labelled(seed):
    targets = np.random.default_rng(seed).choice([0, 1, np.nan], (8, 3)).astype(np.float32)
    return Labelled(images(seed), targets, ROWS, ROWS)


def paired(seed):
    patients = np.random.default_rng(seed).integers(0, 4, 8)
    second = np.roll(ROWS, 1)
    pairs = Pairs(ROWS, second, patients[ROWS] == patients[second])
    return Paired(images(seed), images(seed + 1), patients, lambda seed: pairs, pairs)


def classifier(seed, compute):
    options = ClassifierOptions(**COMPACT, batch=4)
    return ClassifierStage(build_classifier(options, 3), options, labelled(seed), compute=compute)


def verifier(seed, compute):
    options = VerifierOptions(**COMPACT, features=8, batch=4)
    return VerifierStage(build_verifier(options), options, paired(seed), compute=compute)


def reconstruction(seed, compute):
    generator = FlowGenerator(FlowOptions(features=2, mu=0.1))
    options = ReconstructionOptions(batch=4)
    return ReconstructionStage(generator, options, labelled(seed), compute=compute)


def played(seed, compute):
    stage = game(auxiliary="updated", compute=compute)
    stage.data, stage.targets = paired(seed), labelled(seed).targets
    return stage


STAGES = (classifier, verifier, reconstruction, played)


def first(stage):
    """The first part of an epoch, and its inputs."""
    stage.begin(0)
    (part,) = stage.compute.parts(ROWS[:4])
    return part, stage.inputs(part)


@pytest.mark.parametrize("made", STAGES)
def test_a_step_is_the_same_for_all_batches_of_a_shape(made):
    seen = []
    for seed in (0, 1):
        stage = made(seed, Compute())
        part, tensors = first(stage)
        stage.gradients(part, *tensors)  # what is made once, is
        stage.compute.step(*stage.optimizers.values())
        with Operations() as operations:
            stage.gradients(part, *tensors)
        seen.append(operations.seen)
    assert seen[0] == seen[1]
    assert len(seen[0]) > 100
    assert not [name for name, _ in seen[0] if any(word in name for word in WAITING)]


def test_a_step_that_picks_out_by_value_would_be_seen():
    with Operations() as operations:
        values = torch.tensor([1.0, -1.0])
        values[values > 0].sum()
    assert [name for name, _ in operations.seen if any(word in name for word in WAITING)]


@pytest.mark.parametrize(
    "changed",
    [
        {"verification_loss": "match"},
        {"opponents": ["histogram"]},
        {"opponent_pairs": "mixed"},
        {"opponent_reset": 2},
        {"replay": 1},
        {"balance": "constraint"},
    ],
)
def test_a_game_whose_steps_differ_is_not_recorded(changed, monkeypatch):
    monkeypatch.setattr(Compute, "records", True)
    assert game(**changed)._recorded is None


def test_a_cpu_records_nothing():
    assert not Compute().records
    assert [made(0, Compute())._recorded for made in STAGES] == [None] * len(STAGES)


@pytest.mark.parametrize("room", [8 * 32 * 32 * 4, 8 * 32 * 32 * 4 - 1])
def test_images_are_held_where_there_is_room(room):
    pictures = images(0)
    found = held(pictures, torch.device("cpu"), room)
    assert (found is pictures) == (room < pictures.pixels.nbytes)
    assert torch.equal(found.batch(ROWS), pictures.batch(ROWS))


@GPU
@pytest.mark.parametrize("made", STAGES)
def test_what_is_repeated_is_what_steps_would_have_done(made):
    """Over batches of two shapes, of which one is recorded."""
    torch.manual_seed(0)
    stage = made(0, Compute("cuda"))
    for module in stage.modules.values():
        module.train()
    first(stage)
    plain = copy.deepcopy(stage)
    recorded = Recorded(stage.gradients, stage.optimizers, stage.compute)
    for number in range(2 * BEFORE + 3):
        rows = np.roll(ROWS, number)[: 3 if number == BEFORE else 4]
        (part,) = stage.compute.parts(rows)
        tensors = stage.inputs(part)
        found = recorded(part, *tensors)
        wanted = plain.gradients(part, *tensors)
        plain.compute.step(*plain.optimizers.values())
        for name, loss in wanted.items():
            torch.testing.assert_close(found[name], loss.detach(), rtol=1e-3, atol=1e-4)
    assert recorded.graph is not None
    for name, module in stage.modules.items():
        for key, value in module.state_dict().items():
            torch.testing.assert_close(
                value, plain.modules[name].state_dict()[key], rtol=1e-2, atol=1e-3, msg=key
            )


@GPU
def test_nothing_is_recorded_that_leaves_no_room(monkeypatch):
    stage = reconstruction(0, Compute("cuda"))
    recorded = Recorded(stage.gradients, stage.optimizers, stage.compute)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 2**50)
    part, tensors = first(stage)
    for _ in range(BEFORE + 2):
        assert torch.isfinite(recorded(part, *tensors)["loss"])
    assert recorded.graph is None
