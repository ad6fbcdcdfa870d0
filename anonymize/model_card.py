"""What a model file says of itself, read without torch, whose import takes a second."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError, safe_open

from anonymize.errors import ModelError
from anonymize.runs import MODEL, OPTIONS

LARGEST = 2048  # pixels on a side that a network sees; a card could ask for more than any memory


class Card(BaseModel):
    """What a model file says of itself.

    ``kind`` is "anonymizer", "classifier" or "verifier"; ``method`` an anonymizer's name among
    the methods; ``architecture`` the options that rebuild the network; ``data`` the fingerprints of
    what it was trained on, files and patients; ``figures`` its validation figures; ``provenance``
    where weights that were not trained here come from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    method: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    architecture: dict[str, Any] = Field(default_factory=dict)
    size: int = Field(ge=1, le=LARGEST)
    labels: list[str] = Field(default_factory=list)
    data: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    figures: dict[str, float] = Field(default_factory=dict)
    provenance: dict[str, str] = Field(default_factory=dict)


@contextmanager
def opened(path: Path, framework: str = "numpy") -> Iterator[Any]:
    """A safetensors file, whose tensors are of ``framework``; ModelError where there is none."""
    if not path.exists():
        raise ModelError(
            f"model file {path} cannot be read: there is none; name one, or the folder of a run"
        )
    if not path.is_file():  # it would wait for a pipe's writer for ever
        raise ModelError(f"{path} is no regular file; name a model file, or the folder of a run")
    try:
        with safe_open(path, framework=framework) as file:
            yield file
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read ({type(error).__name__})") from None
    except SafetensorError:
        raise ModelError(
            f"{path} is no safetensors file; only the output of `anonymize train` is loaded"
        ) from None


def read_card(path: Path) -> Card:
    """The card of a model file; ModelError where it is none, or has no card of this form."""
    with opened(path) as file:
        text = (file.metadata() or {}).get("card")
    if text is None:
        raise ModelError(f"{path} holds no model card; only models of this program are loaded")
    try:
        return Card.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        raise ModelError(f"the model card in {path} is not readable by this version") from None


def count_values(path: Path) -> int:
    """How many numbers a model file holds."""
    with opened(path) as file:
        return sum(prod(file.get_slice(k).get_shape()) for k in file.keys())  # noqa: SIM118


def model_path(path: Path) -> Path:
    """The model file itself, or the one in a run directory; ModelError where that has none."""
    if not path.is_dir():
        return path
    if not (path / MODEL).is_file():
        what, way_out = (
            ("a run that is not finished", f"finish it with `anonymize train --resume {path}`")
            if (path / OPTIONS).is_file()
            else ("no run", "name one that `anonymize train` made, a model file or a method")
        )
        raise ModelError(f"{path} is {what}: it holds no {MODEL}; {way_out}")
    return path / MODEL


def method_of(path: Path) -> str:
    """The method that a model file belongs to; ModelError where it is no anonymizer."""
    card = read_card(path)
    if card.kind != "anonymizer":
        raise ModelError(f"{path} is a {card.kind}, not an anonymizer")
    return card.method
