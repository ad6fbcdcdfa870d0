"""What names an anonymizer on a command line, looked at without torch: its import takes seconds."""

from pathlib import Path
from typing import Any

from anonymize.errors import ModelError, UsageError, did_you_mean
from anonymize.generator_options import GeneratorOptions
from anonymize.model_card import method_of, model_path, read_card
from anonymize.plugins import installed, plugin
from anonymize.section import Options, validated

GROUP = "anonymize.methods"
OPTIONS = "anonymize.method_options"  # their sections, by the same names, where they stand apart


def resolved(spec: str | Path) -> tuple[str, str]:
    """The installed method that ``spec`` names, and what it is made of: its options, or a path.

    Raises:
        UsageError: neither a path nor an installed method; the message lists the methods.
        ModelError: a file that is no model of ours.
    """
    text = str(spec)
    name, _, argument = text.partition(":")
    if name in installed(GROUP):
        return name, argument
    path = Path(text)
    if not path.exists():
        raise UsageError(
            f"model {text!r} is neither a run, a model file nor a method"
            f"{did_you_mean(name, installed(GROUP))}; {_listing()}"
        )
    found = model_path(path)
    method = method_of(found)
    if method not in installed(GROUP):
        raise ModelError(f"the model's method {method!r} is not installed; {_listing()}")
    return method, str(found)


def check(spec: str | Path) -> None:
    """Refuses what :func:`anonymize.load` would, as far as a method's options stand apart from it.
    Raises UsageError, ModelError: as :func:`resolved`; an unknown option or a value out of range.
    """
    name, argument = resolved(spec)
    if name not in installed(OPTIONS):
        return
    section = plugin(OPTIONS, name)
    if not issubclass(section, GeneratorOptions):
        checked(name, section, parse_options(argument))
    elif argument:  # a model's
        read_card(model_path(Path(argument)))


def checked(name: str, section: type[Options], options: dict[str, Any]) -> Any:
    """The ``options`` of method ``name``, typed; UsageError where they do not fit."""
    try:
        return validated(section, options)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def parse_options(text: str) -> dict[str, str]:
    """ "b=8,epsilon=0.1" → {"b": "8", "epsilon": "0.1"}."""
    options = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"method options must read key=value,key=value; got {item!r}")
        if key.strip() in options:
            raise UsageError(f"method option {key.strip()} is given twice")
        options[key.strip()] = value.strip()
    return options


def _listing() -> str:
    return f"methods: {', '.join(installed(GROUP))}"
