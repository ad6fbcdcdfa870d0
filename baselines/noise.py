"""Methods that draw random numbers for an image: where these come from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from anonymize.anonymizer import Anonymizer
from anonymize.errors import UsageError
from anonymize.image_noise import ImageNoise
from anonymize.key_files import SECRET_BYTES, key_id, read_secret


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
