"""The attackers by name, each on a ladder of knowledge; installed packages may bring more.

``verification`` is an attacker at the first level of its ladder, ``verification:ignorant`` at the
level named; these names are the keys of ``privacy`` in results.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from anonymize.errors import UsageError, did_you_mean
from anonymize.plugins import PluginError, installed, plugin, plugins

if TYPE_CHECKING:
    from attacks.attacker import Attacker, Knowledge
    from attacks.knowledge.levels import Ladder, Level

GROUP = "attacks.attackers"
DEFAULT = ("verification", "histogram-metric", "training-free")
DONORS = "donors"  # what tells these is no attacker, and is tested beside them under this name


@dataclass(frozen=True)
class Chosen:
    """An attacker that takes part: its key in results.json, its name and level."""

    key: str
    name: str
    knowledge: Knowledge

    @property
    def level(self) -> Level:
        """What the attacker says of it."""
        return ladder(self.name)[self.knowledge]


@cache
def attacker_class(name: str) -> type[Attacker]:
    """The installed attacker ``name``. Raises PluginError: it is not installed, cannot be imported,
    is no attacker, or its options have no defaults."""
    from attacks.attacker import Attacker  # with torch
    from attacks.knowledge.levels import usual_ladder

    found = plugin(GROUP, name, Attacker)
    try:
        found.Options()
        levels = found.ladder() or usual_ladder(found)
    except Exception as error:  # whatever a stranger's class does
        raise PluginError(
            f"attacker {name} cannot take part: {type(error).__name__} in its options or ladder; "
            "every option needs a default"
        ) from None
    _LADDERS[name] = dict(levels)
    return found


def attackers() -> Iterator[tuple[str, type[Attacker]]]:
    """Every attacker that can be used, by name; the others are named in the log."""
    return plugins(GROUP, attacker_class)


def ladder(name: str) -> Ladder:
    """The levels of knowledge of an attacker, the usual one first. Raises PluginError: as
    :func:`attacker_class`."""
    attacker_class(name)
    return _LADDERS[name]


def every_level() -> Iterator[Chosen]:
    """Every attacker at every level."""
    for name, _ in attackers():
        for knowledge in ladder(name):
            yield Chosen(key_of(name, knowledge), name, knowledge)


def choose(text: str) -> Chosen:
    """The attacker of ``NAME`` or ``NAME:KNOWLEDGE``. Raises UsageError: no such attacker or level;
    the message lists them."""
    name, colon, knowledge = text.strip().partition(":")
    refuse_unknown(name)
    levels = ladder(name)
    knowledge = knowledge if colon else next(iter(levels))
    if knowledge not in levels:
        raise UsageError(f"attacker {name} can be {', '.join(levels)}; got {knowledge or 'none'}")
    return Chosen(key_of(name, knowledge), name, knowledge)


def refuse_unknown(name: str) -> None:
    """Raises UsageError unless an attacker of this name is installed; none is imported."""
    known = installed(GROUP)
    if name not in known:
        raise UsageError(
            f"attackers must be among {', '.join(known)}; got {name or 'none'}"
            f"{did_you_mean(name, known)}"
        )


def key_of(name: str, knowledge: str) -> str:
    """``NAME`` for the first level of the attacker's ladder, else ``NAME:KNOWLEDGE``."""
    return name if knowledge == next(iter(ladder(name))) else f"{name}:{knowledge}"


def known_level(key: str) -> Level | None:
    """The level behind a key of results.json; None where the attacker is not installed here."""
    try:
        return choose(key).level
    except UsageError:
        return None


def is_repeated(key: str) -> bool:
    """Whether what an attacker of results.json learns depends on its seed, so that it is repeated;
    one that is not known here is taken to."""
    level = known_level(key)
    return level is None or (level.trained and not level.once)


def finds_marks(key: str) -> bool:
    """Whether an attacker of results.json looks for what a method stamped into its images."""
    level = known_level(key)
    return level is not None and level.marks


_LADDERS: dict[str, Ladder] = {}
