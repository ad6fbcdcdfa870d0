"""Adversarial anonymization of chest radiographs.

``load(spec)`` gives an :class:`Anonymizer`, ``read(path)`` an image for it, ``Anonymized`` is a
transform of MONAI around one, ``Radiographs`` a set for methods that release sets; ``flow`` is the
displacement algebra.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anonymize.anonymizer import Anonymizer, load
    from anonymize.monai_transform import Anonymized
    from anonymize.reading import read
    from anonymize.set_anonymizer import Radiographs

# The command line answers --help without importing torch.
_HOME = {
    "Anonymized": "monai_transform",
    "Anonymizer": "anonymizer",
    "Radiographs": "set_anonymizer",
    "load": "anonymizer",
    "read": "reading",
}
__all__ = ["Anonymized", "Anonymizer", "Radiographs", "__version__", "load", "read"]
__version__ = version("anonymize-cxr")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"anonymize.{_HOME[name]}"), name)
    raise AttributeError(f"module 'anonymize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
