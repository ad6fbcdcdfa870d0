"""Shapes, published numbers, and what each network must not do (the generators': convert/)."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from anonymize.errors import UsageError
from anonymize.networks import backbones
from anonymize.networks.build import build_classifier, build_generator, build_verifier
from anonymize.networks.compact import Residual
from anonymize.networks.siamese import Siamese
from anonymize.options import ClassifierOptions, FlowOptions, VerifierOptions

COMPACT = {"architecture": "compact", "width": 8}


def test_keys_and_shapes_of_the_verifier_are_the_published_ones(parity):
    published = json.loads((parity / "siamese_state_dict_shapes.json").read_text())
    network = build_verifier(VerifierOptions())
    assert {k: list(v.shape) for k, v in network.state_dict().items()} == published


def test_generator_has_the_papers_number_of_parameters():
    weights = build_generator(FlowOptions()).parameters()
    assert sum(p.numel() for p in weights) == pytest.approx(7.76e6, rel=1e-3)


def test_siamese_head_on_published_numbers(parity):
    data = load_file(parity / "siamese_head.safetensors")
    network = Siamese(nn.Identity(), nn.Identity(), features=128)
    network.fc_end.weight.data, network.fc_end.bias.data = data["fc_weight"], data["fc_bias"]
    logit = network(data["z1"], data["z2"])
    assert torch.allclose(logit, data["logit"].flatten(), atol=1e-6)
    assert torch.allclose(torch.sigmoid(logit), data["score"].flatten(), atol=1e-6)


def test_verifier_is_symmetric_and_equal_images_give_the_bias():
    network = build_verifier(VerifierOptions(**COMPACT)).eval()
    a, b = torch.rand(2, 4, 1, 32, 32)
    assert torch.allclose(network(a, b), network(b, a), atol=1e-6)
    assert torch.allclose(network(a, a), network.fc_end.bias.expand(4), atol=1e-6)


@pytest.mark.parametrize("name", backbones.NAMES)
def test_every_backbone_takes_gray_images(name):
    network = build_classifier(ClassifierOptions(architecture=name, size=32), 5).eval()
    assert network(torch.rand(2, 1, 64, 64)).shape == (2, 5)


def test_torchvision_backbones_see_imagenet_statistics():
    entry = backbones.input_of("resnet50")
    gray = torch.full((1, 1, 2, 2), 0.5)
    expected = [(0.5 - 0.485) / 0.229, (0.5 - 0.456) / 0.224, (0.5 - 0.406) / 0.225]
    assert entry(gray)[0, :, 0, 0].tolist() == pytest.approx(expected, rel=1e-5)


def test_compact_input_does_not_depend_on_exposure():
    entry = backbones.input_of("compact")
    image = torch.rand(2, 1, 16, 16)
    assert torch.allclose(entry(image), entry(0.5 * image + 0.2), atol=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "vgg99"}, "architecture must be one of compact, densenet121"),
        ({"name": "compact", "weights": "DEFAULT"}, "compact has no published weights"),
        ({"name": "resnet18", "weights": "NONE_SUCH"}, "resnet18 has the weights IMAGENET1K_V1"),
    ],
)
def test_wrong_backbone(arguments, message):
    with pytest.raises(UsageError, match=message):
        backbones.backbone(features=3, **arguments)


def test_unet_activation_bounds_the_field():
    out = build_generator(FlowOptions(features=4))(100 * torch.randn(2, 1, 32, 32))
    assert out.shape == (2, 2, 32, 32)
    assert out.abs().max() <= 1
    assert out.isfinite().all()


@pytest.mark.parametrize("side", [16, 15])
def test_a_shortcut_takes_every_second_pixel(side):
    """As a convolution of stride 2 does, which is not asked for: of fewer than 8 channels that
    stand last its gradient spoils the memory of the process on processors with AVX2."""
    block = Residual(4, 8, stride=2)
    convolution, norm = block.shortcut
    assert convolution.stride == (1, 1)
    x = torch.randn(3, 4, side, side)
    own = F.relu(block.norm1(block.conv1(x)))
    beside = norm(F.conv2d(x, convolution.weight, stride=2))
    expected = F.relu(block.norm2(block.conv2(own)) + beside)
    assert torch.allclose(block(x), expected, atol=1e-6)


def test_gradients_of_images_with_channels_last_are_so_too():
    """Else all layers before a block take several times as long."""
    block = Residual(4, 8, stride=2).to(memory_format=torch.channels_last)
    x = torch.randn(3, 4, 16, 16).to(memory_format=torch.channels_last).requires_grad_()
    (gradient,) = torch.autograd.grad(block(x).square().sum(), x)
    assert gradient.is_contiguous(memory_format=torch.channels_last)
