"""Configurations: options of a run from YAML and ``--set``, with the sections of plug-ins."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, create_model

from anonymize import whole_file, yaml_text
from anonymize.errors import UsageError
from anonymize.options import FlowOptions, TrainOptions
from anonymize.plugins import plugin
from anonymize.section import only, validated

EVALUATION = "anonymize.options", "evaluation"  # its attackers' sections, which it alone knows


class _Plugged(TrainOptions):
    """Options with the sections of plug-ins, which go to another process by what they say: their
    class is made anew there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.generator.method, self.model_dump(mode="json"))


def _again(method: str, values: dict[str, Any]) -> TrainOptions:
    return train_options(method).model_validate(values)


@cache  # by the method's name: options of two classes are never equal
def train_options(method: str) -> type[TrainOptions]:
    """The options of a run that trains ``method``, with the sections of every attacker."""
    from anonymize.trained import trained_method

    generator, evaluation = trained_method(method).Options, plugin(*EVALUATION)()
    return create_model(
        "TrainOptions",
        __base__=_Plugged,
        generator=(generator, Field(generator.model_validate({}), **only("model"))),
        evaluation=(evaluation, Field(evaluation(), **only("scores", "figures"))),
    )


def config_names() -> list[str]:
    """The configurations that come with the package."""
    return sorted(path.stem for path in configs_folder().glob("*.yaml"))


def configs_folder() -> Path:
    """Their folder: in the installed package, beside it in a source tree (``python -m``)."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parents[1] / "configs"


def load_options(
    config: str | Path = "quick",
    changes: dict[str, Any] | None = None,
    *,
    refuse: Callable[[TrainOptions], object] = lambda options: None,
) -> TrainOptions:
    """Options from a configuration by name or file, with ``changes`` ("a.b" → value) on top.

    Args:
        refuse: raises where options fit and yet cannot be meant; called as soon as they are known.

    Raises:
        UsageError: no such configuration, unreadable YAML, unknown key or a value out of range.
    """
    values = look(config, changes, refuse=refuse)
    options = validated(train_options(_method(values)), values)
    refuse(options)
    return options


def look(
    config: str | Path, changes: dict[str, Any] | None, *, refuse: Callable[[TrainOptions], object]
) -> dict[str, Any]:
    """The values of a configuration with ``changes``; what is wrong without the plug-ins is said
    here, for these take seconds to import. Arguments and errors as :func:`load_options`."""
    values = read_config(config)
    if "base" in values:
        raise UsageError(
            f"config {str(config)!r} is an evaluation; give it to `attacks evaluate --config`"
        )
    for key, value in (changes or {}).items():
        section = values
        *path, last = key.split(".")
        for name in path:
            section = section.setdefault(name, {})
            if not isinstance(section, dict):
                raise UsageError(f"option {key}: {name} is a value, not a section")
        section[last] = value
    own = {k: v for k, v in values.items() if k != "evaluation"}
    if _method(values) != FlowOptions().method:
        own["generator"] = {"levels": 1}
    refuse(validated(TrainOptions, own))
    return values


def _method(values: dict[str, Any]) -> str:
    """The method that is to be trained."""
    generator = values.get("generator") or {}
    method = generator.get("method") if isinstance(generator, dict) else None
    return str(method or FlowOptions().method)


def parse_setting(text: str) -> tuple[str, Any]:
    """``key=value`` of ``--set``; the value is read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set must read key=value, for instance data.size=128; got {text!r}")
    try:
        parsed = yaml_text.read(value)
    except yaml.YAMLError:
        raise UsageError(f"--set {key}: {value!r} is not YAML") from None
    # YAML 1.1 reads 1e-4 as a string.
    if isinstance(parsed, str):
        with suppress(ValueError):
            parsed = float(parsed)
    return key.strip(), parsed


def write_options(options: TrainOptions, path: Path) -> None:
    """The options as YAML; absolute paths stay what they are."""
    values = options.model_dump(mode="json")
    whole_file.write(path, yaml.safe_dump(values, sort_keys=False))


def read_config(config: str | Path) -> dict[str, Any]:
    """What a configuration says, by name or file; UsageError where there is none, or no YAML."""
    names = config_names()
    if str(config) in names:
        text = (configs_folder() / f"{config}.yaml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(config).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"config must be one of {', '.join(names)} or a readable YAML file; "
                f"got {str(config)!r} ({error.strerror or type(error).__name__})"
            ) from None
        except UnicodeDecodeError:
            raise UsageError(f"config {str(config)!r} is not UTF-8 text") from None
    try:
        values = yaml_text.read(text) or {}
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = "" if line is None else f" at line {line + 1}"
        raise UsageError(f"config {str(config)!r} is not YAML{place}") from None
    if not isinstance(values, dict):
        raise UsageError(f"config {str(config)!r} must hold keys and values")
    return values
