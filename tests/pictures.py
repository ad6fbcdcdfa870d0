"""Figures that go elsewhere than to a file; to write them takes longer than the rest."""

from contextlib import contextmanager

import pytest

# All are here before one is changed: who came later would keep the change.
from attacks.reporting.pictures import figures, tradeoff


@contextmanager
def saving(save):
    """With ``save(figure, path)`` in the place of what writes a figure."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (figures, tradeoff):
            patch.setattr(module, "save", save)
        yield


def unsaved():
    """With empty files in the place of pictures."""
    return saving(lambda figure, path: path.write_bytes(b""))
