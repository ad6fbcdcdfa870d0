"""What `attacks evaluate` shows while it works: its pieces of work, and the time left."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from anonymize.commands import progress
from attacks.evaluation.processes.work import Display, State


def display() -> AbstractContextManager[Display]:
    """On standard error: a bar on a terminal, lines elsewhere."""
    # It gives one of the two.
    return cast("AbstractContextManager[Display]", progress.display(Lines, Bar))


class Lines(progress.Lines):
    """A line when a piece of work ends, and now and then while it lasts."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(write, clock)
        self._state: State | None = None
        self._since = 0.0

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        with self._lock:
            self._state = None
            super().at(place, done, total)

    def show(self, state: State) -> None:
        with self._lock:
            self._title = self._count = ""
            self._state, self._since = (None if state.result else state), self._clock()
            if state.result:
                self.say(f"{_place(state)}: {state.result} ({state.forecast})")

    @property
    def place(self) -> str:
        if self._state is None:
            return super().place
        now = self._state.after(self._clock() - self._since)
        return f"{_place(now)} ({now.forecast})"


class Bar(progress.Bar):
    """A bar below the lines."""

    def show(self, state: State) -> None:
        self.at(f"{state.forecast}  {state.title}", state.done, state.total)
        if state.result:
            self.say(f"{state.title}: {state.result}")


def _place(state: State) -> str:
    return f"[{state.done}/{state.total}] {state.title}"
