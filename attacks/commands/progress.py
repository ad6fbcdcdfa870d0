"""What `attacks evaluate` shows while it works: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from attacks.evaluation.work import Display, State

EVERY = 60.0  # seconds without a line after which a long piece of work says where it is


@contextmanager
def display(*, err: bool) -> Iterator[Display]:
    """A bar where ``stderr`` is a terminal, else a line for each piece of work.

    Args:
        err: lines go to stderr, because stdout is for results.
    """
    if not sys.stderr.isatty():
        yield Lines(lambda line: click.echo(line, err=err))
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        BarColumn(24),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[forecast]}", style="cyan"),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress)


class Lines:
    """A line when a piece of work ends, and now and then while it lasts."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write, self._clock, self._last = write, clock, clock()
        self._tenth = -1

    def prepare(self, done: int, total: int) -> None:
        if (tenth := 10 * done // max(total, 1)) > self._tenth:
            self._tenth = tenth
            self.say(f"preparing images: {done} of {total}")

    def show(self, state: State) -> None:
        if not state.result and self._clock() - self._last < EVERY:
            return
        place = f"[{state.done}/{state.total}] {state.title}"
        if state.result:
            self.say(f"{place}: {state.result} ({state.forecast})")
        else:
            self.say(f"{place} … ({state.forecast})")

    def say(self, line: str) -> None:
        self._last = self._clock()
        self._write(line)


class Bar:
    """A bar below the lines."""

    def __init__(self, progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None, forecast="")

    def prepare(self, done: int, total: int) -> None:
        self._progress.update(
            self._task, completed=done, total=total, description="preparing images"
        )

    def show(self, state: State) -> None:
        self._progress.update(
            self._task,
            completed=state.done,
            total=state.total,
            description=state.title,
            forecast=state.forecast,
        )
        if state.result:
            self.say(f"{state.title}: {state.result}")

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False)
