"""Images of a table as a release would show them."""

import numpy as np
import torch

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages, Images, in_batches

BATCH = 64


@torch.no_grad()
def released_images(
    model: Anonymizer, images: Images, *, device: torch.device, bits: int = 8
) -> HeldImages:
    """Every image anonymized and rounded to ``bits`` (8 or 16), as files of a release hold it."""
    parts, largest = [], 2**bits - 1
    for rows in in_batches(np.arange(len(images)), BATCH):
        levels = (model(images.batch(rows).to(device)) * largest).round().cpu()
        parts.append(levels.to(torch.uint8) if bits == 8 else levels / largest)
    return HeldImages(torch.cat(parts))
