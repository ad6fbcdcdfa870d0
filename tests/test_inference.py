"""Prediction without training: the same figures, faster, and never at the price of a gray level."""

import copy
from dataclasses import replace

import pytest
import torch

from anonymize import trained
from anonymize.generator_options import FlowOptions
from anonymize.inference import Inference, computes_bfloat16, computes_int8, drawn, faster
from anonymize.networks.build import build_generator
from anonymize.networks.int8 import Int8UNet, OutOfRangeError
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet

CPU = torch.device("cpu")
OPTIONS = {"features": 4, "levels": 2}
SIZE = 32
needs_bytes = pytest.mark.skipif(not computes_int8(CPU), reason="no units for products of bytes")
NUMBERS = ["float32", "bfloat16", pytest.param("int8", marks=needs_bytes)]


@pytest.fixture
def network():
    """A generator whose batch statistics are of images."""
    torch.manual_seed(0)
    made = build_generator(FlowOptions(**OPTIONS)).train()
    with torch.no_grad():
        for _ in range(30):
            made(torch.rand(8, 1, SIZE, SIZE))
    return made.eval()


@pytest.fixture
def fast(monkeypatch):
    """What this processor is said to compute faster in than in float32."""
    return lambda *numbers: monkeypatch.setattr(trained, "faster", lambda *_: list(numbers))


def anonymizer(network, mu):
    generator = FlowGenerator(FlowOptions(**OPTIONS, mu=mu))
    generator.unet.load_state_dict(network.state_dict())
    return PriCheXyNet(generator, size=SIZE)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_an_image_becomes_the_same_alone_and_beside_others(network, numbers):
    inference, images = Inference(network, numbers, size=SIZE), torch.rand(5, 1, SIZE, SIZE)
    images[2] *= 100  # larger than any that bytes are for
    together = inference(images)
    assert together.dtype == torch.float32
    assert torch.equal(together, torch.cat([inference(images[i : i + 1]) for i in range(5)]))


def test_in_full_precision_it_is_the_network(network):
    images = torch.rand(3, 1, SIZE, SIZE)
    with torch.no_grad():
        assert torch.allclose(Inference(network)(images), network(images), atol=1e-5)


def test_what_decides_is_not_rounded(network):
    """Beside the whole network in bfloat16, which is a second derivation of why."""
    images = torch.rand(16, 1, SIZE, SIZE)
    coarse = copy.deepcopy(network).bfloat16()
    with torch.no_grad():
        wanted = network(images)
        rounded = coarse(images.bfloat16()).float()
    found = Inference(network, "bfloat16")(images)
    error, plain = ((out - wanted).square().mean().sqrt() for out in (found, rounded))
    assert 0 < error < plain
    assert not torch.equal(found, found.bfloat16().float())
    weights = network.state_dict()  # the network itself stays as it was
    assert all(w.dtype == torch.float32 for w in weights.values() if w.is_floating_point())


@needs_bytes
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_in_bytes_it_is_the_network_but_for_their_steps(levels):
    """A wrong place, channel or zero of any layer is an error as large as the field itself."""
    torch.manual_seed(1)
    network = build_generator(FlowOptions(features=4, levels=levels)).train()
    with torch.no_grad():
        for _ in range(30):
            network(torch.rand(8, 1, SIZE, SIZE))
        images = torch.rand(4, 1, SIZE, SIZE)
        wanted = network.eval()(images)
    error = Inference(network, "int8", size=SIZE)(images) - wanted
    assert 0 < error.std() < 0.06 * wanted.std()


@needs_bytes
def test_an_image_beyond_the_range_of_bytes_is_computed_in_float32(network):
    inference, images = Inference(network, "int8", size=SIZE), torch.rand(2, 1, SIZE, SIZE)
    images[1] *= 100
    found, exact = inference(images), Inference(network)(images)
    assert torch.equal(found[1], exact[1])
    assert not torch.equal(found[0], exact[0])


@needs_bytes
@torch.no_grad()
@pytest.mark.parametrize("layer", ["encoder1_2", "bottleneck_1", "upconv2", "decoder1_1"])
def test_the_range_of_every_layer_is_watched(network, layer):
    """Its outputs are made larger than its code; the network has seen no such image."""
    bytes_, images = Int8UNet(network, torch.rand(2, 1, SIZE, SIZE)), torch.rand(1, 1, SIZE, SIZE)
    bytes_(images)
    conv = bytes_.get_submodule(layer)
    conv.code = replace(conv.code, step=conv.code.step / 20)
    with pytest.raises(OutOfRangeError):
        bytes_(images)


@pytest.mark.parametrize("numbers", NUMBERS[1:])
def test_fewer_bits_are_taken_where_they_change_no_gray_level(network, fast, numbers):
    fast(numbers)
    model, images = anonymizer(network, mu=0.01), torch.rand(4, 1, SIZE, SIZE)
    quick = model.accelerated()
    assert (quick.inference.numbers, model.inference.numbers) == (numbers, "float32")
    levels = [(released * 255).round() for released in (model(images), quick(images))]
    assert (levels[0] - levels[1]).abs().max() <= 1


@needs_bytes
def test_the_fastest_that_keeps_gray_levels_is_taken(network, fast, monkeypatch):
    model = anonymizer(network, mu=0.01)
    fast("int8", "bfloat16")
    assert model.accelerated().inference.numbers == "int8"
    of_bytes = Int8UNet.forward
    monkeypatch.setattr(Int8UNet, "forward", lambda self, images: -of_bytes(self, images))
    assert model.accelerated().inference.numbers == "bfloat16"


def test_none_is_taken_where_gray_levels_change_or_where_none_is_fast(network, fast):
    strong = anonymizer(network, mu=1.0)
    fast("bfloat16")
    assert strong.accelerated() is strong
    fast()
    model = anonymizer(network, mu=0.01)
    assert model.accelerated() is model


@pytest.mark.parametrize(
    ("units", "found"),
    [
        ({"avx2": True}, []),
        ({"amx_bf16": True}, ["bfloat16"]),
        ({"avx512_vnni": True, "avx512_bf16": False}, ["int8"]),
        ({"avx512_vnni": True, "avx512_bf16": True}, ["int8", "bfloat16"]),
    ],
)
def test_what_a_processor_is_fast_in(monkeypatch, network, units, found):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: units)
    assert faster(network, CPU) == found
    assert faster(torch.nn.Conv2d(1, 1, 1), CPU) == [n for n in found if n != "int8"]
    assert faster(network, torch.device("mps")) == []


def test_a_processor_nobody_knows_computes_in_float32(monkeypatch, network):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not computes_bfloat16(CPU)
    assert faster(network, CPU) == []


@pytest.mark.parametrize("size", [16, 64, 250])
def test_the_drawn_image_is_one_and_always_the_same(size):
    image = drawn(size)
    assert image.shape == (1, 1, size, size)
    assert 0 <= image.min() < image.max() <= 1
    assert torch.equal(image, drawn(size))
