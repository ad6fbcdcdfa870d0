"""In which precision a method computes a release: as fast as its processor can, or in float32.

Both make images that are alike, and not the same last bits; a release keeps what it was begun with.
"""

from pathlib import Path

import torch

from anonymize.anonymizer import Anonymizer
from anonymize.release.records.journal import PRECISION, begun

ACCELERATED, FLOAT32 = "accelerated", "float32"


def chosen(model: Anonymizer, device: torch.device | str, private: Path) -> tuple[Anonymizer, str]:
    """The method as it computes on ``device`` for the release whose private folder it is, and the
    word for that: float32 where the journal says so, else as fast as it can. That a release was
    begun faster than this processor can go on is refused by its journal."""
    exact = model.to(device)
    fast = exact if begun(private).get(PRECISION) == FLOAT32 else exact.accelerated()
    return fast, FLOAT32 if fast is exact else ACCELERATED
