"""The contract of an archive: it takes one file at a time, and says whether it has it."""

from typing import Protocol


class UnreachableError(Exception):
    """The archive takes nothing for now; the text says why, and quotes nobody."""


class DeclinedError(Exception):
    """The archive does not take this file; the text says why, and quotes nobody."""


class Archive(Protocol):
    """One destination. What it is given twice is the same SOP Instance."""

    def send(self, data: bytes) -> None:
        """Gives it a DICOM file; it has it when this returns. Raises UnreachableError,
        DeclinedError: it does not, as far as is known."""

    def close(self) -> None:
        """Ends the connection."""
