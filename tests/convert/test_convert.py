"""`anonymize model convert`: published weights give here what they gave there."""

import copy
import hashlib
import json
import re

import numpy as np
import pytest
import torch
from asked import ask
from PIL import Image
from safetensors.torch import load_file

import anonymize
from anonymize.cli import main
from anonymize.commands.model import _labels
from anonymize.convert.architectures import Settings, architecture_of
from anonymize.data.labels import CHESTXRAY14
from anonymize.errors import UsageError
from anonymize.model_card import read_card
from anonymize.networks.backbones import torchvision_models
from anonymize.networks.build import build_generator, build_verifier
from anonymize.options import FlowOptions, VerifierOptions
from anonymize.training.parts import load_classifier, load_verifier


def convert(*arguments, code=0):
    return ask(main, "model", "convert", *arguments, code=code).output


def vectors(parity, name):
    """Weights, input and output of the published program."""
    tensors = load_file(parity / f"{name}.safetensors")
    state = {k.removeprefix("state."): v for k, v in tensors.items() if k.startswith("state.")}
    return state, tensors["input"], tensors["output"]


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    """A small generator's weights as the published program saves them."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("published") / "generator.pth"
    torch.save(build_generator(FlowOptions(features=2)).state_dict(), path)
    return path


@pytest.fixture(scope="module")
def densenet():
    """torchvision's DenseNet-121 with 14 outputs; statistics are not those of its beginning."""
    torch.manual_seed(0)
    network = torchvision_models().densenet121(num_classes=14)
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if name.endswith("running_mean"):
                value.normal_(0, 0.01)
    return network.eval()


# The published weights


def test_the_published_generator_computes_what_it_did(parity, tmp_path):
    source = parity / "generator_unet_features4_state_dict.pth"
    out = tmp_path / "converted.safetensors"
    output = convert(source, out, "--mu", 0.01, "--size", 64)
    assert f"anonymize apply IN OUT --model {out}" in output
    assert "the published program folds a frame of 4 px inwards" in output
    _, images, expected = vectors(parity, "generator_unet_features4")
    model = anonymize.load(out)
    assert torch.allclose(model.generator.core(images), expected, atol=1e-6)
    card = read_card(out)
    assert (card.kind, card.method, card.size) == ("anonymizer", "prichexy-net", 64)
    assert card.options["mu"] == 0.01
    assert (card.architecture["features"], card.architecture["levels"]) == (4, 4)
    assert card.architecture["border"] == "replicate"
    assert card.provenance["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert card.provenance["source"] == "converted"


def test_the_published_privacy_net_computes_what_it_did(parity, tmp_path):
    state, images, expected = vectors(parity, "privacy_net_unet_features4")
    torch.save(state, tmp_path / "encoder.pth")
    convert(tmp_path / "encoder.pth", tmp_path / "converted.safetensors", "--size", 64)
    model = anonymize.load(tmp_path / "converted.safetensors")
    assert model.name == "privacy-net"
    assert torch.allclose(model(images), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("generator_unet_state_dict_shapes", ("--mu", 0.005)), ("privacy_net_state_dict_shapes", ())],
)
def test_a_file_of_published_names_and_shapes_is_known(parity, tmp_path, name, arguments):
    shapes = json.loads((parity / f"{name}.json").read_text())
    counter = {True: torch.int64, False: torch.float16}
    state = {k: torch.full(v, 1, dtype=counter[v == []]) for k, v in shapes.items()}
    torch.save(state, tmp_path / "weights.pth")
    convert(tmp_path / "weights.pth", tmp_path / "converted.safetensors", *arguments)
    found = load_file(tmp_path / "converted.safetensors")
    assert {k: list(v.shape) for k, v in found.items()} == shapes
    assert {v.dtype for v in found.values()} == {torch.float32, torch.int64}
    assert all((v == 1).all() for v in found.values())


