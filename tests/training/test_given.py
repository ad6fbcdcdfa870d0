"""Networks that are given instead of trained: files, runs, and torchxrayvision's classifiers."""

import sys
import warnings
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from tiny_run import COMPACT, TINY, configured, ended, game, same, states, train

from anonymize.configuration import load_options, write_options
from anonymize.data.labels import CHESTXRAY14
from anonymize.data.sources.registry import read
from anonymize.data.splits import assign, learning_patients
from anonymize.errors import UsageError
from anonymize.model_card import Card, read_card
from anonymize.model_file import load_tensors, save_model, save_tensors
from anonymize.networks.backbones import torchvision_models
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import ClassifierOptions, DataOptions, VerifierOptions
from anonymize.training import xray_vision
from anonymize.training.compute import Compute
from anonymize.training.folder import working
from anonymize.training.parts import find_part, load_classifier
from anonymize.training.steps import Steps
from anonymize.training.xray_vision import XRayVision

NIH = "densenet121-res224-nih"


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    short = {"adversarial": {"epochs": 1}, "reconstruction": {"epochs": 1}, "samples": 0}
    data = {**TINY["data"], "test_pairs": 20}
    return configured(tmp_path_factory.mktemp("config"), data=data, **short)


@pytest.fixture
def refused(config, tmp_path):
    """The last line of a run that is refused for what is given, and leaves no folder."""

    def said(*given):
        result = ended("--config", config, "--out", tmp_path / "run", *given, code=2)
        assert not (tmp_path / "run").exists()
        return result.stderr.splitlines()[-1]

    return said


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Untrained model files: a classifier, a verifier, a classifier of other labels."""
    folder, options = tmp_path_factory.mktemp("networks"), ClassifierOptions(**COMPACT)
    verifier = VerifierOptions(**COMPACT, features=8)
    made = {
        "classifier": (build_classifier(options, 14), options, list(CHESTXRAY14)),
        "other": (build_classifier(options, 3), options, ["normal", "bacterial", "viral"]),
        "verifier": (build_verifier(verifier), verifier, []),
    }
    for name, (network, own, labels) in made.items():
        kind = "verifier" if name == "verifier" else "classifier"
        card = Card(kind=kind, architecture=own.model_dump(), size=32, labels=labels)
        save_model(network, card, folder / f"{name}.safetensors")
    return folder


# torchxrayvision


@pytest.fixture(scope="module")
def library():
    torchvision_models()
    with warnings.catch_warnings():
        return pytest.importorskip("torchxrayvision")


@pytest.fixture(scope="module")
def weights(library, tmp_path_factory):
    """A file as torchxrayvision publishes them, a whole pickled module; and that module."""
    torch.manual_seed(0)
    network = library.models.DenseNet()
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if name.endswith(("running_mean", "classifier.bias")):
                value.normal_(0, 0.1)
    home = tmp_path_factory.mktemp("home")
    url = library.models.model_urls[NIH]["weights_url"]
    path = home / ".torchxrayvision" / "models_data" / url.rpartition("/")[2]
    path.parent.mkdir(parents=True)
    torch.save(network, path)
    return home, network.eval()


@pytest.fixture
def fetched(weights, monkeypatch):
    """torchxrayvision's module, whose weights lie in its cache."""
    home, network = weights
    monkeypatch.setenv("HOME", str(home))
    return network


def test_their_classifier_gives_its_raw_outputs_in_our_order(fetched, library):
    images = torch.rand(2, 1, 224, 224)
    ours = XRayVision(NIH).network(CHESTXRAY14)
    theirs = library.models.model_urls[NIH]["labels"]
    scaled = library.utils.normalize(images.numpy(), maxval=1)
    with torch.no_grad():
        expected = fetched(torch.from_numpy(scaled))
        found = ours(images)
    for column, label in enumerate(CHESTXRAY14):
        assert torch.allclose(found[:, column], expected[:, theirs.index(label)], atol=1e-5)
    assert ours(torch.rand(1, 1, 64, 64)).shape == (1, 14)


@pytest.mark.parametrize("auxiliary", ["frozen", "updated"])
def test_it_is_frozen_or_updated_like_any_other(fetched, monkeypatch, auxiliary):
    monkeypatch.setattr(xray_vision, "OPTIONS", xray_vision.OPTIONS.model_copy(update={"size": 32}))
    classifier = XRayVision(NIH).network(CHESTXRAY14[:3])
    before = states(classifier)
    game(classifier, auxiliary=auxiliary).train_epoch(1)
    assert same(classifier, before) == (auxiliary == "frozen")


def test_its_model_file_needs_the_library_no_more(fetched, tmp_path, monkeypatch):
    monkeypatch.setattr(xray_vision, "OPTIONS", xray_vision.OPTIONS.model_copy(update={"size": 32}))
    table, file = read(DataOptions(patients=10, images=20)), tmp_path / "classifier.safetensors"
    given = find_part(f"xrv:{NIH}", "classifier")
    given.check_labels(table)
    given.write(file, table)
    card = read_card(file)
    assert card.provenance == {"source": "torchxrayvision", "weights": NIH}
    assert card.labels == list(CHESTXRAY14)
    monkeypatch.setitem(sys.modules, "torchxrayvision", None)
    images = torch.rand(2, 1, 48, 48)
    with torch.no_grad():
        assert load_classifier(file)(images).isfinite().all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("densenet121-res224-rsna", "does not know Atelectasis, Cardiomegaly"),
        ("resnet50-res512-all", "must name one of densenet121-res224-all"),
        ("nonsense", "got 'nonsense'"),
    ],
)
def test_a_network_that_cannot_stand_in_is_refused(library, refused, monkeypatch, name, message):
    monkeypatch.setattr(library.models, "get_weights", lambda name: "there")
    assert message in refused("--classifier", f"xrv:{name}")


