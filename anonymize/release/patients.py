"""Whether patients are known: DICOM among the inputs, or a table that names them.

Names of outputs are hashed then, unless the user says otherwise.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from anonymize.release import formats, storage
from anonymize.release.archives import Found
from anonymize.release.column_titles import is_of_people
from anonymize.release.dicom.paths import LEGACY
from anonymize.release.formats import (
    EXTENSIONS,
    OTHER_EXTENSIONS,
    PICTURES,
    SIGNATURES,
    SYSTEM_FILES,
)
from anonymize.release.reasons import Reason

HEAD = 132  # bytes that tell DICOM
HEADER, LINES = 1 << 16, 20  # bytes and lines of a table in which its header must end
NO_TABLES = PICTURES | OTHER_EXTENSIONS
JSON = frozenset({".json", ".jsonl", ".ndjson"})
UNREAD = frozenset(
    f".{kind}"
    for kind in (
        *("xls", "xlsx", "xlsm", "xlsb", "ods", "numbers", "sav", "dta", "sas7bdat", "rds"),
        *("rdata", "sqlite", "sqlite3", "db", "dbf", "mdb", "accdb", "parquet", "feather", "gz"),
    )
)


def known(files: Iterable[Found], root: Path, labels: Iterable[Path]) -> bool:
    """True where any of ``files`` below ``root`` is DICOM or a table that names patients, or a
    file of ``labels`` is such a table.
    """
    return any(_tells(found, root) for found in files) or any(
        _names(path, path.parent) for given in labels for path in _below(given)
    )


def _tells(found: Found, root: Path) -> bool:
    suffix = PurePosixPath(found.path).suffix.lower()
    if found.refusal not in (None, Reason.NAME_COLLISION):  # which hashed names mend
        return False
    if found.member is not None:  # its bytes are a worker's business
        return suffix in EXTENSIONS["DICOM"] or suffix not in NO_TABLES
    path = root / found.path
    return formats.is_dicom(path.name, _head(path, root, HEAD)) or _names(path, root)


def _below(given: Path) -> Iterator[Path]:
    if given.is_file():
        yield given
    for folder, _, names in os.walk(given):
        yield from (Path(folder, name) for name in names)


def _head(path: Path, root: Path, size: int) -> bytes:
    """The first bytes of a regular file; none where it cannot be read, which others report."""
    try:
        return storage.read_regular(path, size - 1, root)[0]
    except OSError:
        return b""


def _names(path: Path, root: Path) -> bool:
    """True for a table with a column for patients, or what may be one and cannot be read here."""
    name, suffix = path.name.lower(), path.suffix.lower()
    if suffix in NO_TABLES or name in SYSTEM_FILES or name.endswith(".nii.gz"):
        return False
    data = _head(path, root, HEADER)
    if any(map(data.startswith, SIGNATURES.values())):  # a picture, whatever it is called
        return False
    if suffix in UNREAD or formats.CONTROL.search(data.replace(b"\0", b"")):
        return True
    return any(_has_column(text, suffix) for text in _texts(data))


def _texts(data: bytes) -> Iterator[str]:
    """What ``data`` may say: in UTF-8, or, where it is none, in what programs write elsewhere."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    yield text
    if "\ufffd" in text:
        yield from (data.decode(encoding, "replace") for encoding in ("cp1252", "utf-16", *LEGACY))


def _has_column(text: str, suffix: str) -> bool:
    """Whether the head of a table, a file with this extension, has a column of people."""
    if suffix in JSON:  # where a name is that of a class rather
        cells = re.findall(r'"([^"]{1,64})"\s*:', text.replace('"name"', ""))
    else:  # titles, dates and the like may stand above the header
        lines = text.replace("\r", "\n").lstrip().split("\n")[:LINES]
        try:
            rows = [row for cut in ",;\t|" for row in csv.reader(lines, delimiter=cut)]
        except csv.Error:
            return True
        cells = [cell for row in rows for cell in row]
    return any(map(is_of_people, cells))
