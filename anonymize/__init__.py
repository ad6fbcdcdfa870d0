"""Adversarial anonymization of chest radiographs.

``load(spec)`` gives an :class:`Anonymizer`; ``flow`` is the displacement algebra.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonymize.anonymizer import Anonymizer, load

__all__ = ["Anonymizer", "__version__", "load"]
__version__ = version("anonymize-cxr")


def __getattr__(name: str):
    # The command line answers --help without importing torch.
    if name in ("Anonymizer", "load"):
        return getattr(import_module("anonymize.anonymizer"), name)
    raise AttributeError(f"module 'anonymize' has no attribute {name!r}")
