"""Options that several commands share, and what they change."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from anonymize.commands.common import PATH, on_missing_option, options_in_order
from anonymize.errors import UsageError

# Options of the configuration that commands have by a name of their own.
PATHS = {
    "source": "data.source",
    "root": "data.root",
    "on_missing": "data.on_missing",
    "seed": "seed",
    "repeats": "evaluation.repeats",
}
SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option."
)
DATA = options_in_order(
    click.option("--root", type=PATH, help="Folder of the data set."),
    on_missing_option(),
)


def prior(words: str) -> Callable:
    """``--prior``: the probability before looking, of what ``words`` say."""
    return click.option("--prior", type=float, default=0.5, help=words)


def names(text: str) -> list[Any]:
    """Those that commas part."""
    return [name.strip() for name in text.split(",")]


def newest(advice: str) -> Path:
    """The newest finished run. Raises UsageError: there is none under ./runs; ``advice`` says the
    way out."""
    from anonymize.runs import newest_run

    if (run := newest_run()) is None:
        raise UsageError(f"there is no finished run under ./runs; {advice}")
    return run


def changes(asked: Mapping[str, Any], also: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the user changes in the options, by their paths: ``also``, what was ``asked`` of `PATHS`
    by the names of a command's options, then each --set."""
    from anonymize.configuration import parse_setting

    named = {path: asked[name] for name, path in PATHS.items() if asked.get(name) is not None}
    named = {k: str(v.absolute()) if isinstance(v, Path) else v for k, v in named.items()}
    return {**(also or {}), **named, **dict(map(parse_setting, asked["settings"]))}
