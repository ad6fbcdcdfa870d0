"""Prediction without training: the same figures, faster, and never at the price of a gray level."""

import copy
from types import SimpleNamespace

import pytest
import torch

from anonymize import packing, trained
from anonymize.generator_options import FlowOptions
from anonymize.inference import Inference, computes_bfloat16, drawn
from anonymize.networks.build import build_generator
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet

CPU = torch.device("cpu")
OPTIONS = {"features": 4, "levels": 2}


@pytest.fixture
def network():
    """A generator whose batch statistics are of images."""
    torch.manual_seed(0)
    made = build_generator(FlowOptions(**OPTIONS)).train()
    with torch.no_grad():
        for _ in range(30):
            made(torch.rand(8, 1, 32, 32))
    return made.eval()


@pytest.fixture
def bfloat16(monkeypatch):
    monkeypatch.setattr(trained, "computes_bfloat16", lambda device: True)


def anonymizer(network, mu):
    generator = FlowGenerator(FlowOptions(**OPTIONS, mu=mu))
    generator.unet.load_state_dict(network.state_dict())
    return PriCheXyNet(generator, size=32)


@pytest.mark.parametrize("half", [False, True])
def test_an_image_becomes_the_same_alone_and_beside_others(network, half):
    made, images = Inference(network, half=half), torch.rand(5, 1, 32, 32)
    together = made(images)
    assert together.dtype == torch.float32
    assert torch.equal(together, torch.cat([made(images[i : i + 1]) for i in range(5)]))


def test_in_full_precision_it_is_the_network(network):
    images = torch.rand(3, 1, 32, 32)
    with torch.no_grad():
        assert torch.allclose(Inference(network)(images), network(images), atol=1e-5)


def test_what_decides_is_not_rounded(network):
    """Beside the whole network in bfloat16, which is a second derivation of why."""
    images = torch.rand(16, 1, 32, 32)
    coarse = copy.deepcopy(network).bfloat16()
    with torch.no_grad():
        wanted = network(images)
        rounded = coarse(images.bfloat16()).float()
    found = Inference(network, half=True)(images)
    error, plain = ((out - wanted).square().mean().sqrt() for out in (found, rounded))
    assert 0 < error < plain
    assert not torch.equal(found, found.bfloat16().float())
    weights = network.state_dict()  # the network itself stays as it was
    assert all(w.dtype == torch.float32 for w in weights.values() if w.is_floating_point())


def test_a_batch_norm_in_its_convolution_is_rounded_less(network):
    """Beside the same network with batch norms of their own, rounded alike. What these take away
    and add again is of the size that trained ones have."""
    images = torch.rand(16, 1, 32, 32)
    for norm in network.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.running_mean += 3 * norm.running_var.sqrt()
            norm.bias.data += 3 * norm.weight
    apart = copy.deepcopy(network)
    kept = {*apart.encoder1[0].parameters(), *apart.conv.parameters()}
    for values in (*apart.parameters(), *apart.buffers()):
        if values.is_floating_point() and values not in kept:
            values.data = values.data.bfloat16()
    apart.encoder1[0].register_forward_hook(lambda _, seen, made: made.bfloat16())
    apart.conv.register_forward_pre_hook(lambda _, seen: seen[0].float())
    with torch.no_grad():
        wanted, twice = network(images), apart(images)
    found = Inference(network, half=True)(images)
    error, plain = ((out - wanted).square().mean().sqrt() for out in (found, twice))
    assert 0 < error < plain / 1.5


@pytest.mark.parametrize("half", [False, True])
def test_no_batch_norm_is_left(network, half):
    left = Inference(network, half=half)._network.modules()
    assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in left)


@pytest.mark.parametrize(("half", "tolerance"), [(False, 1e-6), (True, 0.01)])
@pytest.mark.skipif(not packing.works(), reason="this torch has no such operators")
def test_packed_convolutions_are_what_they_were(network, half, tolerance, monkeypatch):
    fast = Inference(network, half=half)
    assert not any(isinstance(layer, torch.nn.ReLU) for layer in fast._network.modules())
    monkeypatch.setattr(packing, "works", lambda: False)
    plain = Inference(network, half=half)
    for side in (32, 48, 32):  # weights are laid out for one size at a time
        images = torch.rand(2, 1, side, side)
        torch.testing.assert_close(fast(images), plain(images), atol=tolerance, rtol=0)
        assert torch.equal(copy.deepcopy(fast)(images), fast(images))


def test_whether_it_works_is_tried_without_a_random_number():
    before = torch.get_rng_state()
    packing.works.cache_clear()
    packing.works()
    assert torch.equal(torch.get_rng_state(), before)


def test_without_the_operators_it_is_done_in_two(network, monkeypatch):
    images = torch.rand(2, 1, 32, 32)
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(), raising=False)
    packing.works.cache_clear()
    try:
        assert not packing.works()
        with torch.no_grad():
            assert torch.allclose(Inference(network)(images), network(images), atol=1e-5)
    finally:
        packing.works.cache_clear()


def test_half_precision_is_taken_where_it_changes_no_gray_level(network, bfloat16):
    model, images = anonymizer(network, mu=0.01), torch.rand(4, 1, 32, 32)
    fast = model.accelerated()
    assert (fast.inference.half, model.inference.half) == (True, False)
    levels = [(released * 255).round() for released in (model(images), fast(images))]
    assert (levels[0] - levels[1]).abs().max() <= 1


def test_it_is_not_taken_where_it_does_or_where_it_is_slow(network, bfloat16, monkeypatch):
    strong = anonymizer(network, mu=1.0)
    assert strong.accelerated() is strong
    monkeypatch.setattr(trained, "computes_bfloat16", lambda device: False)
    model = anonymizer(network, mu=0.01)
    assert model.accelerated() is model


def test_a_processor_nobody_knows_computes_in_float32(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert not computes_bfloat16(CPU)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    assert computes_bfloat16(CPU)
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not computes_bfloat16(CPU)
    assert not computes_bfloat16(torch.device("mps"))


@pytest.mark.parametrize("size", [16, 64, 250])
def test_the_drawn_image_is_one_and_always_the_same(size):
    image = drawn(size)
    assert image.shape == (1, 1, size, size)
    assert 0 <= image.min() < image.max() <= 1
    assert torch.equal(image, drawn(size))
