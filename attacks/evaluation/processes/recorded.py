"""progress.json in the folder of an evaluation: where it is, for `attacks watch`."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import DataError
from attacks.evaluation.processes.work import Display, State

FILE = "progress.json"
EVERY = 1.0  # seconds between two writings, unless something ended
KEPT = 1000  # lines


@dataclass(frozen=True)
class Progress:
    """What the file holds: when the work began and was last heard of (seconds since 1970), where it
    is, and what came out so far."""

    began: float
    seen: float
    state: State
    lines: list[str] = field(default_factory=list)


class Recorded:
    """A display that writes down what it shows, too, from the first piece of work on. ``clock``:
    seconds since 1970."""

    def __init__(
        self, display: Display, folder: Path, clock: Callable[[], float] = time.time
    ) -> None:
        self._display, self._path, self._clock = display, folder / FILE, clock
        self._began, self._written = clock(), -EVERY
        self._state, self._lines = State(0, 0, "starting"), list[str]()

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        self._display.at(place, done, total)

    def say(self, line: str) -> None:
        self._display.say(line)
        self._lines.append(line)

    def show(self, state: State) -> None:
        self._display.show(state)
        self._state = state
        if state.result:
            self._lines.append(f"{state.title}: {state.result}")
        if state.result or self._clock() - self._written >= EVERY:
            self._write()

    def _write(self) -> None:
        self._written = self._clock()
        now = Progress(self._began, self._written, self._state, self._lines[-KEPT:])
        whole_file.write(self._path, json.dumps(asdict(now)) + "\n")


def read_progress(folder: Path) -> Progress | None:
    """Where the evaluation in a folder is; None where none ever was. Raises DataError: the file is
    none that :class:`Recorded` writes."""
    try:
        found: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
        state = State(**found.pop("state"))
        lines = [str(line) for line in found.pop("lines")]
        return Progress(float(found["began"]), float(found["seen"]), state, lines)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        raise DataError(
            f"{FILE} of the folder cannot be read; attacks evaluate writes it anew"
        ) from None
