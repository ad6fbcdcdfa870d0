"""What a long piece of work tells whoever waits for it; how that is shown is not its matter."""

from collections.abc import Callable
from typing import Protocol


class Display(Protocol):
    """Shows where some work is."""

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        """The work is at ``place``, and ``done`` of ``total`` of its parts, if it has any."""

    def say(self, line: str) -> None:
        """A line of text, which stays."""


class Silent:
    """Shows nothing."""

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass


def counter(display: Display, title: str) -> Callable[[int, int], None]:
    """``report(done, total)``, shown under a title."""
    return lambda done, total: display.at(title, done, total)
