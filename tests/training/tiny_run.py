"""The smallest run that trains everything, by the command line; and the smallest game."""

import numpy as np
import torch
from click.testing import CliRunner

from anonymize.cli import main
from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import AdversarialOptions, ClassifierOptions, FlowOptions, VerifierOptions
from anonymize.prichexy_net import FlowGenerator
from anonymize.training.adversarial import AdversarialStage, Players
from anonymize.training.compute import Compute
from anonymize.training.stages import Paired

COMPACT = {"architecture": "compact", "width": 4}

TINY = {
    "data": {"size": 32, "patients": 40, "images": 120, "pairs": 40, "workers": 1},
    "generator": {"features": 2},
    "classifier": {**COMPACT, "epochs": 2, "rate": 1e-3},
    "verifier": {**COMPACT, "epochs": 2, "features": 8, "rate": 1e-3},
    "reconstruction": {"epochs": 2, "rate": 1e-3},
    "adversarial": {
        "epochs": 3,
        "rate": 1e-3,
        "auxiliary": "updated",
        "course": {"attacker_every": 2},
    },
    "threads": 1,
    "samples": 1,
}


def ended(*arguments, code=0):
    """What `anonymize train` printed, which must end with the status ``code``."""
    words = list(map(str, arguments))
    part = [words.pop(0)] if words[0] in ("classifier", "verifier") else []
    result = CliRunner().invoke(main, ["train", *part, "--device", "cpu", *words])
    assert result.exit_code == code, result.output
    return result


def train(*arguments, code=0):
    """The same on both outputs."""
    return ended(*arguments, code=code).output


def game(classifier=None, patients=None, generator=None, **options):
    """The game on eight images in eight pairs, every other one of them genuine."""
    torch.manual_seed(0)
    pairs = Pairs(np.arange(8), np.arange(8)[::-1].copy(), np.arange(8) % 2 == 0)
    images = HeldImages(torch.rand(8, 1, 32, 32))
    return AdversarialStage(
        Players(
            generator or FlowGenerator(FlowOptions(features=2, mu=0.1)),
            build_verifier(VerifierOptions(**COMPACT, features=8)),
            classifier or build_classifier(ClassifierOptions(**COMPACT), 3),
        ),
        AdversarialOptions(batch=4, **options),
        Paired(
            images,
            images,
            np.arange(8) if patients is None else patients,
            lambda seed: pairs,
            pairs,
        ),
        np.eye(8, 3, dtype=np.float32),
        compute=Compute(),
    )


def states(module):
    """A copy of all that a network is."""
    return {k: v.clone() for k, v in module.state_dict().items()}


def same(module, before):
    """Whether it is still what it was, bit for bit."""
    return all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
