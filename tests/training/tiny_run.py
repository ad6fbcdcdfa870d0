"""The smallest run that trains everything, by the command line; and the smallest game."""

import numpy as np
import torch
import yaml
from asked import ask
from torch.utils._python_dispatch import TorchDispatchMode

from anonymize.cli import main
from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import AdversarialOptions, ClassifierOptions, FlowOptions, VerifierOptions
from anonymize.prichexy_net import FlowGenerator
from anonymize.training import loop
from anonymize.training.adversarial import AdversarialStage, Players
from anonymize.training.compute import Compute
from anonymize.training.opponents import build_opponents
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
    "evaluation": {
        "resamplings": 50,
        "histogram_metric": {"cells": [4], "components": [50], "copies": 0, "restoration": []},
    },
}


def configured(folder, **changes):
    """The file of a tiny run's options; sections are those of ``changes`` where they are there."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({**TINY, **changes}))
    return path


def ended(*arguments, code=0):
    """What `anonymize train` printed, which must end with the status ``code``."""
    words = list(arguments)
    part = [words.pop(0)] if words[0] in ("classifier", "verifier") else []
    return ask(main, "train", *part, "--device", "cpu", *words, code=code)


def train(*arguments, code=0):
    """The same on both outputs."""
    return ended(*arguments, code=code).output


def stopping(patch, stage):
    """Whoever trains is stopped as soon as a checkpoint of the stage is written."""
    written = loop.save_tensors

    def stopped(tensors, metadata, path):
        written(tensors, metadata, path)
        if path.stem == stage:
            raise KeyboardInterrupt

    patch.setattr(loop, "save_tensors", stopped)


def game(classifier=None, patients=None, generator=None, compute=None, **options):
    """The game on two images of each of four patients, every other pair of them genuine; or on the
    patients given, said to be genuine in every other pair."""
    torch.manual_seed(0)
    first = np.arange(8)
    second, same = first[::-1].copy(), first % 2 == 0
    if patients is None:
        patients = first // 2
        second = np.where(first % 2, (first + 2) % 8, first + 1)
        same = patients[first] == patients[second]
    pairs = Pairs(first, second, same)
    images = HeldImages(torch.rand(8, 1, 32, 32))
    flow = FlowOptions(features=2, mu=0.1)
    generator = generator or FlowGenerator(flow)
    verifier = build_verifier(VerifierOptions(**COMPACT, features=8))
    classifier = classifier or build_classifier(ClassifierOptions(**COMPACT), 3)
    own = AdversarialOptions(**{"batch": 4, **options})
    return AdversarialStage(
        Players(generator, verifier, classifier, build_opponents(own, verifier, flow)),
        own,
        Paired(images, images, patients, lambda seed: pairs, pairs),
        np.eye(8, 3, dtype=np.float32),
        compute=compute or Compute(),
    )


def states(module):
    """A copy of all that a network is."""
    return {k: v.clone() for k, v in module.state_dict().items()}


def same(module, before):
    """Whether it is still what it was, bit for bit."""
    return all(torch.equal(v, before[k]) for k, v in module.state_dict().items())


class Operations(TorchDispatchMode):
    """Which there were, and of what shapes."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        shapes = [tuple(a.shape) for a in args if isinstance(a, torch.Tensor)]
        self.seen.append((str(operation), shapes))
        return operation(*args, **(kwargs or {}))