def test_radiographs_are_released_with_a_converted_generator(generator, tmp_path):
    convert(generator, tmp_path / "model.safetensors", "--mu", 0.1, "--size", 64)
    (tmp_path / "in").mkdir()
    pixels = (255 * np.random.default_rng(0).random((8, 6))).astype(np.uint8)
    image = Image.fromarray(pixels).resize((96, 80), Image.Resampling.BICUBIC)
    image.save(tmp_path / "in" / "a.png")
    model = ("--model", tmp_path / "model.safetensors")
    ask(main, "apply", tmp_path / "in", tmp_path / "out", *model, "--device=cpu", "--workers=1")
    released = Image.open(tmp_path / "out" / "a.png")
    assert released.size == image.size
    assert np.any(np.asarray(released) != np.asarray(image))


def test_a_verifier_computes_what_it_did(tmp_path):
    torch.manual_seed(0)
    network = build_verifier(VerifierOptions(features=128)).eval()
    state = {f"module.{k}": v for k, v in network.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": state}, tmp_path / "snn.pth")
    output = convert(tmp_path / "snn.pth", tmp_path / "verifier.safetensors")
    assert "anonymize train --verifier" in output
    first, second = torch.rand(2, 2, 1, 64, 64)
    loaded = load_verifier(tmp_path / "verifier.safetensors")
    with torch.no_grad():
        assert torch.equal(loaded(first, second), network(first, second))


STYLES = {
    "torchvision": lambda name: name,
    "of 2017": lambda name: re.sub(
        r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", f"module.densenet121.{name}"
    ).replace("classifier.", "classifier.0."),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_classifier_computes_what_it_did_whatever_its_names(densenet, tmp_path, style):
    state = {STYLES[style](k): v for k, v in densenet.state_dict().items()}
    if style == "of 2017":
        state = {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")}
        state = {"state_dict": state, "best_loss": 0.1, "optimizer": {"state": {}}}
    torch.save(state, tmp_path / "chexnet.pth")
    convert(tmp_path / "chexnet.pth", tmp_path / "classifier.safetensors")
    assert read_card(tmp_path / "classifier.safetensors").labels == list(CHESTXRAY14)
    loaded = load_classifier(tmp_path / "classifier.safetensors")
    images = torch.rand(1, 1, 224, 224)
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    colours = (images.expand(-1, 3, -1, -1) - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)
    with torch.no_grad():
        assert torch.allclose(loaded(images), densenet(colours), atol=1e-5)
        assert loaded(torch.rand(1, 1, 64, 64)).shape == (1, 14)


def test_the_labels_of_another_classifier_are_given(densenet, tmp_path):
    network = copy.deepcopy(densenet)
    network.classifier = torch.nn.Linear(1024, 2)
    torch.save(network.state_dict(), tmp_path / "two.pth")
    (tmp_path / "labels.txt").write_text("Pneumonia\n\nEdema \n")
    two = tmp_path / "two.pth"
    out = tmp_path / "none.safetensors"
    assert "--labels is missing: the names of the 2 outputs" in convert(two, out, code=2)
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    for labels in (["Edema"], ["Edema", "Edema"], ["a", "b", "c"]):
        with pytest.raises(UsageError, match="2 different names"):
            architecture_of("classifier", shapes, Settings(labels=labels))
    convert(two, out, "--labels", tmp_path / "labels.txt")
    assert read_card(out).labels == ["Pneumonia", "Edema"]
    assert _labels("Pneumonia, Edema") == ["Pneumonia", "Edema"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_numbers_of_another_precision_become_float32(generator, tmp_path, dtype):
    state = torch.load(generator, weights_only=True)
    other = {k: v.to(dtype) if v.is_floating_point() else v for k, v in state.items()}
    torch.save(other, tmp_path / "other.pth")
    convert(tmp_path / "other.pth", tmp_path / "model.safetensors", "--mu", 0.01)
    found = load_file(tmp_path / "model.safetensors")
    assert all(torch.equal(found[k], v.to(found[k].dtype)) for k, v in other.items())
    assert {v.dtype for v in found.values()} == {torch.float32, torch.int64}


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--mu is missing: the file of a generator does not say"),
        (("--mu", -0.1), "option mu: it must be greater than or equal to 0; got -0.1"),
        (("--mu", 1.5), "option mu: it must be less than or equal to 1; got 1.5"),
        (("--mu", "nan"), "option mu: it must be a finite number; got"),
        (("--mu", 0.01, "--size", 100), "--size must be a multiple of 16, got 100"),
        (("--mu", 0.01, "--size", 8), "--size must lie between 16 and 4096 pixels, got 8"),
        (("--mu", 0.01, "--labels", "a,b"), "--labels is for a classifier, and the file holds"),
        (("--kind", "verifier"), "it holds no verifier: there is no model.conv1.weight in it"),
    ],
)
def test_wrong_options_are_one_line(generator, tmp_path, arguments, message):
    output = convert(generator, tmp_path / "out.safetensors", *arguments, code=2)
    assert message in output
    assert len(output.splitlines()) == 1
    assert not list(tmp_path.iterdir())


CHANGES = {
    "a missing tensor": (lambda s: s.pop("conv.bias"), "conv.bias is missing in the file"),
    "one too many": (
        lambda s: s.update(extra=torch.ones(1)),
        "extra is unknown to the network but in the file",
    ),
    "another shape": (
        lambda s: s.update({"conv.weight": torch.ones(3, 2, 1, 1)}),
        r"conv.weight has shape \(3, 2, 1, 1\), expected \(2, 2, 1, 1\)",
    ),
    "no convolution": (
        lambda s: s.update({"encoder1.enc1conv1.weight": torch.ones(2)}),
        r"encoder1.enc1conv1.weight has shape \(2,\), which no convolution here has",
    ),
    "weights that are no number": (
        lambda s: s["conv.weight"].fill_(float("nan")),
        "hold NaN or infinity in conv.weight",
    ),
    "weights beyond float32": (
        lambda s: s.update({"conv.weight": torch.full((2, 2, 1, 1), 1e300, dtype=torch.double)}),
        "hold NaN or infinity in conv.weight",
    ),
    "whole numbers": (
        lambda s: s.update({"conv.bias": torch.ones(2, dtype=torch.int64)}),
        "conv.bias is of type torch.int64",
    ),
    "another network": (
        lambda s: s.update({k.replace("encoder", "stage"): s.pop(k) for k in list(s)}),
        "are those of no network known here; say which it is with --kind",
    ),
    "two networks": (
        lambda s: s.update({"down_1.0.0.weight": torch.ones(2, 1, 3, 3)}),
        "are those of generator and privacy-net",
    ),
    "a wrapper around half of it": (
        lambda s: s.update({f"module.{k}": s.pop(k) for k in list(s)[:9]}),
        "is no part of the generator",
    ),
    "levels without end": (
        lambda s: s.update({f"encoder{i}.x": torch.ones(1) for i in range(99)}),
        "option levels: it must be less than or equal to 6",
    ),
    "a terminal's command": (
        lambda s: s.update({"\x1b[2J\n": torch.ones(1)}),
        r"\\x1b\[2J\\n is unknown",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_networks_weights_are_refused_in_one_line(generator, tmp_path, change):
    state = dict(torch.load(generator, weights_only=True))
    alter, message = CHANGES[change]
    alter(state)
    torch.save(state, tmp_path / "other.pth")
    out = tmp_path / "out.safetensors"
    output = convert(tmp_path / "other.pth", out, "--mu", 0.01, code=2)
    assert re.search(message, output), output
    assert len(output.splitlines()) == 1
    assert not out.exists()


def test_nothing_is_written_over_and_nothing_else_is_a_source(generator, tmp_path):
    out = tmp_path / "out.safetensors"
    out.write_bytes(b"mine")
    assert "is there already" in convert(generator, out, "--mu", 0.01, code=2)
    assert out.read_bytes() == b"mine"
    out = tmp_path / "other.safetensors"
    assert "cannot be read (FileNotFoundError)" in convert(tmp_path / "no.pth", out, code=2)
    (tmp_path / "text.pth").write_text("weights")
    assert "is no file of torch.save" in convert(tmp_path / "text.pth", out, code=2)
    assert "--labels: the file is no UTF-8 text" in convert(
        generator, out, "--labels", generator, code=2
    )


def test_the_card_is_printed_as_json(generator, tmp_path):
    out = tmp_path / "out.safetensors"
    card = json.loads(convert(generator, out, "--mu", 0.01, "--border", "reference", "--json"))
    assert card["file"] == str(out)
    assert card["architecture"]["border"] == "reference"
    assert "source=converted" in ask(main, "model", "show", out).output
