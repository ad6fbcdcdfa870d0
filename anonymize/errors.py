"""Failures that a user can mend: each names the argument, the rule and the way out."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class UsageError(ValueError):
    """Wrong input. The commands print it in one line and exit with status 2.

    The message never holds a tag value, a patient identifier or an input file's name.
    """


def make_folder(path: Path, option: str) -> Path:
    """The folder ``path``, made where it is missing; a UsageError names ``option`` if not."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        writable = os.access(path, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise UsageError(f"{option} {path} must be a folder that you may write; name another")
    return path


def did_you_mean(name: str, known: Iterable[str], *, before: str = "") -> str:
    """A question that names the known one most like ``name``, with what stands ``before`` it;
    empty where none is."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f" (did you mean {before}{close[0]}?)" if close else ""


def printable(text: str, *, most: int = 80) -> str:
    """``text`` of unknown origin, fit for a line on a terminal."""
    safe = ascii(text)[1:-1]
    return safe if len(safe) <= most else f"{safe[:most]}…"


def inert(text: str) -> str:
    """``text`` with the numbers of all characters that a terminal would obey, or not show."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def counted(number: int, noun: str) -> str:
    """``number`` and ``noun``, which has an s at the end of its plural: 1 file, 2 files."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class DataError(UsageError):
    """A data set that does not fit its reader: a missing column, file, label or identity."""


class ModelError(UsageError):
    """A model file that cannot be trusted or does not fit what was asked."""
