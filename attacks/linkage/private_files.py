"""Files that hold names of images and patients: whole, or not there, and for their owner only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from anonymize.csv_cells import inert


def three_files(
    name: str, lines: Sequence[Mapping[str, Any]], value: Any, picture: bytes
) -> dict[str, str | bytes]:
    """NAME.csv with the lines, NAME.json and NAME.png, by their names."""
    content = json.dumps(value, indent=2) + "\n"
    return {f"{name}.csv": as_csv(lines), f"{name}.json": content, f"{name}.png": picture}


def as_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    """A table of lines, numbers with six digits."""
    frame = pd.DataFrame([{key: inert(value) for key, value in line.items()} for line in lines])
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
