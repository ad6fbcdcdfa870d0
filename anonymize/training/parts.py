"""Classifiers and verifiers from their model files."""

from __future__ import annotations

from pathlib import Path

from anonymize.data.table import Table
from anonymize.errors import ModelError
from anonymize.model_file import Card, load_weights, read_card
from anonymize.networks.build import build_classifier, build_verifier
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.options import ClassifierOptions, VerifierOptions, validated


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


def check_labels(path: Path, table: Table) -> None:
    """Raises ModelError unless the classifier's labels are those of the table, in their order."""
    labels = tuple(_card_of(path, "classifier").labels)
    if labels != table.labels:
        raise ModelError(
            f"classifier {path} knows other labels ({', '.join(labels)}) than the source "
            f"{table.source} ({', '.join(table.labels)})"
        )


def _card_of(path: Path, kind: str) -> Card:
    card = read_card(path)
    if card.kind != kind:
        raise ModelError(f"{path} is a model of kind {card.kind}, not {kind}")
    return card
