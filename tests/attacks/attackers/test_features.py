"""Features of published networks. Nothing is downloaded: files are written here, and networks
without weights are asked for by that name."""

import sys
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from anonymize.errors import DataError, ModelError, UsageError
from anonymize.networks.backbones import IMAGENET_MEAN, IMAGENET_STD, torchvision_models
from anonymize.section import validated
from attacks.attackers.features import CENTRE, FeaturesOptions, NetworkFeatures
from attacks.networks.pretrained import pretrained

SMALL = {"network": "shufflenet_v2_x0_5", "weights": "random", "size": 32}


def torchvision_network(name):
    torch.manual_seed(3)
    return torchvision_models().get_model(name, weights=None).eval()


@pytest.fixture(scope="module")
def images():
    return torch.rand(12, 1, 40, 40, generator=torch.Generator().manual_seed(0))


def own(images):
    """What torchvision expects of a gray image."""
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (IMAGENET_MEAN, IMAGENET_STD))
    return (images.expand(-1, 3, -1, -1) - mean) / std


WIDTHS = {"resnet18": 512, "squeezenet1_1": 512, "mobilenet_v3_small": 1024, "densenet121": 1024}


@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_the_last_layer_is_what_is_missing(name, width):
    features = pretrained(name, weights="random")(torch.rand(2, 1, 64, 64))
    assert features.shape == (2, width)
    assert not features.requires_grad


def old_names(weights):
    """As torchvision's old files have them."""
    return {
        key.replace("norm1", "norm.1").replace("conv2", "conv.2"): value
        for key, value in weights.items()
        if "num_batches_tracked" not in key
    }


@pytest.mark.parametrize(
    ("name", "head", "file", "named"),
    [
        ("shufflenet_v2_x0_5", "fc", "weights.pth", dict),
        ("shufflenet_v2_x0_5", "fc", "weights.safetensors", dict),
        ("densenet121", "classifier", "densenet121-a639ec97.pth", old_names),
        ("timm:resnet10t", "fc", "weights.safetensors", dict),
    ],
)
def test_weights_of_a_file_give_what_the_whole_network_computes(
    tmp_path, images, name, head, file, named
):
    """The last layer of the published network, put on top again, gives the network's own output."""
    if name.startswith("timm:"):
        timm = pytest.importorskip("timm")
        torch.manual_seed(3)
        network = timm.create_model(name.removeprefix("timm:")).eval()
    else:
        network = torchvision_network(name)
    save = torch.save if file.endswith(".pth") else save_file
    save(named(network.state_dict()), tmp_path / file)
    features = pretrained(name, file=tmp_path / file)(images)
    with torch.no_grad():
        whole = network(own(images))
        torch.testing.assert_close(network.get_submodule(head)(features), whole)


def test_random_weights_are_the_same_each_time_and_leave_the_random_numbers_alone(images):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = pretrained("shufflenet_v2_x0_5", weights="random")(images)
    assert torch.rand(1) == expected
    torch.testing.assert_close(pretrained("shufflenet_v2_x0_5", weights="random")(images), first)


@pytest.mark.parametrize(
    ("name", "weights", "asked"),
    [
        ("resnet50", "DEFAULT", ("resnet50", "DEFAULT")),
        ("timm:resnet10t", "DEFAULT", ("resnet10t", True)),
        ("timm:resnet10t", "c3_in1k", ("resnet10t.c3_in1k", True)),
    ],
)
def test_published_weights_are_asked_for_unless_it_is_said_otherwise(
    monkeypatch, name, weights, asked
):
    fetch = Mock(side_effect=OSError("no network"))
    monkeypatch.setattr(torchvision_models(), "get_model", fetch)
    if name.startswith("timm:"):
        monkeypatch.setattr(pytest.importorskip("timm"), "create_model", fetch)
    with pytest.raises(UsageError, match=f"weights {weights} of {name} could not be fetched"):
        NetworkFeatures(FeaturesOptions(network=name, weights=weights))
    (called,) = fetch.call_args_list
    assert (*called.args, *called.kwargs.values()) == asked


def test_timm_missing_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(UsageError, match=r"pip install 'anonymize-cxr\[timm\]'"):
        pretrained("timm:resnet10t", weights="random")


@pytest.mark.parametrize(
    ("name", "weights", "message"),
    [
        ("resnet19", "DEFAULT", "torchvision has no network 'resnet19'; did you mean resnet"),
        ("raft_large", "DEFAULT", "no network 'raft_large'"),
        ("resnet18", "V7", "resnet18 has the weights IMAGENET1K_V1; got 'V7'"),
        ("timm:resnet10", "random", "timm has no network 'resnet10'; did you mean"),
        ("timm:resnet10t", "c9", "timm:resnet10t has the weights c3_in1k; got 'c9'"),
    ],
)
def test_unknown_names(name, weights, message):
    if name.startswith("timm:"):
        pytest.importorskip("timm")
    with pytest.raises(UsageError, match=message):
        pretrained(name, weights=weights)


