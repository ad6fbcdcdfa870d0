"""Small patients for the tests of attackers that learn: each has a texture of its own."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from attacks.attacker import Auxiliary, ImageSet
from attacks.measuring.metrics import Owners

SIDE = 32


def image_set(patients, *, each=4, noise=0.15, seed=0, first=0):
    """``patients`` × ``each`` images (uint8): smooth texture of the patient, and noise."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(patients), each) + first
    texture = rng.random((patients, 1, 8, 8)).repeat(each, axis=0)
    images = F.interpolate(torch.from_numpy(texture), (SIDE, SIDE), mode="bicubic")
    images = images + noise * torch.from_numpy(rng.standard_normal(images.shape))
    pixels = (images.clamp(0, 1) * 255).round().to(torch.uint8)
    rows = np.arange(len(codes)) + first * 100
    return ImageSet(pixels, Owners(rows, codes, np.ones(len(codes), bool)))


def parts(**changed):
    """What `Attacker.fit` takes: 24 training and 8 validation patients; released as they are."""
    train, validation = image_set(24, seed=1), image_set(8, seed=2, first=100)
    return replace(Auxiliary(train, train, validation, validation), **changed)


def strangers(images, seed=0):
    """The same owners; images of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, tuple(images.images.shape), np.uint8)
    return ImageSet(torch.from_numpy(pixels), images.owners)
