"""Identical pixels, by hash: the release that passes an image through."""

import hashlib

import numpy as np
import torch
from torch import Tensor

from attacks.attacker import Attacker
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.similarity import check_sets


class Identical(Attacker):
    """Scores 1 where two images have the same pixels, else 0.

    Pixels are compared as a release of 8 bits holds them; 16-bit images at 16 bits.
    """

    name = "identical"

    @classmethod
    def ladder(cls) -> Ladder:
        words = "the same pixels, by hash, before and after"
        return {"ignorant": Level(lambda s: cls(), lambda o: words, compares="before-after")}

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G), 0 or 1."""
        check_sets(probes, gallery)
        asked, known = pixel_digests(probes), pixel_digests(gallery)
        return (asked[:, None] == known).astype(np.float32)


def pixel_digests(images: Tensor) -> np.ndarray:
    """sha256 of size and gray levels, hex (N,); an image is the same as bytes or as fractions.
    ``images``: (N, 1, H, W), uint8, or float32 in [0, 1] with levels of 8 or 16 bits."""
    if images.dtype == torch.uint8:
        levels = images.numpy().astype("<u2") * 257
    else:
        levels = (images.double() * 65535).round().numpy().astype("<u2")
    size = repr(tuple(images.shape[1:])).encode()
    found = [hashlib.sha256(size + image.tobytes()).hexdigest() for image in levels]
    return np.array(found, "U64")
