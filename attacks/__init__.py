"""What an adversary can still do to released radiographs, and what they are still good for.

``evaluate`` measures methods against attackers, ``link`` says whom released images show,
``release`` attacks the files of a release, :class:`Attacker` is what a new attacker derives from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacks.api import evaluate, link, release
    from attacks.attacker import Attacker

_HOME = {"Attacker": "attacker", "evaluate": "api", "link": "api", "release": "api"}
__all__ = ["Attacker", "evaluate", "link", "release"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"attacks.{_HOME[name]}"), name)
    raise AttributeError(f"module 'attacks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
