"""What several commands share: devices and numbers."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.errors import ModelError, UsageError
from anonymize.runs import newest_run

if TYPE_CHECKING:
    from anonymize.options import TrainOptions
    from anonymize.training.compute import Compute

PATH = click.Path(path_type=Path)
DEVICE = re.compile(r"auto|(cpu|cuda|mps|xpu)(:\d+)?")


def _device(context: click.Context, parameter: click.Parameter, name: str) -> str:
    """Whether it is here, torch says later."""
    if not DEVICE.fullmatch(name):
        raise UsageError(f"--device {name!r} is not available here; try --device auto")
    return name


device_option = click.option(
    "--device", default="auto", callback=_device, help="auto, cpu, cuda, cuda:1, mps."
)


def options_in_order(*given: Callable) -> Callable:
    """Options that several commands share, in this order in their ``--help``."""

    def decorate(command: Callable) -> Callable:
        for option in reversed(given):
            command = option(command)
        return command

    return decorate


def on_missing_option():
    """``--on-missing``, which errors of a data set name."""
    return click.option(
        "--on-missing",
        type=click.Choice(["error", "skip"]),
        help="What a listed but absent or unreadable image does. [error]",
    )


def workers_option(words: str):
    """``--workers``: how many processes do what ``words`` say."""
    usual = min(4, os.cpu_count() or 1)
    return click.option("--workers", type=click.IntRange(1, 256), default=usual, help=words)


class Place(click.ParamType):
    """A folder or file, or the address of objects (s3://BUCKET/PREFIX)."""

    name = "path"

    def convert(self, value, param, ctx):
        if not isinstance(value, str) or "://" not in value:
            return Path(value)
        from anonymize.release.machines.object_store import Objects

        return Objects.at(value, param.make_metavar(ctx))


class FiniteRange(click.FloatRange):
    """A finite number between two bounds; click lets NaN, which is in no range, through."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def refuse_missing(path: str | Path, what: str) -> None:
    """Raises ModelError where there is nothing, before what reads it is imported."""
    if not Path(path).exists():
        raise ModelError(f"{what} {path} cannot be read (FileNotFoundError)")


def find_device(name: str):
    """The torch device of a name, if it is here; "auto" is CUDA, Apple's MPS, then the CPU."""
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise UsageError(f"--device {name!r} is not available here; try --device auto") from None
    return device


def find_compute(options: "TrainOptions", device: str) -> "Compute":
    """What trains as ``options`` say on the device of a name; says aloud where that is slow."""
    from anonymize.inference import computes_bfloat16
    from anonymize.training.compute import Compute

    compute = Compute.of(options, find_device(device))
    slow = options.precision == "bf16" and not computes_bfloat16(compute.device)
    if slow and compute.main:
        click.echo(
            "warning: this processor has no units for bfloat16 that torch knows of; without them "
            "precision=bf16 takes several times as long as --set precision=no",
            err=True,
        )
    return compute


def warn_of_readers(key_file: Path | None) -> None:
    """Says aloud that a secret is none."""
    if key_file is not None and key_file.is_file() and key_file.stat().st_mode & 0o077:
        click.echo(
            "warning: others may read --key-file, and find out who a pseudonym or a hashed name "
            "is; chmod 600 it",
            err=True,
        )


def required_run() -> Path:
    """The newest run under ./runs; UsageError where there is none."""
    run = newest_run()
    if run is None:
        raise UsageError(
            "no --model was given and there is no finished run under ./runs; "
            "train one (`anonymize train --mu 0.01`) or name one with --model"
        )
    return run
