"""What became of the labels: an image's share of the journal, and the files made from all of it.

Public, under OUT/labels: masks, tables, ``manifest.csv``. Private: ``labels.csv``, which says of
every label what became of it, and the names of its classes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anonymize.errors import UsageError, counted
from anonymize.release.labels.carry import Carried, Job
from anonymize.release.labels.coco import Coco
from anonymize.release.labels.collect import FOLDER, MANIFEST, Labels
from anonymize.release.labels.placed import Placed
from anonymize.release.labels.table import Table
from anonymize.release.records.csv_bytes import csv_bytes

PRIVATE = "labels.csv"  # in the private folder
COLUMNS = ("output", "sha256", "kind", "image", "labels", "largest_miss_px", "folded_points")
RELEASED, HELD, NO_IMAGE = "released", "quarantined", "no-image"


@dataclass(frozen=True)
class LabelSummary:
    """Images whose labels were released and held back, and labels without an image."""

    images: int = 0
    released: int = 0
    held_back: int = 0
    without_image: int = 0


@dataclass(frozen=True)
class Written:
    """What the tables of labels say beside the journal: names of the sources, those of them that
    are one file, without their labels; and (source, label, image, names of its classes) of each
    label, "" for none."""

    names: dict[int, str]
    tables: dict[int, Coco | Table]
    items: list[tuple[str, str, str, str]]
    hashed: bool

    @classmethod
    def of(cls, labels: Labels) -> Written:
        names = {number: source.name for number, source in labels.sources.items()}
        items = [(names[number], item, "", "") for number, item in labels.orphans]
        for image in labels.images:
            items += [(names[f.source], f.path, image, "") for f in labels.masks.get(image, ())]
            for number, part in labels.parts.get(image, {}).items():
                table = labels.tables[number]
                classes = "; ".join(sorted(table.texts(part)))
                items.append((names[number], table.item(part), image, classes))
        heads = {number: table.emptied() for number, table in labels.tables.items()}
        return cls(names, heads, items, labels.hashed)


def share(
    labels: Labels, image: str, job: Job, carried: Carried, output: str
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the journal will hold of one image's labels, and the mask files by their path.

    Plain values: ``files`` are paths under OUT and their sha256, ``texts`` what is released besides
    numbers, ``records`` and ``placed`` by source.
    """
    there = {(f.source, f.path): labels.path(f, output) for f in job.masks}
    files = {path: carried.masks[mask] for mask, path in there.items()}
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    records = {}
    for number, record in carried.records.items():
        if record.get("shape") == "mask":
            rows = [
                {**row, "where": [there[number, row["where"][0]]] if row["where"] else []}
                for row in record["rows"]
            ]
            record = {**record, "rows": rows}
        head = labels.tables[number].head(labels.parts[image][number])
        records[str(number)] = {**record, "head": head}
    placed = {number: asdict(p) for number, p in carried.placed.items()}
    texts = labels.texts(image)
    told = {"key": job.key, "files": digests, "texts": texts}
    return {**told, "records": records, "placed": placed}, files


def is_of(share: dict[str, Any] | None, labels: Labels, image: str, job: Job | None) -> bool:
    """Whether an image's share of the journal was made of its labels as they are now, and as they
    are called now; what a journal of an earlier version does not say is no difference."""
    if share is None or job is None:
        return share is job
    now = {str(n): labels.tables[n].head(p) for n, p in labels.parts.get(image, {}).items()}
    told = {n: record.get("head", now.get(n)) for n, record in share["records"].items()}
    texts = labels.texts(image)
    return (share["key"], share.get("texts", texts), told) == (job.key, texts, now)


def refuse_other_columns(labels: Labels, shares: Iterable[dict[str, Any] | None]) -> None:
    """Raises UsageError where ``shares`` that stay as they are have rows of other columns than the
    tables have now."""
    now = {str(n): t.head({}) for n, t in labels.tables.items() if isinstance(t, Table)}
    other = sum(
        any(r.get("head", now.get(n)) != now[n] for n, r in s["records"].items() if n in now)
        for s in shares
        if s
    )
    if other:
        raise UsageError(
            "a table of --labels has other columns than when labels of "
            f"{counted(other, 'file')} were released, whose inputs are gone or were rejected; give "
            "it those columns, or choose another OUT"
        )


def tables(
    labels: Written,
    released: Iterable[tuple[str, dict[str, Any] | None]],
    beside: Mapping[str, tuple[bytes, str, int]],
) -> dict[str, bytes]:
    """Every file under OUT that is made of many images: (output, share) in, by path.

    Images come in the order of their outputs' names. ``beside``: content, kind and number of rows
    of further tables, by their path.
    """
    shares = sorted(((o, s) for o, s in released if s), key=lambda item: os.fsencode(item[0]))
    made: dict[str, bytes] = {}
    rows: list[tuple[str, str, str, str, int, str, int | str]] = []
    for number, source in labels.tables.items():
        there = [(o, s["records"][str(number)]) for o, s in shares if str(number) in s["records"]]
        path = f"{FOLDER}/{labels.names[number]}"
        made[path] = source.assembled(there, renumber=labels.hashed)
        total = Placed()
        for _, s in shares:
            if str(number) in s["placed"]:
                total.add(Placed(**s["placed"][str(number)]))
        digest = hashlib.sha256(made[path]).hexdigest()
        figures = (total.count, f"{total.residual:.6f}", total.folded)
        rows.append((path, digest, source.kind, "", *figures))
    for path, (data, kind, count) in beside.items():
        made[path] = data
        rows.append((path, hashlib.sha256(data).hexdigest(), kind, "", count, "", ""))
    for output, s in shares:
        rows += [(path, digest, "mask", output, 1, "", "") for path, digest in s["files"].items()]
    if labels.names or beside:
        rows.sort(key=lambda row: os.fsencode(row[0]))
        made[f"{FOLDER}/{MANIFEST}"] = csv_bytes(COLUMNS, rows)
    return made


def private_list(labels: Written, reasons: dict[str, str]) -> bytes:
    """Source, label, image, outcome and classes of every label; ``reasons`` of the images that are
    held."""
    rows = []
    for name, item, image, classes in labels.items:
        outcome = NO_IMAGE if not image else HELD if image in reasons else RELEASED
        rows.append((name, item, image, outcome, reasons.get(image, ""), classes))
    return csv_bytes(("labels", "label", "image", "outcome", "reason", "classes"), sorted(rows))


def summary(labels: Labels, held: set[str]) -> LabelSummary:
    """Counts of single labels: annotations, rows and mask files."""

    def count(image: str) -> int:
        parts = labels.parts.get(image, {}).values()
        masks = labels.masks.get(image, ())
        own = [f for f in masks if f.source not in labels.tables]
        return len(own) + sum(len(p.get("annotations", p.get("rows", ()))) for p in parts)

    counts = {image: count(image) for image in labels.images}
    back = sum(n for image, n in counts.items() if image in held)
    return LabelSummary(len(counts), sum(counts.values()) - back, back, len(labels.orphans))


def known_paths(names: Iterable[str]) -> set[str]:
    """What a release with tables of these names writes under OUT/labels besides masks."""
    return {f"{FOLDER}/{name}" for name in (*names, MANIFEST)} if names else set()
