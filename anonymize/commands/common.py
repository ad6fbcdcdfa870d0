"""What several commands share: devices, progress."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from anonymize.errors import UsageError


class FiniteRange(click.FloatRange):
    """A number between two bounds; click lets NaN, which is in no range, through."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self.min:g}<=x<={self.max:g}.", param, ctx)
        return number


def device_option(command):
    """``--device auto|cpu|cuda|…``."""
    return click.option(
        "--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps."
    )(command)


def find_device(name: str):
    """The torch device of a name; "auto" is CUDA, then Apple's MPS, then the CPU.

    Raises:
        UsageError: no such device on this machine.
    """
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


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """``report(done, total)``: a bar on a terminal, a line each tenth elsewhere (stderr)."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    said = -1

    def report(done: int, total: int) -> None:
        nonlocal said
        tenth = 10 * done // max(total, 1)
        if tenth > said:
            said = tenth
            click.echo(f"{title}: {done} of {total}", err=True)

    yield report
