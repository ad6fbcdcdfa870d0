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
from anonymize.release.formats import EXTENSIONS
from anonymize.release.reasons import Reason

HEAD = 132  # bytes that tell DICOM
HEADER = 1 << 16  # bytes of a table in which its header must end
TABLES = frozenset({".csv", ".tsv", ".txt", ".json"})
UNREAD = frozenset({".xls", ".xlsx", ".ods", ".sav", ".sqlite", ".parquet", ".mdb", ".accdb"})
PACKED = frozenset({*UNREAD, ".csv", ".tsv"})  # not read in an archive
# Columns, without case, spaces and the like.
NAMED = re.compile(
    r"(patient|patienten|person|subject|case)(s|id|ids|name|names|nr|no|number|key|code)?|pid|mrn"
    r"|patid|name|(full|first|last|middle|given|family|sur|maiden)names?|(vor|nach)name"
    r"|medicalrecord(number)?|(date)?(of)?birth(date|day)?|dob|geburtsdatum|ssn|nhs(number|no)?"
    r"|accession(number|no)?|address|phone|e?mail"
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
        return not suffix or suffix[1:].isdigit() or suffix in {*EXTENSIONS["DICOM"], *PACKED}
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
    """True for a table with a column for patients, or one that cannot be read here."""
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        return suffix in UNREAD
    text = _head(path, root, HEADER).decode("utf-8", "replace").removeprefix("\ufeff")
    if suffix == ".json":  # where a name is that of a class rather
        text = text.replace('"name"', "")
        cells = re.findall(r'"([^"]{1,64})"\s*:', text)
    else:
        lines = text.replace("\r", "\n").replace("\0", "").lstrip().split("\n")
        try:
            cells = [c for cut in ",;\t|" for c in next(csv.reader(lines[:1], delimiter=cut), [])]
        except csv.Error:
            return True
    return any(NAMED.fullmatch(re.sub(r"[\W\d_]", "", cell).casefold()) for cell in cells)