def test_weights_that_cannot_be_fetched_or_read_are_one_line(
    library, config, refused, tmp_path, monkeypatch
):
    given = ("--classifier", f"xrv:{NIH}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(library.utils, "download", Mock(side_effect=ConnectionError("no network")))
    fetched = f"the weights xrv:{NIH} could not be fetched (ConnectionError); go online"
    assert fetched in refused(*given)
    path = tmp_path / ".torchxrayvision" / "models_data" / "broken.pt"
    path.write_bytes(b"broken")
    monkeypatch.setattr(library.models, "get_weights", lambda *_: str(path))
    output = train("--config", config, "--out", tmp_path / "run", *given, code=2)
    assert f"cannot read its weights {NIH}" in output


def test_the_missing_library_is_named_with_its_extra(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchxrayvision", None)
    output = refused("--classifier", f"xrv:{NIH}")
    assert "needs torchxrayvision; install it with pip install 'anonymize-cxr[xrv]'" in output


# Files and runs


def test_wrong_networks_are_one_line_and_leave_no_run(networks, refused, tmp_path):
    classifier, verifier = networks / "classifier.safetensors", networks / "verifier.safetensors"
    assert "is a model of kind verifier, not classifier" in refused("--classifier", verifier)
    assert "is a model of kind classifier, not verifier" in refused("--verifier", classifier)
    assert "knows other labels (normal, bacterial, viral) than the source phantom" in refused(
        "--classifier", networks / "other.safetensors"
    )
    (tmp_path / "empty").mkdir()
    assert "holds no classifier.safetensors" in refused("--classifier", tmp_path / "empty")
    assert "cannot be read (FileNotFoundError)" in refused("--verifier", tmp_path / "none")
    assert f"xrv:{NIH} is a classifier, not a verifier" in refused("--verifier", f"xrv:{NIH}")


def learnt(file, config, seed, folder):
    """A copy of a network that says it learnt by the split of a seed of the data of ``config``."""
    table = assign(read(load_options(config).data), seed=seed)
    known = {"source": "phantom", "split_seed": seed, "learning_patients": learning_patients(table)}
    card = read_card(file).model_copy(update={"data": known})
    save_tensors(load_tensors(file)[0], {"card": card.model_dump_json()}, folder / file.name)
    return folder / file.name


@pytest.mark.parametrize("kind", ["classifier", "verifier"])
def test_a_network_that_learnt_from_the_test_part_is_refused(
    networks, config, refused, tmp_path, kind
):
    file = learnt(networks / f"{kind}.safetensors", config, 1, tmp_path)
    said = refused(f"--{kind}", file)
    assert f"--{kind} {file} learnt from " in said
    assert "whom it would be tested on" in said
    assert "add --set data.split_seed=1" in said


def test_a_run_has_the_networks_that_it_began_with(networks, config, tmp_path, monkeypatch):
    """Stopped while it trains a classifier, or finished."""
    run, verifier = tmp_path / "run", networks / "verifier.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(Steps, "classifier", Mock(side_effect=UsageError("stopped")))
        train("--config", config, "--out", run, "--verifier", verifier, code=2)
    assert (run / verifier.name).read_bytes() == verifier.read_bytes()
    other = learnt(verifier, config, 0, tmp_path)
    for done in (False, True):
        if done:
            (run / "summary.json").write_text("{}")
        said = train("--config", config, "--out", run, "--verifier", other, code=2)
        assert f"{run} has another verifier than --verifier names" in said


def test_options_of_another_process_that_was_faster_are_not_replaced(config, tmp_path):
    run, asked = tmp_path / "run", load_options(config)
    first = load_options(config, {"generator.mu": 0.02})

    def fast(*arguments):
        run.mkdir(exist_ok=True)
        write_options(first, run / "options.yaml")

    shown = SimpleNamespace(say=fast, at=fast)
    with (
        pytest.raises(UsageError, match="is a run with other options"),
        working(asked, run, compute=Compute.of(asked), display=shown),
    ):
        pass


@pytest.mark.whole
def test_a_network_of_the_same_split_or_of_unknown_origin_is_taken(networks, config, tmp_path):
    own = learnt(networks / "verifier.safetensors", config, 0, tmp_path)
    unknown = networks / "classifier.safetensors"
    given = ("--verifier", own, "--classifier", unknown)
    train("--config", config, "--out", tmp_path / "run", *given)
    assert (tmp_path / "run" / "verifier.safetensors").read_bytes() == own.read_bytes()


@pytest.mark.parametrize(
    ("name", "architecture", "message"),
    [
        ("classifier", {"width": 8}, "has shape (4, 1, 5, 5), expected (8, 1, 5, 5)"),
        ("classifier", {"architecture": "resnet18"}, "do not fit: backbone.blocks.0.conv1.weight"),
        ("classifier", {"architecture": "vgg"}, "architecture must be one of compact"),
        ("classifier", {"depth": 3}, "unknown option depth; known here: architecture"),
        ("verifier", {"features": 9}, "do not fit: model.fc.weight has shape (8, 32)"),
    ],
)
def test_weights_of_another_architecture_are_refused(
    networks, refused, tmp_path, name, architecture, message
):
    file = networks / f"{name}.safetensors"
    card = read_card(file)
    card = card.model_copy(update={"architecture": card.architecture | architecture})
    save_tensors(load_tensors(file)[0], {"card": card.model_dump_json()}, tmp_path / "other")
    assert message in refused(f"--{name}", tmp_path / "other")
