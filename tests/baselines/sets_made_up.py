"""Sets of made-up radiographs: few people, of whom some have many images."""

import numpy as np
import torch
from torch.nn.functional import interpolate

from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs


def people(patients=30, *, labels=2, size=(24, 31), seed=0, most=5):
    """Images of 8 bits of ``patients`` with 1 to ``most`` each, with codes that are neither
    positive nor consecutive, and labels of which some are unknown."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(patients) * 7 - 60)
    whose = rng.permutation(np.repeat(codes, rng.integers(1, most + 1, patients)))
    coarse = torch.tensor(rng.random((len(whose), 1, 5, 6)), dtype=torch.float32)
    fine = torch.tensor(rng.random((len(whose), 1, *size)), dtype=torch.float32)
    images = 0.8 * interpolate(coarse, size, mode="bilinear") + 0.2 * fine
    targets = rng.integers(0, 2, (len(whose), labels)).astype(np.float32)
    targets[rng.random(targets.shape) < 0.1] = np.nan
    return Radiographs(HeldImages((images * 255).byte()), whose, targets)


def chosen(given, rows):
    """The set's rows in their order."""
    pixels = given.images.pixels[torch.as_tensor(rows)]
    return Radiographs(HeldImages(pixels), given.patients[rows], given.targets[rows])


def same(one, other):
    """Whether two releases are equal."""
    return (
        torch.equal(one.images.pixels, other.images.pixels)
        and [*map(list, one.contributors)] == [*map(list, other.contributors)]
        and np.array_equal(one.groups, other.groups)
    )
