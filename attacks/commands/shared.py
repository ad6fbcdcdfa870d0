"""Options that several commands share, and what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option."
)
ROOT = click.option("--root", type=click.Path(path_type=Path), help="Folder of the data set.")


def changes(named: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """What the user changes in the options, by their paths: what was named, then each --set."""
    from anonymize.configuration import parse_setting

    given = {key: value for key, value in named.items() if value is not None}
    given = {k: str(v.absolute()) if isinstance(v, Path) else v for k, v in given.items()}
    return given | dict(map(parse_setting, settings))
