"""NIH ChestX-ray14, as unpacked: one CSV, the images flat or in ``images_0NN/images/``.

Patients are named by the eight digits of their file names. "No Finding" sets all 14 labels to 0.
Where NIH's lists are present they decide the test part; validation is cut from the others later.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.labels import CHESTXRAY14
from anonymize.data.sources.listing import build, folder_of, read_csv
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

_CSVS = ("Data_Entry_2017_v2020.csv", "Data_Entry_2017.csv")
_LISTS = {"train": "train_val_list.txt", "test": "test_list.txt"}
_COLUMNS = ("Image Index", "Finding Labels", "Follow-up #", "Patient ID", "Patient Age")


def read(options: DataOptions) -> Table:
    """The data set at ``options.root``; see :func:`anonymize.data.sources.read`."""
    root = folder_of(options)
    csv = next((root / name for name in _CSVS if (root / name).is_file()), root / _CSVS[0])
    entries = read_csv(csv, options.source, (*_COLUMNS, "View Position"))
    sex = next((c for c in ("Patient Gender", "Patient Sex") if c in entries), None)
    if sex is None:
        raise DataError("source chestxray14: the CSV lacks the column Patient Gender")

    images = _images(root)
    number = entries["Patient ID"].str.lstrip("0").str.zfill(8)
    numbered = entries["Follow-up #"].str.fullmatch(r"\d{1,9}")
    listing = pd.DataFrame(
        {
            "image_id": entries["Image Index"],
            "path": [images.get(n, str(root / "images" / n)) for n in entries["Image Index"]],
            "patient_id": number,
            "identified": True,
            "follow_up": entries["Follow-up #"].where(numbered, "0").astype(np.int64),
            "view": columns.views(entries["View Position"]),
            "age": columns.ages(entries["Patient Age"]),
            "sex": columns.sexes(entries[sex]),
            "part": "",
            "problem": "",
            **columns.present(entries["Finding Labels"], CHESTXRAY14),
        }
    )
    lists = _official(root, listing)
    _judge(listing, entries["Finding Labels"], numbered)
    return build(listing, options, labels=CHESTXRAY14, root=root, csvs=[csv, *lists])


def _images(root: Path) -> dict[str, str]:
    """File name → path, over ``images/``, ``images_0NN/images/`` and ``images_0NN/``."""
    folders = [
        root / "images",
        *sorted(root.glob("images_*/images")),
        *sorted(root.glob("images_*")),
    ]
    return {
        path.name: str(path)
        for folder in reversed(folders)
        if folder.is_dir()
        for path in folder.iterdir()
    }


def _official(root: Path, listing: pd.DataFrame) -> list[Path]:
    """Fill ``part`` from NIH's lists; if one of the two is absent, it is all the rest."""
    lists = {part: root / name for part, name in _LISTS.items() if (root / name).is_file()}
    if not lists:
        return []
    for part, path in lists.items():
        names = path.read_text(encoding="utf-8").split()
        listing.loc[listing["image_id"].isin(names), "part"] = part
    unlisted = listing["part"] == ""
    if len(lists) == 1:
        listing.loc[unlisted, "part"] = "train" if "test" in lists else "test"
    else:
        listing.loc[unlisted, "problem"] = f"in neither {' nor '.join(_LISTS.values())}"
    return list(lists.values())


def _judge(listing: pd.DataFrame, findings: pd.Series, numbered: pd.Series) -> None:
    known = {*CHESTXRAY14, "No Finding"}
    strange = [not {w.strip() for w in text.split("|")} <= known for text in findings]
    conflict = listing["image_id"].str.extract(r"^(\d{8})_")[0] != listing["patient_id"]
    for rows, reason in (
        (conflict, "the file name and Patient ID name different patients"),
        (~numbered, "Follow-up # is not a number"),
        (pd.Series(strange), "Finding Labels holds an unknown finding"),
    ):
        listing.loc[rows & (listing["problem"] == ""), "problem"] = reason
