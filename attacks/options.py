"""The options of an evaluation: what holds for all attackers, and a section for each."""

from __future__ import annotations

from functools import cache

from pydantic import create_model

from anonymize.options import EvaluationOptions
from attacks.attacker import section_of
from attacks.registry import attackers


@cache
def evaluation_options() -> type[EvaluationOptions]:
    """The options of all attackers that can be used; `anonymize.configuration` asks for them."""
    sections = {section_of(n): a.Options for n, a in attackers() if a.Options.model_fields}
    return create_model(
        "EvaluationOptions",
        __base__=EvaluationOptions,
        **{name: (options, options()) for name, options in sections.items()},
    )