def test_files_that_do_not_fit(tmp_path):
    file = tmp_path / "shufflenet_v2_x0_5.pth"
    torch.save(torchvision_network("shufflenet_v2_x0_5").state_dict(), file)
    with pytest.raises(ModelError, match=r"do not fit: .* has shape"):
        pretrained("shufflenet_v2_x1_0", file=file)
    with pytest.raises(ModelError, match="is unknown to the network but in the file"):
        pretrained("mnasnet0_5", file=file)
    with pytest.raises(ModelError, match="cannot be read"):
        pretrained("mnasnet0_5", file=tmp_path / "absent.pth")
    with pytest.raises(UsageError, match="a file or by name, not both"):
        validated(FeaturesOptions, {"file": file, "weights": "IMAGENET1K_V1"})


@pytest.mark.parametrize("crop", ["whole", "central", "shifted"])
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_an_image_is_most_like_itself(images, crop, distance):
    attacker = NetworkFeatures(FeaturesOptions(**SMALL, crop=crop, distance=distance))
    scores = attacker.score(images.clone(), images)
    assert scores.shape == (12, 12)
    assert scores.dtype == np.float32
    assert (scores.argmax(1) == np.arange(12)).all()


def test_the_whole_image_at_the_size_asked_for(images, monkeypatch):
    attacker, seen = NetworkFeatures(FeaturesOptions(**SMALL)), []
    monkeypatch.setattr(attacker, "network", lambda crops: seen.append(crops) or crops.flatten(1))
    (found,) = attacker.features(images, (CENTRE,))
    assert seen[0].shape == (12, 1, 32, 32)
    assert found.shape == (12, 32 * 32)


def test_crops_are_where_they_should_be(monkeypatch):
    """An image whose gray level is its row and column; crops of half its side, not resized."""
    attacker = NetworkFeatures(FeaturesOptions(**SMALL, crop="shifted", fraction=0.5))
    monkeypatch.setattr(attacker, "network", lambda crops: crops.flatten(1))
    image = torch.arange(64.0).view(1, 1, 64, 1) / 64 + torch.arange(64.0) / 4096
    found = attacker.features(image, ((0.0, 0.0), CENTRE, (1.0, 0.0)))
    for where, (top, left) in zip(found, ((0, 0), (16, 16), (32, 0)), strict=True):
        expected = image[0, 0, top : top + 32, left : left + 32].flatten()
        np.testing.assert_allclose(where[0], expected, atol=1e-6)


def test_shifted_crops_find_a_shifted_image():
    """Each probe shows what its gallery image has at its upper left: only a shift finds it."""
    scene = torch.rand(12, 1, 60, 60, generator=torch.Generator().manual_seed(2))
    options = {**SMALL, "fraction": 0.8, "distance": "euclidean"}
    gallery, probes = scene[..., 6:54, 6:54], scene[..., 1:49, 1:49]
    found = {
        crop: NetworkFeatures(FeaturesOptions(**options, crop=crop)).score(probes, gallery)
        for crop in ("central", "shifted")
    }
    right = {crop: (s.argmax(1) == np.arange(12)).mean() for crop, s in found.items()}
    assert right["shifted"] == 1 > right["central"]


def test_batches_change_nothing(images):
    whole = NetworkFeatures(FeaturesOptions(**SMALL, crop="shifted")).score(images, images)
    small = NetworkFeatures(FeaturesOptions(**SMALL, crop="shifted", batch=5))
    np.testing.assert_allclose(small.score(images, images), whole, atol=1e-4)


def test_images_that_the_network_refuses():
    pytest.importorskip("timm")
    attacker = NetworkFeatures(
        FeaturesOptions(network="timm:vit_tiny_patch16_224", weights="random", size=64)
    )
    with pytest.raises(UsageError, match=r"no images of 64 × 64 pixels; set evaluation.features"):
        attacker.score(torch.rand(2, 1, 40, 40), torch.rand(2, 1, 40, 40))


def test_damaged_weights_are_an_error(images):
    attacker = NetworkFeatures(FeaturesOptions(**SMALL))
    with torch.no_grad():
        next(attacker.network.parameters()).fill_(float("nan"))
    with pytest.raises(DataError, match="12 of 12 probe images are not finite"):
        attacker.score(images, images)
