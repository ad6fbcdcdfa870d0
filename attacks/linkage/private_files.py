"""Files that hold names of images and patients: whole, or not there, and for their owner only."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anonymize.errors import make_folder
from anonymize.whole_file import write

MODE = 0o600


def private_folder(path: Path, option: str) -> Path:
    """The folder, closed to others where it is made here.

    Raises:
        UsageError: it cannot be written; ``option`` is named.
    """
    new = not path.exists()
    make_folder(path, option)
    if new:
        path.chmod(0o700)
    return path


def write_table(path: Path, columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> None:
    """A CSV with a header; numbers with six digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
    write(path, text.getvalue().encode(), mode=MODE)


def write_json(path: Path, value: Any) -> None:
    """JSON, indented."""
    write(path, (json.dumps(value, indent=2) + "\n").encode(), mode=MODE)


def write_picture(path: Path, data: bytes) -> None:
    """A finished picture."""
    write(path, data, mode=MODE)
