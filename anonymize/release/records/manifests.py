"""The public tables of a release, read strictly: what they may say, and nothing else."""

import csv
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from anonymize.csv_cells import flaw_of_name
from anonymize.release.labels import account
from anonymize.release.labels.collect import FOLDER
from anonymize.release.labels.placed import WORST
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.tables import COUNTS, MANIFEST_COLUMNS

SHA256 = re.compile(r"[0-9a-f]{64}")
METHOD = re.compile(r"(?!.*\d{4})(?=.{1,32}$)[a-z0-9]+([.-][a-z0-9]+)*")
COUNT = re.compile(r"0|[1-9]\d{0,8}")
# Columns of numbers: how they are written, and their bounds.
SIGNIFICANT, DECIMAL = "{:.6g}", "{:.6f}"
NUMBERS = {
    "mu": (SIGNIFICANT, 0, 1e6),
    "displacement_max_px": (SIGNIFICANT, 0, 1e5),
    "displacement_mean_px": (SIGNIFICANT, 0, 1e5),
    "displacement_max_mm": (SIGNIFICANT, 0, 1e5),
    "displacement_mean_mm": (SIGNIFICANT, 0, 1e5),
    "min_jacobian": (SIGNIFICANT, -1e6, 1e6),
    "ssim": (SIGNIFICANT, -1, 1),
    "largest_miss_px": (DECIMAL, 0, WORST),
}
TEXTS = {
    "sha256": SHA256,
    "method": METHOD,
    "model_sha256": re.compile(rf"({SHA256.pattern})?"),
    "kind": re.compile("mask|coco|table|metadata"),
    "labels": COUNT,
    "folded_points": re.compile(rf"({COUNT.pattern})?"),
    "text_regions": re.compile(r"(0|[1-9]\d{0,2})?"),
    **dict.fromkeys(COUNTS, COUNT),
}
LONGEST_ROW = 64  # lines: only quoted cells have several, and no name has
MOVED = ("coco", "table")  # kinds of labels whose points are
ALIKE = ("method", "model_sha256", "mu", *COUNTS)  # the same in every row


class ManifestError(ValueError):
    """A table that no release writes; ``row`` counts from 1, 0 for the table as a whole."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row, self.problem = row, problem


@dataclass(frozen=True)
class Row:
    """A released file: its path under OUT, its sha256, and what it is (an image, or labels);
    whether burned-in text was looked for in it, None where nobody says so."""

    number: int
    output: str
    sha256: str
    kind: str = "image"
    looked: bool | None = None


def images(
    lines: Iterable[bytes], counted: Callable[[Mapping[str, str], int], None] | None = None
) -> Iterator[Row]:
    """The rows of OUT/manifest.csv, line by line; each is of one input, unless ``counted`` looks
    whether the counts, here of the first row and of how many there are, add up.

    Raises ManifestError: other columns, a value of another form, rows out of order, or counts that
    do not add up, which is known at the end."""
    first: dict[str, str] | None = None
    number = 0
    for number, row in enumerate(_rows(lines, MANIFEST_COLUMNS), 1):
        first = first or row
        for key in ALIKE:
            if row[key] != first[key]:
                raise ManifestError(0, f"{key} is not the same in every row")
        if bool(row["text_regions"]) != bool(first["text_regions"]):
            raise ManifestError(0, "text was looked for in some files and not in others")
        if any(_less(row, f"displacement_max_{u}", f"displacement_mean_{u}") for u in ("px", "mm")):
            raise ManifestError(number, "a mean above its largest value")
        looked = _looked(row, set_release=counted is not None)
        yield Row(number, row["output"], row["sha256"], looked=looked)
    if counted is not None:
        counted(first or {}, number)
    elif first is not None:
        inputs, released, quarantined, left_out = (int(first[key]) for key in COUNTS)
        if released != number or released + quarantined + left_out != inputs:
            raise ManifestError(0, "the counts of files do not add up")


def _looked(row: dict[str, str], *, set_release: bool) -> bool | None:
    """Whether text was looked for. Of methods that are differentially private no figure is public
    that compares with the input; of a set none ever compares but this one."""
    if row["text_regions"]:
        return True
    return False if row["ssim"] or set_release else None


def _less(row: dict[str, str], one: str, other: str) -> bool:
    """True where only one of two numbers is given, or the first is the smaller one."""
    if not (row[one] and row[other]):
        return row[one] != row[other]
    return float(row[one]) < float(row[other])


def labels(lines: Iterable[bytes], images: Container[str]) -> Iterator[Row]:
    """The rows of OUT/labels/manifest.csv; ``images`` are the outputs of OUT/manifest.csv. Raises
    ManifestError: as ``images``, or a label of another image."""
    for number, row in enumerate(_rows(lines, account.COLUMNS), 1):
        if (row["kind"] == "mask") != (row["image"] in images):
            raise ManifestError(number, "labels of an image that is not released")
        if not row["output"].startswith(f"{FOLDER}/"):
            raise ManifestError(number, "labels outside of their folder")
        moved = [bool(row[key]) for key in ("largest_miss_px", "folded_points")]
        if set(moved) != {row["kind"] in MOVED} or (row["kind"] == "mask" and row["labels"] != "1"):
            raise ManifestError(number, "figures of another kind of labels")
        yield Row(number, row["output"], row["sha256"], row["kind"])


def read_rows(lines: Iterable[bytes], columns: tuple[str, ...]) -> Iterator[list[str]]:
    """The cells of a table with these columns, of which one row at a time is in memory. Raises
    ManifestError: it is none, or not written as a release writes its tables."""
    taken: list[bytes] = []  # of the row that is being read

    def texts() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            if len(taken) > LONGEST_ROW:
                raise ManifestError(0, "a row that does not end")
            yield line.decode("utf-8", "surrogateescape")

    number = -1
    try:
        for number, cells in enumerate(csv.reader(texts(), strict=True)):
            if number == 0 and tuple(cells) != columns:
                raise ManifestError(0, "other columns than a release of this version writes")
            if len(cells) != len(columns):
                raise ManifestError(number, "more or fewer cells than columns")
            if b"".join(taken) != csv_bytes(cells, ()):
                raise ManifestError(0, "not as a release writes its tables")
            taken.clear()
            if number:
                yield cells
    except csv.Error:
        raise ManifestError(0, "no CSV table") from None
    if number < 0:
        raise ManifestError(0, "no CSV table")


def _rows(lines: Iterable[bytes], columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    last = b""
    for number, cells in enumerate(read_rows(lines, columns), 1):
        row = dict(zip(columns, cells, strict=True))
        for key, value in row.items():
            if not _fits(key, value):
                raise ManifestError(number, f"{key} has a value that no release writes")
        place = row["output"].encode("utf-8", "surrogateescape")
        if place <= last:
            raise ManifestError(number, "outputs out of order, or one given twice")
        last = place
        yield row


def _fits(key: str, value: str) -> bool:
    if key in TEXTS:
        return TEXTS[key].fullmatch(value) is not None
    if key in ("output", "image"):
        return (is_plain(value) and not flaw_of_name(value)) or (key == "image" and not value)
    if not value:
        return True
    form, least, most = NUMBERS[key]
    try:
        number = float(value)
    except ValueError:
        return False
    return least <= number <= most and form.format(number) == value


def is_plain(path: str) -> bool:
    """True for a path that stays below its folder; an absolute one has an empty part."""
    return "\0" not in path and {"", ".", ".."}.isdisjoint(path.split("/"))
