"""The options of an evaluation: what holds for all attackers, and a section for each."""

from functools import cache
from typing import Any

from pydantic import create_model

from anonymize.options import EvaluationOptions
from attacks.attacker import section_of
from attacks.registry import attackers


@cache
def evaluation_options() -> type[EvaluationOptions]:
    """The options of all attackers that can be used; `anonymize.configuration` asks for them."""
    fields: dict[str, Any] = {
        section_of(name): (attacker.Options, attacker.Options())
        for name, attacker in attackers()
        if attacker.Options.model_fields
    }
    return create_model("EvaluationOptions", __base__=EvaluationOptions, **fields)
