"""What became of one input: an entry of the journal."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """What became of one input. ``sha256`` etc. are "" or 0 where it was not read.

    An output that nobody accepted yet, or that somebody sent to quarantine, has a reason and its
    ``output`` as well: it waits in the private folder, and not under OUT.
    """

    input: str
    reason: str = ""  # "" where it was released
    detail: str = ""
    size: int = 0
    mtime_ns: int = 0
    sha256: str = ""
    output: str = ""
    output_sha256: str = ""
    note: str = ""
    figures: dict[str, float | None] | None = None
    labels: dict[str, Any] | None = None  # of labels.account.share
    metadata: dict[str, Any] | None = None  # row of --table, and its cells as they are released
    unfit: str = ""  # why the method's strength does not fit its size
    boxes: list[list[int]] | None = None  # x, y, width, height of filled text, pixels of the input
    moved: dict[str, Any] | None = None  # of movement.coarse
    reviewed: str = ""  # when somebody decided about the output, UTC
    known: list[str] | None = None  # of dicom.known.in_header; None where nobody looked

    @property
    def released(self) -> bool:
        return not self.reason

    @property
    def texts(self) -> list[str]:
        """What is released with its labels besides numbers."""
        return (self.labels or {}).get("texts", [])

    @property
    def files(self) -> dict[str, str]:
        """Paths and sha256 of what was made: the image and its masks; none where it was refused."""
        if not self.output:
            return {}
        return {self.output: self.output_sha256, **(self.labels or {}).get("files", {})}
