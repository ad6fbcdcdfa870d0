"""``anonymize model``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group()
def command() -> None:
    """Show a model file."""


@command.command(epilog="Example: anonymize model show runs/quick/model.safetensors")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Show what the model file FILE (or the model of a run) says of itself."""
    from anonymize.model_file import load_tensors, model_path, read_card, sha256

    path = model_path(file)
    card = read_card(path)
    tensors, _ = load_tensors(path)
    about = {
        "file": str(path),
        "sha256": sha256(path),
        "values": sum(t.numel() for t in tensors.values()),
        **card.model_dump(),
    }
    if as_json:
        click.echo(json.dumps(about, indent=2))
        return
    for key, value in about.items():
        if isinstance(value, dict):
            value = ", ".join(
                f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in value.items()
            )
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        if value != "":
            click.echo(f"{key:>12}  {value}")
