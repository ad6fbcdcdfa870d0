"""Images of a quarter that is bright, which labels tell."""

import numpy as np
import torch

from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs

KINDS, SIDE = 4, 32


def blocks(patients, seed):
    """Two images of each patient, one quarter of them bright, which three labels tell; gray levels
    are a patient's own."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(patients), 2)
    kind = (np.arange(patients) % KINDS)[whose]
    images = np.zeros((len(whose), 1, SIDE, SIDE), np.float32)
    images += rng.uniform(0.1, 0.3, patients)[whose, None, None, None]
    half = SIDE // 2
    for image, quarter in zip(images, kind, strict=True):
        y, x = half * (quarter // 2), half * (quarter % 2)
        image[0, y : y + half, x : x + half] += rng.uniform(0.5, 0.7)
    targets = (kind[:, None] == np.arange(KINDS - 1)).astype(np.float32)
    names = [f"{seed}-{row}" for row in range(len(whose))]
    return Radiographs(HeldImages(torch.from_numpy(images)), whose, targets, names)
