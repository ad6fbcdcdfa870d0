"""The figures of a run: ``metrics.jsonl``, one line an epoch, never a line twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.display import Display
from anonymize.training.course import ATTACKER

SHOWN = ("validation_", ATTACKER)  # how the figures begin that are said; the others are written


class Recorder:
    """Keeps ``metrics.jsonl`` equal to what the stages' checkpoints say."""

    def __init__(self, path: Path, display: Display, *, writes: bool = True) -> None:
        self.path, self.display, self.writes = path, display, writes
        self.lines: list[dict[str, Any]] = []
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            self.lines = [json.loads(line) for line in lines if line.endswith("}")]  # whole ones

    def stage(self, name: str, epochs: int) -> Callable[[list[dict[str, Any]]], None]:
        """A report for :func:`anonymize.training.loop.fit`."""

        def report(history: list[dict[str, Any]]) -> None:
            own = [i for i, line in enumerate(self.lines) if line["stage"] == name]
            place = own[0] if own else len(self.lines)
            others = [line for line in self.lines if line["stage"] != name]
            self.lines = others[:place] + history + others[place:]
            if not self.writes:
                return
            text = "".join(json.dumps(line) + "\n" for line in self.lines)
            whole_file.write(self.path, text)
            self.display.say(_describe(history[-1], epochs))
            self.display.at(_next(name, len(history), epochs))

        self.display.at(_next(name, 0, epochs))
        return report

    def of(self, stage: str) -> list[dict[str, Any]]:
        """The lines of a stage, epoch by epoch."""
        return [line for line in self.lines if line["stage"] == stage]


def _next(name: str, done: int, epochs: int) -> str:
    return f"{name}, epoch {done + 1}/{epochs}" if done < epochs else name


def _describe(line: dict[str, Any], epochs: int) -> str:
    figures = "  ".join(
        f"{key.partition('_')[2].replace('_', ' ')} {value:.4g}"
        for key, value in line.items()
        if key.startswith(SHOWN)
    )
    return f"{line['stage']:>14}  epoch {line['epoch']:>3}/{epochs}  validation: {figures}"
