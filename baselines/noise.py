"""Random numbers for an image that whoever holds a secret can repeat, and nobody else.

They follow from the secret, the method with its options, and the image itself. So neither the order
of the images nor batches or workers matter; two images never share noise, whose difference would
cancel it; nor does one image under two sets of options, whose comparison would reveal it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.key_files import SECRET_BYTES, key_id, read_secret

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


class Noisy(Anonymizer):
    """A method with random numbers; its ``Options`` are :class:`NoiseOptions` and more.

    ``options`` hold neither the key nor its path, but an id of the key. Without seed and key the
    secret is new for each object: an image gets the same numbers from one of them however often,
    since two outputs of one image could be averaged.
    """

    is_random = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        own = self._own()
        secret = os.urandom(SECRET_BYTES)
        self.options = own
        if self.settings.key_file is not None:
            secret = self._read(self.settings.key_file)
            self.options = {**own, "key_id": key_id(secret)}
        elif self.settings.seed is not None:
            secret = f"seed {self.settings.seed}".encode()
            self.options = {**own, "seed": self.settings.seed}
        self.noise = self._noise(secret)

    @property
    def key_file(self) -> Path | None:
        """The file of the secret that its noise follows from."""
        return self.settings.key_file

    @property
    def noise_is_known(self) -> bool:
        return self.settings.seed is not None

    def keyed(self, secret: bytes) -> Self:
        """A seed or a key of its own stays."""
        if self.settings.key_file is not None or self.settings.seed is not None:
            return self
        made = type(self)(**self._own())
        made.noise = self._noise(secret)
        return made

    def redrawn(self, seed: int) -> Self:
        return type(self)(**self._own(), seed=seed)

    def _noise(self, secret: bytes) -> ImageNoise:
        return ImageNoise(secret, {"method": self.name, **self._own()})

    def _own(self) -> dict[str, Any]:
        """Its options but where the random numbers come from."""
        return self.settings.model_dump(exclude={"seed", "key_file"}, exclude_none=True)

    def _read(self, file: Path) -> bytes:
        option = f"key_file of {self.name}"
        secret = read_secret(file.expanduser(), option, private=True)
        if secret is None:
            raise UsageError(
                f"{option} does not exist; make one: (umask 077; head -c 32 /dev/urandom > FILE)"
            )
        return secret
