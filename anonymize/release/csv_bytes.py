"""Tables as the bytes of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence]) -> bytes:
    """A header and ``rows``; names of files that are no UTF-8 keep their bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "surrogateescape")
