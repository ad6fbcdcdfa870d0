"""What a data set holds: counts of each part, and a sheet of follow-ups to look at."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from anonymize.data.image_files import resize
from anonymize.data.pairs import genuine
from anonymize.data.table import PARTS, Table
from anonymize.errors import DataError

_TILE, _GAP, _LINE, _MARGIN = 160, 8, 20, 90
_EMPTY = (235, 235, 235)
DOWN, ACROSS = 6, 5  # patients, and images of one


def summarize(table: Table) -> dict[str, Any]:
    """Counts of each part and of all, ready for JSON; nothing in it names a patient or image."""
    reasons = pd.Series([reason for _, reason in table.skipped], dtype=object).value_counts()
    return {
        "source": table.source,
        "fingerprint": table.fingerprint,
        "parts": {name: _count(table, table.part(name)) for name in (*PARTS, "all")},
        "skipped": {
            "images": len(table.skipped),
            "reasons": {str(reason): int(n) for reason, n in reasons.items()},
        },
    }


def _count(table: Table, rows: np.ndarray) -> dict[str, Any]:
    frame = table.frame.iloc[rows]
    visits = frame.loc[frame["identified"], "patient_id"].value_counts()
    targets = table.targets(rows)
    age = frame["age"].dropna()
    return {
        "images": len(frame),
        "patients": len(visits),
        "patients_with_several_images": int((visits > 1).sum()),
        "most_images_of_a_patient": int(visits.max()) if len(visits) else 0,
        "images_of_unidentified_patients": int((~frame["identified"]).sum()),
        "follow_ups": int((frame["identified"] & (frame["follow_up"] > 0)).sum()),
        "genuine_pairs": len(genuine(table, rows)),
        "view": {
            name or "unknown": int((frame["view"] == name).sum()) for name in ("PA", "AP", "")
        },
        "sex": {name or "unknown": int((frame["sex"] == name).sum()) for name in ("F", "M", "")},
        "age": {
            "median": float(age.median()) if len(age) else None,
            "lowest": float(age.min()) if len(age) else None,
            "highest": float(age.max()) if len(age) else None,
            "unknown": len(frame) - len(age),
        },
        "labels": {
            name: {
                "positive": int((values == 1).sum()),
                "negative": int((values == 0).sum()),
                "unknown": int(np.isnan(values).sum()),
            }
            for name, values in zip(table.labels, targets.T, strict=True)
        },
    }


def lines(summary: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The summary as rows of text: what is counted, then each part; the first row is the head."""
    parts = list(summary["parts"].values())
    yield ("", *summary["parts"])
    for key in (key for key, count in parts[0].items() if isinstance(count, int)):
        yield (key.replace("_", " "), *(f"{part[key]:,}" for part in parts))
    for key in ("view", "sex"):
        for name in parts[0][key]:
            yield (f"{key} {name}", *(f"{part[key][name]:,}" for part in parts))
    yield ("age, median (range)", *(_ages(part["age"]) for part in parts))
    for name in parts[0]["labels"]:
        yield (f"{name} + / − / ?", *(_label(part["labels"][name]) for part in parts))


def _ages(age: dict[str, float | None]) -> str:
    if age["median"] is None:
        return "unknown"
    return f"{age['median']:.0f} ({age['lowest']:.0f}–{age['highest']:.0f})"


def _label(counts: dict[str, int]) -> str:
    return " / ".join(f"{counts[key]:,}" for key in ("positive", "negative", "unknown"))


def contact_sheet(table: Table) -> Image.Image:
    """One identified patient a row, follow-ups from left to right; no identifier is drawn.

    Patients with the most images, up to ``ACROSS``, come first; a hash decides among equals.
    DataError where no patient is identified.
    """
    frame = table.frame[table.frame["identified"]]
    visits = frame["patient_id"].value_counts().clip(upper=ACROSS)
    if visits.empty:
        raise DataError(
            f"source {table.source}: no image has an identified patient, so there are no "
            "follow-ups to draw; leave --out out"
        )
    chosen = sorted(
        visits.index, key=lambda who: (-visits[who], hashlib.sha256(who.encode()).digest())
    )[:DOWN]
    columns = int(visits[chosen].max())
    width = _MARGIN + columns * (_TILE + _GAP)
    sheet = Image.new("RGB", (width, _GAP + len(chosen) * (_TILE + _LINE + _GAP)), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for i, who in enumerate(chosen):
        top = _GAP + i * (_TILE + _LINE + _GAP)
        pen.text((_GAP, top + _TILE // 2 - 8), f"Patient {i + 1}", "black", font)
        rows = frame[frame["patient_id"] == who].sort_values("follow_up", kind="stable")
        for j, row in enumerate(rows.head(ACROSS).itertuples()):
            left = _MARGIN + j * (_TILE + _GAP)
            sheet.paste(_tile(table, row), (left, top))
            caption = f"follow-up {row.follow_up}{', ' + row.view if row.view else ''}"
            pen.text((left, top + _TILE + 2), caption, "black", font)
    return sheet


def _tile(table: Table, row: object) -> Image.Image:
    try:
        pixels = table.load(row, _TILE)
    except DataError:
        tile = Image.new("RGB", (_TILE, _TILE), _EMPTY)
        ImageDraw.Draw(tile).text((_GAP, _TILE // 2), "unreadable", "black")
        return tile
    if pixels.dtype == np.uint16:
        pixels = (pixels // 257).astype(np.uint8)
    return Image.fromarray(resize(pixels, _TILE)).convert("RGB")
