"""The published architectures, told apart by the names in their files, as networks of ours."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from anonymize.data.labels import CHESTXRAY14
from anonymize.errors import ModelError, UsageError, printable
from anonymize.model_card import Card
from anonymize.model_file import Shapes, versions
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.options import ClassifierOptions, VerifierOptions
from anonymize.section import validated
from anonymize.trained import trained_method

# The first convolution of each; a file that holds one of these names holds that network.
LANDMARKS = {
    "generator": "encoder1.enc1conv1.weight",
    "privacy-net": "down_1.0.0.weight",
    "verifier": "model.conv1.weight",
    "classifier": "features.conv0.weight",
}
KINDS = tuple(LANDMARKS)
METHODS = {"generator": "prichexy-net", "privacy-net": "privacy-net"}
CLASSIFIER_INPUT = 224  # the published program resizes to it
MOST_FEATURES = 1024
# torchvision's DenseNet was written so before 2019: "norm.1" for "norm1".
_DOTTED = re.compile(r"(denselayer\d+\.(?:norm|conv))\.(\d)\.")


@dataclass(frozen=True)
class Settings:
    """What a file of weights does not say; None: not given."""

    mu: float | None = None
    border: str | None = None
    size: int = 256
    labels: Sequence[str] | None = None


@dataclass(frozen=True)
class Architecture:
    """A network of ours without values (device "meta") and the card of its file."""

    network: nn.Module
    card: Card
    prefix: str = ""  # before the file's own names in ours


def guess_kind(shapes: Shapes) -> str:
    """Which of the published networks has these names; ModelError for none, or several of them."""
    found = [kind for kind, mark in LANDMARKS.items() if any(_ends(n, mark) for n in shapes)]
    if len(found) != 1:
        first = printable(next(iter(shapes)))
        raise ModelError(
            f"its names ({first}, …) are those of {' and '.join(found) or 'no network known here'};"
            f" say which it is with --kind {'|'.join(KINDS)}"
        )
    return found[0]


def plain_names(shapes: Shapes, kind: str) -> dict[str, str]:
    """The network's own names → the file's: without what wraps it, in today's spelling.

    ModelError where the network is not in the file, or something else is too.
    """
    mark = LANDMARKS[kind]
    place = next((name for name in shapes if _ends(name, mark)), None)
    if place is None:
        raise ModelError(f"it holds no {kind}: there is no {mark} in it")
    wrapping, names = place.removesuffix(mark), {}
    for name in shapes:
        if not name.startswith(wrapping):
            raise ModelError(f"its entry {printable(name)} is no part of the {kind}")
        plain = name.removeprefix(wrapping)
        if kind == "classifier":
            plain = _DOTTED.sub(r"\1\2.", plain)
            plain = re.sub(r"^classifier\.0\.", "classifier.", plain)
        if plain in names:
            raise ModelError(f"it holds {printable(plain)} twice")
        names[plain] = name
    return names


def architecture_of(kind: str, shapes: Shapes, settings: Settings) -> Architecture:
    """The network that fits a file whose plain names have these shapes, and its card; UsageError
    for a setting that this kind lacks or does not know, or a value out of range."""
    _check_settings(kind, settings)
    first = shapes[LANDMARKS[kind]]
    if len(first) != 4 or not 0 < first[0] <= MOST_FEATURES:
        raise ModelError(f"{LANDMARKS[kind]} has shape {first}, which no convolution here has")
    with torch.device("meta"):
        if kind in METHODS:
            return _anonymizer(kind, shapes, settings)
        return (_verifier if kind == "verifier" else _classifier)(shapes, settings)


def _check_settings(kind: str, settings: Settings) -> None:
    if kind == "generator" and settings.mu is None:
        raise UsageError(
            "--mu is missing: the file of a generator does not say for which strength it was "
            "trained; the published ones are 0.001, 0.005 and 0.01"
        )
    of = {"mu": "generator", "border": "generator", "labels": "classifier"}
    for name, owner in of.items():
        if getattr(settings, name) is not None and kind != owner:
            raise UsageError(f"--{name} is for a {owner}, and the file holds a {kind}")
    if not 16 <= settings.size <= 4096:
        raise UsageError(f"--size must lie between 16 and 4096 pixels, got {settings.size}")


def _anonymizer(kind: str, shapes: Shapes, settings: Settings) -> Architecture:
    method = trained_method(METHODS[kind])
    level = re.compile(r"encoder(\d+)\." if kind == "generator" else r"down_(\d+)\.")
    values: dict[str, Any] = {
        "features": shapes[LANDMARKS[kind]][0],
        "levels": len({match[1] for name in shapes if (match := level.match(name))}),
    }
    if kind == "generator":
        values |= {"mu": settings.mu, "border": settings.border or "replicate"}
    options = validated(method.Options, values)
    step = 2**options.levels
    if settings.size % step:
        raise UsageError(f"--size must be a multiple of {step}, got {settings.size}")
    model = method(method.Generator(options), size=settings.size)
    return Architecture(model.generator.core, model.card(data={}, figures={}))


def _verifier(shapes: Shapes, settings: Settings) -> Architecture:
    options = VerifierOptions(
        architecture="resnet50", features=_outputs(shapes, "model.fc.weight", least=2)
    )
    return Architecture(build_verifier(options), _card("verifier", options, settings))


def _classifier(shapes: Shapes, settings: Settings) -> Architecture:
    outputs, labels = _outputs(shapes, "classifier.weight"), settings.labels
    if labels is None and outputs == len(CHESTXRAY14):
        labels = CHESTXRAY14
    if labels is None:
        raise UsageError(f"--labels is missing: the names of the {outputs} outputs, in their order")
    if len(labels) != outputs or len(set(labels)) != outputs:
        raise UsageError(
            f"--labels must give {outputs} different names, one an output; got {len(labels)}"
        )
    options = ClassifierOptions(architecture="densenet121", size=CLASSIFIER_INPUT)
    card = _card("classifier", options, settings).model_copy(update={"labels": list(labels)})
    return Architecture(build_classifier(options, outputs), card, prefix="backbone.")


def _outputs(shapes: Shapes, name: str, *, least: int = 1) -> int:
    shape = shapes.get(name)
    if shape is None:
        raise ModelError(f"{name} is missing in it")
    if len(shape) != 2 or not least <= shape[0] <= MOST_FEATURES:
        raise ModelError(f"{name} has shape {shape}, which no last layer here has")
    return shape[0]


def _card(kind: str, options: ClassifierOptions | VerifierOptions, settings: Settings) -> Card:
    return Card(
        kind=kind, architecture=options.model_dump(), size=settings.size, versions=versions()
    )


def _ends(name: str, mark: str) -> bool:
    return name == mark or name.endswith(f".{mark}")
