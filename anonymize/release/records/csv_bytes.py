"""Tables as the bytes of a CSV file."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from anonymize.csv_cells import inert


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence]) -> bytes:
    """A header and ``rows``, inert (:mod:`anonymize.csv_cells`); names of files that are no UTF-8
    keep their bytes."""
    return b"".join(csv_lines(columns, rows))


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence]) -> Iterator[bytes]:
    """The same line by line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # what is in it makes the writer quote a cell
    for row in chain((columns,), rows):
        writer.writerow(map(inert, row))
        line = text.getvalue().removesuffix("\r\n")
        yield f"{line}\n".encode("utf-8", "surrogateescape")
        text.seek(0)
        text.truncate()
