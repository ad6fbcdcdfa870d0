"""Classifiers and verifiers that are given instead of trained: files, runs, torchxrayvision's."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

from anonymize import whole_file
from anonymize.data.table import Table
from anonymize.errors import ModelError
from anonymize.model_card import Card, read_card
from anonymize.model_file import load_weights
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import ClassifierOptions, VerifierOptions
from anonymize.runs import CLASSIFIER, VERIFIER
from anonymize.section import validated
from anonymize.training.xray_vision import XRayVision

XRV = "xrv:"
FILES = {"classifier": CLASSIFIER, "verifier": VERIFIER}


@dataclass(frozen=True)
class GivenFile:
    """A model file of a ``kind``, "classifier" or "verifier"."""

    path: Path
    kind: str

    def check(self) -> None:
        """Raises ModelError unless it is there and whole; needs no data set."""
        (load_classifier if self.kind == "classifier" else load_verifier)(self.path)

    def check_labels(self, table: Table) -> None:
        """Raises ModelError unless a classifier's labels are those of the table."""
        labels = tuple(_card_of(self.path, self.kind).labels)
        if self.kind == "classifier" and labels != table.labels:
            raise ModelError(
                f"classifier {self.path} knows other labels ({', '.join(labels)}) than the source "
                f"{table.source} ({', '.join(table.labels)})"
            )

    def write(self, path: Path, table: Table) -> None:
        """Copies it, so that a run has its own."""
        whole_file.write(path, self.path.read_bytes())


Given = GivenFile | XRayVision


@overload
def find_part(spec: str | Path, kind: Literal["verifier"]) -> GivenFile: ...
@overload
def find_part(spec: str | Path, kind: str) -> Given: ...
def find_part(spec: str | Path, kind: str) -> Given:
    """What ``--classifier`` or ``--verifier`` names: a model file, a run, or ``xrv:NAME``.

    ModelError for a folder without such a model, or torchxrayvision for a verifier.
    """
    text = str(spec)
    if text.startswith(XRV):
        if kind != "classifier":
            raise ModelError(f"{text} is a classifier, not a {kind}")
        return XRayVision(text.removeprefix(XRV))
    path = Path(spec)
    if path.is_dir():
        if not (path / FILES[kind]).is_file():
            raise ModelError(f"{path} holds no {FILES[kind]}; name a run that trained a {kind}")
        path = path / FILES[kind]
    return GivenFile(path, kind)


def load_classifier(path: Path) -> Classifier:
    """The classifier of a model file, without its published start weights."""
    card = _card_of(path, "classifier")
    options = validated(ClassifierOptions, {**card.architecture, "weights": None})
    network = build_classifier(options, len(card.labels))
    load_weights(network, path)
    return network.eval()


def load_verifier(path: Path) -> Siamese:
    """The verifier of a model file."""
    card = _card_of(path, "verifier")
    network = build_verifier(validated(VerifierOptions, {**card.architecture, "weights": None}))
    load_weights(network, path)
    return network.eval()


def _card_of(path: Path, kind: str) -> Card:
    card = read_card(path)
    if card.kind != kind:
        raise ModelError(f"{path} is a model of kind {card.kind}, not {kind}")
    return card
