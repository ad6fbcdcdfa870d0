"""Names from outside, made fit for every output: no control or direction marks, no endless ones."""

import unicodedata
from typing import Any, TypeVar

from pydantic import BaseModel

NAME, TEXT = 120, 4000  # characters
TEXTS = ("message", "command", "scenario", "description")  # fields of sentences; others are names
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # Unicode categories
Model = TypeVar("Model", bound=BaseModel)


def harmless(text: str, most: int = NAME) -> str:
    """One line of at most ``most`` characters: white space is a space, and characters that show
    nothing, or turn the direction of what follows, are replaced."""
    plain = " ".join(text[: 4 * most].split())
    hidden = {c for c in plain if unicodedata.category(c) in HIDDEN}
    shown = "".join("\N{REPLACEMENT CHARACTER}" if c in hidden else c for c in plain)
    return shown if len(shown) <= most and len(text) <= 4 * most else f"{shown[: most - 1]}…"


def harmless_record(record: Model) -> Model:
    """The same with every text harmless; itself where they are."""
    given = record.model_dump(mode="python", by_alias=True)
    cleaned = _cleaned(given)
    return record if cleaned == given else type(record).model_validate(cleaned)


def _cleaned(value: Any, most: int = NAME) -> Any:
    if isinstance(value, str):
        return harmless(value, most)
    if isinstance(value, dict):
        found: dict[Any, Any] = {}
        for key, inner in value.items():
            name = harmless(key) if isinstance(key, str) else key
            while name in found:  # two that differ in what was cut
                name += "′"
            found[name] = _cleaned(inner, TEXT if key in TEXTS else NAME)
        return found
    if isinstance(value, (list, tuple)):
        return type(value)(_cleaned(inner, most) for inner in value)
    return value
