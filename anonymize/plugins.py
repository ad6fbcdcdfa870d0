"""What installed packages bring along by entry points: methods, attackers, sections of options.

A plug-in that cannot be loaded is named in one line and disturbs nothing else.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import Any

from anonymize.errors import UsageError, printable

log = logging.getLogger(__name__)


class PluginError(UsageError):
    """A plug-in that is missing, broken, or registered twice."""


def installed(group: str) -> list[str]:
    """The names registered in ``group``, in alphabetical order; nothing is imported."""
    return sorted(_installed(group, tuple(sys.path)))


def plugin(group: str, name: str, base: type | None = None) -> Any:
    """What ``name`` stands for; a class without a ``name`` of its own gets this one.

    Raises PluginError: none or several packages register it, it cannot be imported, is no subclass
    of ``base``, or lacks a method that this asks for."""
    found = _installed(group, tuple(sys.path)).get(name, [])
    if not found:
        raise PluginError(f"{group} knows no {name!r}; installed: {', '.join(installed(group))}")
    if len(found) > 1:
        packages = " and ".join(sorted(map(_package, found)))
        raise PluginError(f"{name} is registered by {packages}; uninstall one of them")
    target = _loaded(found[0])
    if base is not None and not (isinstance(target, type) and issubclass(target, base)):
        raise PluginError(
            f"{name} of package {_package(found[0])} must be a subclass of "
            f"{base.__module__}.{base.__name__}"
        )
    if isabstract(target):
        missing = ", ".join(sorted(target.__abstractmethods__))
        raise PluginError(f"{name} of package {_package(found[0])} lacks {missing}")
    return target


def plugins(group: str, load: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """(name, what it stands for) of all that ``load`` can load; the others are named in the log."""
    for name in installed(group):
        try:
            yield name, load(name)
        except PluginError as error:
            warn_once(f"left out: {error}")


@cache
def _installed(group: str, path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """By name; looked up once for every search path: it reads a file of each package there."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, []).append(entry)
    return found


def _loaded(entry: EntryPoint) -> Any:
    try:
        target = entry.load()
        own = getattr(target, "name", None) or entry.name
    except Exception as error:  # whatever a stranger's module does while it is imported
        raise PluginError(
            f"{entry.name} of package {_package(entry)} cannot be loaded "
            f"({type(error).__name__}: {printable(str(error))}); mend or uninstall the package"
        ) from None
    if own != entry.name:
        raise PluginError(
            f"{entry.name} of package {_package(entry)} calls itself {own!r}; "
            "its name must be that of its entry point"
        )
    if isinstance(target, type) and getattr(target, "name", None) is None:
        target.name = entry.name  # type: ignore[attr-defined]
    return target


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "unknown"


@cache
def warn_once(message: str) -> None:
    """A line in the log, the first time."""
    log.warning("%s", message)
