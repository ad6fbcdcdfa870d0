"""The real images: the reference of every comparison."""

from __future__ import annotations

from torch import Tensor

from anonymize.anonymizer import Anonymizer, parse_options
from anonymize.errors import UsageError


class Identity(Anonymizer):
    """Gives the images back as they are."""

    name = "identity"
    changes_nothing = True

    def __init__(self) -> None:
        self.options = {}

    @classmethod
    def from_spec(cls, text: str) -> Identity:
        """Made from the text behind ``identity:``, which must be empty."""
        if parse_options(text):
            raise UsageError(f"identity takes no options, got {text!r}")
        return cls()

    def anonymize(self, images: Tensor) -> Tensor:
        return images
