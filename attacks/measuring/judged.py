"""What it means for a part of a data set that its figures cannot be had."""

from collections.abc import Iterator
from contextlib import contextmanager

from anonymize.errors import DataError


@contextmanager
def judged_on(part: str) -> Iterator[None]:
    """Raises DataError, which names the part, where it has no genuine or no impostor pairs."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{part} cannot tell how good an attacker is: {error}") from None
