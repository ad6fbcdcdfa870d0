"""Images of a table as a release would show them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages, Images, in_batches

BATCH = 64


@torch.no_grad()
def released_images(
    model: Anonymizer,
    images: Images,
    *,
    device: torch.device,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> HeldImages:
    """Every image anonymized and rounded to 8 bits, as files of a release hold it."""
    parts = []
    for rows in in_batches(np.arange(len(images)), BATCH):
        anonymized = model(images.batch(rows).to(device))
        parts.append((anonymized * 255).round().to(torch.uint8).cpu())
        progress(int(rows[-1]) + 1, len(images))
    return HeldImages(torch.cat(parts))
