"""What can be asked for about labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LabelOptions:
    """Files and folders of labels, and further columns of tables that are kept."""

    paths: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()
