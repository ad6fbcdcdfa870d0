"""What can be asked for about labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anonymize.errors import UsageError


@dataclass(frozen=True)
class LabelOptions:
    """Files and folders of labels, and further columns of tables that are kept.

    ``spare``: what they outline stays as it is, with a margin of so much of the image's shorter
    side; None: it moves with the rest.

    Raises UsageError: nothing that could be spared, or no margin."""

    paths: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
    spare: float | None = None

    def __post_init__(self) -> None:
        if self.columns and not self.paths:
            raise UsageError("--label-column needs --labels: it names a column of their tables")
        if self.spare is None:
            return
        if not self.paths:
            raise UsageError("--spare needs --labels: it leaves what they outline as it is")
        if not 0 < self.spare <= 1:
            raise UsageError(f"--spare must be above 0 and at most 1, got {self.spare:g}")
