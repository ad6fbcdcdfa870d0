"""Methods without weights: made of typed options, by keywords or from the text of a spec."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from anonymize.anonymizer import Anonymizer, parse_options
from anonymize.errors import UsageError
from anonymize.options import Options, validated


class Configured(Anonymizer):
    """An anonymizer that its options describe completely.

    Args:
        options: keywords, the fields of the method's ``Options``.

    Raises:
        UsageError: an unknown option (the message lists the known ones) or a value out of range.
    """

    Options: ClassVar[type[Options]]

    def __init__(self, **options: Any) -> None:
        if options and not self.Options.model_fields:
            raise UsageError(f"{self.name} takes no options, got {', '.join(options)}")
        try:
            self.settings = validated(self.Options, options)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None
        self.options = self.settings.model_dump(exclude_none=True)

    @classmethod
    def from_spec(cls, text: str) -> Self:
        """Made from the text behind ``NAME:``, for instance ``b=8,epsilon=0.1``."""
        return cls(**parse_options(text))
