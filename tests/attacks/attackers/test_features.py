"""Features of published networks. Nothing is downloaded: files are written here, and networks
without weights are asked for by that name."""

import builtins

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from anonymize.errors import DataError, ModelError, UsageError
from anonymize.networks.backbones import IMAGENET_MEAN, IMAGENET_STD, torchvision_models
from anonymize.section import validated
from attacks.attackers.features import CENTRE, FeaturesOptions, NetworkFeatures
from attacks.networks import pretrained as module
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


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("resnet18", 512),
        ("squeezenet1_1", 512),
        ("mobilenet_v3_small", 1024),
        ("densenet121", 1024),
    ],
)
def test_the_last_layer_is_what_is_missing(name, width):
    features = pretrained(name, weights="random")(torch.rand(2, 1, 64, 64))
    assert features.shape == (2, width)
    assert not features.requires_grad


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_weights_of_a_file_give_what_the_whole_network_computes(tmp_path, images, suffix):
    """The last layer of the published network, put on top again, gives the network's own output."""
    name = "shufflenet_v2_x0_5"
    network, file = torchvision_network(name), tmp_path / f"{name}{suffix}"
    save = torch.save if suffix == ".pth" else save_file
    save(network.state_dict(), file)
    features = pretrained(name, file=file)(images)
    with torch.no_grad():
        torch.testing.assert_close(network.fc(features), network(own(images)))


def test_weights_with_the_names_of_torchvisions_old_files(tmp_path, images):
    network, file = torchvision_network("densenet121"), tmp_path / "densenet121-a639ec97.pth"
    old = {
        key.replace("norm1", "norm.1").replace("conv2", "conv.2"): value
        for key, value in network.state_dict().items()
        if "num_batches_tracked" not in key
    }
    torch.save(old, file)
    features = pretrained("densenet121", file=file)(images)
    with torch.no_grad():
        torch.testing.assert_close(network.classifier(features), network(own(images)))


def test_timm_gives_what_its_network_computes(tmp_path, images):
    timm = pytest.importorskip("timm")
    torch.manual_seed(3)
    network, file = timm.create_model("resnet10t").eval(), tmp_path / "resnet10t.safetensors"
    save_file(network.state_dict(), file)
    features = pretrained("timm:resnet10t", file=file)(images)
    assert features.shape == (12, 512)
    with torch.no_grad():
        torch.testing.assert_close(network.fc(features), network(own(images)))


def test_random_weights_are_the_same_each_time_and_leave_the_random_numbers_alone(images):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = pretrained("shufflenet_v2_x0_5", weights="random")(images)
    assert torch.rand(1) == expected
    torch.testing.assert_close(pretrained("shufflenet_v2_x0_5", weights="random")(images), first)


def test_published_weights_are_asked_for_unless_it_is_said_otherwise(monkeypatch):
    asked = []

    def fetch(name, weights):
        asked.append((name, weights))
        raise OSError("no network")

    monkeypatch.setattr(torchvision_models(), "get_model", fetch)
    with pytest.raises(UsageError, match=r"weights DEFAULT of resnet50 could not be fetched"):
        NetworkFeatures(FeaturesOptions())
    assert asked == [("resnet50", "DEFAULT")]


def test_published_weights_of_timm_are_asked_for_by_tag(monkeypatch):
    timm = pytest.importorskip("timm")
    asked = []

    def fetch(name, *, pretrained):
        asked.append((name, pretrained))
        raise OSError("no network")

    monkeypatch.setattr(timm, "create_model", fetch)
    for weights, name in (("DEFAULT", "resnet10t"), ("c3_in1k", "resnet10t.c3_in1k")):
        with pytest.raises(UsageError, match="could not be fetched"):
            pretrained("timm:resnet10t", weights=weights)
        assert asked.pop() == (name, True)


def test_timm_missing_is_an_error_that_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "timm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'anonymize-cxr\[timm\]'"):
        pretrained("timm:resnet10t", weights="random")


def test_unknown_names(tmp_path):
    with pytest.raises(UsageError, match="no network 'resnet19'; did you mean resnet"):
        pretrained("resnet19")
    with pytest.raises(UsageError, match=r"resnet18 has the weights IMAGENET1K_V1; got 'V7'"):
        pretrained("resnet18", weights="V7")


def test_unknown_names_of_timm():
    pytest.importorskip("timm")
    with pytest.raises(UsageError, match="timm has no network 'resnet10'; did you mean"):
        pretrained("timm:resnet10", weights="random")
    with pytest.raises(UsageError, match="timm:resnet10t has the weights c3_in1k; got 'c9'"):
        pretrained("timm:resnet10t", weights="c9")


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
    attacker = NetworkFeatures(
        FeaturesOptions(**SMALL | {"size": 32}, crop="shifted", fraction=0.5)
    )
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


def test_bytes_and_fractions_score_alike(images):
    whole, attacker = (
        (images * 255).round().to(torch.uint8),
        NetworkFeatures(FeaturesOptions(**SMALL)),
    )
    np.testing.assert_allclose(
        attacker.score(whole.float() / 255, whole), attacker.score(whole, whole), atol=1e-5
    )


def test_images_that_the_network_refuses():
    pytest.importorskip("timm")
    attacker = NetworkFeatures(
        FeaturesOptions(network="timm:vit_tiny_patch16_224", weights="random", size=64)
    )
    with pytest.raises(UsageError, match=r"no images of 64 × 64 pixels; set evaluation.features"):
        attacker.score(torch.rand(2, 1, 40, 40), torch.rand(2, 1, 40, 40))


def test_damaged_weights_and_empty_sets_are_errors(images):
    attacker = NetworkFeatures(FeaturesOptions(**SMALL))
    with pytest.raises(DataError, match="no probe image"):
        attacker.score(images[:0], images)
    with torch.no_grad():
        next(attacker.network.parameters()).fill_(float("nan"))
    with pytest.raises(DataError, match="12 of 12 probe images are not finite"):
        attacker.score(images, images)


def test_any_network_of_torchvision_can_be_named():
    models = torchvision_models()
    assert len(models.list_models(module=models)) >= 80
    with pytest.raises(UsageError, match="no network 'raft_large'"):
        module.pretrained("raft_large")
