"""Any method as a dictionary transform of MONAI."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import torch
from monai.config import KeysCollection
from monai.transforms import MapTransform

from anonymize.anonymizer import Anonymizer, load
from anonymize.errors import UsageError


class Anonymized(MapTransform):
    """Anonymizes the images of a dictionary: (1, H, W) in [0, 1], dense tissue bright, in and out.

    A ``MetaTensor`` becomes a plain tensor: its metadata name the file, and may name the patient.

    Args:
        method: an anonymizer, or what :func:`anonymize.load` makes one of.

    Raises:
        UsageError: no such method, or an image of another shape or range.
    """

    def __init__(
        self,
        keys: KeysCollection,
        method: Anonymizer | str | Path,
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.method = method if isinstance(method, Anonymizer) else load(method)

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """The dictionary with its images anonymized; all else stays."""
        found = dict(data)
        for key in self.key_iterator(found):
            image = torch.as_tensor(found[key])
            if image.ndim != 3:
                raise UsageError(
                    f"image {key!r} must have shape (1, H, W), got {tuple(image.shape)}"
                )
            plain = image.as_subclass(torch.Tensor)
            found[key] = self.method(plain[None])[0]
        return found
