"""Random numbers for an image that whoever holds a secret can repeat, and nobody else.

They follow from the secret, the method with its options, and the image itself. So neither the order
of the images nor batches or workers matter; two images never share noise, whose difference would
cancel it; nor does one image under two sets of options, whose comparison would reveal it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import torch
from torch import Tensor

PURPOSE = b"anonymize noise, version 1"


class ImageNoise:
    """Uniform 64-bit words by SHAKE-256 (FIPS 202) of secret, context and image.

    The secret is absorbed first and every part with its length, as in KMAC (NIST SP 800-185). The
    context is what else the numbers depend on; JSON.
    """

    def __init__(self, secret: bytes, context: dict[str, Any]) -> None:
        self._secret = secret
        self._context = json.dumps(context, sort_keys=True).encode()

    def within(self, context: dict[str, Any]) -> ImageNoise:
        """Other numbers of the same secret, which depend on another context."""
        return ImageNoise(self._secret, context)

    def words(self, image: Tensor, count: int) -> np.ndarray:
        """``count`` words (uint64) for ``image`` (H, W), which counts as float32."""
        values = image.detach().cpu().float().numpy() + np.float32(0)  # −0 becomes 0
        sponge = hashlib.shake_256()
        shape = json.dumps(values.shape).encode()
        for part in (PURPOSE, self._secret, self._context, shape, values.astype("<f4").tobytes()):
            sponge.update(len(part).to_bytes(8, "big"))
            sponge.update(part)
        return np.frombuffer(sponge.digest(8 * count), "<u8")

    def laplace(self, image: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Laplace noise of scale 1, float64 of ``shape``: an exponential with a random sign."""
        words = self.words(image, int(np.prod(shape)))
        exponential = -np.log(((words >> 11) + 1) * 2.0**-53)  # of (0, 1]: always finite
        return torch.from_numpy(np.where(words & 1, exponential, -exponential)).view(shape)

    def uniform(self, image: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Uniform noise in [−1, 1], float64 of ``shape``."""
        words = self.words(image, int(np.prod(shape)))
        return torch.from_numpy((words >> 11) * 2.0**-52 - 1).view(shape)
