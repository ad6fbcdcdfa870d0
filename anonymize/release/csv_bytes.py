"""Tables as the bytes of a CSV file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

# What a spreadsheet runs; a number with its sign is none.
FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


def is_formula(cell: str) -> bool:
    """True for text that a spreadsheet would compute rather than show."""
    return FORMULA.match(cell) is not None


def inert(value: Any) -> Any:
    """A value for a CSV file; text that a spreadsheet would compute gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and is_formula(value) else value


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence]) -> bytes:
    """A header and ``rows``; names of files that are no UTF-8 keep their bytes."""
    return b"".join(csv_lines(columns, rows))


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence]) -> Iterator[bytes]:
    """The same line by line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in chain((columns,), rows):
        writer.writerow(row)
        yield text.getvalue().encode("utf-8", "surrogateescape")
        text.seek(0)
        text.truncate()
