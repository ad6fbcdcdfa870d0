"""What an adversary can still do to released radiographs, and what they are still good for.

``evaluate`` measures methods against attackers, ``link`` says whom released images show,
:class:`Attacker` is what a new attacker derives from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacks.api import evaluate, link
    from attacks.attacker import Attacker

_HOME = {"Attacker": "attacker", "evaluate": "api", "link": "api"}
__all__ = ["Attacker", "evaluate", "link"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"attacks.{_HOME[name]}"), name)
    raise AttributeError(f"module 'attacks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
