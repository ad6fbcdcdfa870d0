"""Privacy-Net, trained by the common stages; its parity is tested in convert/."""

import json

import pytest
import torch
from asked import ask
from small import FEW

import anonymize
from anonymize.cli import main
from anonymize.configuration import load_options
from anonymize.model_card import read_card
from baselines.options import PrivacyNetOptions
from baselines.privacy_net import ImageGenerator, PrivacyNet

TRAINED = FEW | {
    "data.pairs": 40,
    "generator.method": "privacy-net",
    "generator.features": 2,
    "classifier.epochs": 1,
    "classifier.width": 4,
    "verifier.epochs": 1,
    "verifier.width": 4,
    "reconstruction.epochs": 1,
    "adversarial.epochs": 1,
    "samples": 2,
}


def test_the_image_is_predicted_at_the_networks_size():
    """What is finer than the network sees cannot reach the output."""
    model = PrivacyNet(ImageGenerator(PrivacyNetOptions(features=2)), size=32)
    smooth = torch.rand(1, 1, 32, 32).repeat_interleave(4, -1).repeat_interleave(4, -2)
    checked = smooth + 0.001 * (torch.arange(128) % 2 * 2 - 1)
    released = model(smooth.clamp(0.01, 0.99))
    assert released.shape == (1, 1, 128, 128)
    assert model.displacement(smooth) is None
    assert model.mu is None
    assert torch.allclose(model(checked.clamp(0.01, 0.99)), released, atol=1e-3)


@pytest.mark.whole
def test_is_trained_by_the_same_stages(tmp_path):
    settings = [f"--set={key}={value}" for key, value in TRAINED.items()]
    run = tmp_path / "run"
    result = ask(main, "train", "--device=cpu", f"--out={run}", *settings)
    assert "paints each image anew" in result.output
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").open()]
    expected = ["classifier", "verifier", "reconstruction", "adversarial"]
    assert list(dict.fromkeys(stages)) == expected
    assert read_card(run / "model.safetensors").architecture["method"] == "privacy-net"
    model = anonymize.load(run)
    assert model.name == "privacy-net"
    assert len(list((run / "samples").iterdir())) == 2
    assert load_options(run / "options.yaml").generator == PrivacyNetOptions(features=2, levels=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generator.mu": 0.01}, "unknown option generator.mu; known here: method, features"),
        ({"data.size": 36}, "data.size must be a multiple of 8"),
        ({"generator.method": "dp-pix"}, "generator.method must be one of .*privacy-net"),
        ({"generator.method": 3}, "generator.method must be one of .*privacy-net"),
    ],
)
def test_options_that_are_not_its_own_are_refused(changes, message):
    with pytest.raises(anonymize.errors.UsageError, match=message):
        load_options("quick", {"generator": {"method": "privacy-net"}} | changes)
