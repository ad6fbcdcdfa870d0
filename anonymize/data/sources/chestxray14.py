"""NIH ChestX-ray14, as unpacked: one CSV, the images flat or in ``images_0NN/images/``.

Patients are named by the eight digits of their file names. "No Finding" sets all 14 labels to 0.
Where NIH's lists are present they decide the test part; validation is cut from the others later.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.labels import CHESTXRAY14
from anonymize.data.sources.listing import build, read_csv
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

_CSVS = ("Data_Entry_2017_v2020.csv", "Data_Entry_2017.csv")
_LISTS = {"train": "train_val_list.txt", "test": "test_list.txt"}
_COLUMNS = ("Image Index", "Finding Labels", "Follow-up #", "Patient ID", "Patient Age")


def read(options: DataOptions, root: Path) -> Table:
    """The data set at ``root``; see :func:`anonymize.data.sources.registry.read`."""
    csv = next((root / name for name in _CSVS if (root / name).is_file()), root / _CSVS[0])
    entries = read_csv(csv, options.source, (*_COLUMNS, "View Position"))
    sex = next((c for c in ("Patient Gender", "Patient Sex") if c in entries), None)
    if sex is None:
        raise DataError("source chestxray14: the CSV lacks the column Patient Gender")

    images, names = _images(root), entries["Image Index"]
    number = entries["Patient ID"].str.lstrip("0").str.zfill(8)
    numbered = entries["Follow-up #"].str.fullmatch(r"\d{1,9}")
    part, lists = _official(root, names)
    found = [{word.strip() for word in text.split("|")} for text in entries["Finding Labels"]]
    listing = pd.DataFrame(
        {
            "image_id": names,
            "path": [images.get(n, str(root / "images" / n)) for n in names],
            "patient_id": number,
            "follow_up": entries["Follow-up #"].where(numbered, "0").astype(np.int64),
            "view": columns.views(entries["View Position"]),
            "age": columns.ages(entries["Patient Age"]),
            "sex": columns.sexes(entries[sex]),
            "part": part,
            "problem": columns.problem(
                {
                    f"in neither {' nor '.join(_LISTS.values())}": (part == "") & bool(lists),
                    "the file name and Patient ID name different patients": (
                        names.str.extract(r"^(\d{8})_")[0] != number
                    ),
                    "Follow-up # is not a number": ~numbered,
                    "Finding Labels holds an unknown finding": np.array(
                        [not words <= {*CHESTXRAY14, "No Finding"} for words in found]
                    ),
                }
            ),
            **columns.present(entries["Finding Labels"], CHESTXRAY14),
        }
    )
    return build(listing, options, labels=CHESTXRAY14, root=root, csvs=[csv, *lists])


def _images(root: Path) -> dict[str, str]:
    """File name → path, over ``images/``, ``images_0NN/images/`` and ``images_0NN/``."""
    patterns = ("images", "images_*/images", "images_*")
    folders = [folder for pattern in patterns for folder in sorted(root.glob(pattern))]
    return {
        path.name: str(path)
        for folder in reversed(folders)
        if folder.is_dir()
        for path in folder.iterdir()
    }


def _official(root: Path, names: pd.Series) -> tuple[pd.Series, list[Path]]:
    """The part of each image in NIH's lists; if one of the two is absent, it is all the rest."""
    lists = {part: root / name for part, name in _LISTS.items() if (root / name).is_file()}
    rest = {frozenset({"train"}): "test", frozenset({"test"}): "train"}
    parts = pd.Series(rest.get(frozenset(lists), ""), index=names.index)
    for part, path in lists.items():
        parts[names.isin(path.read_text(encoding="utf-8").split())] = part
    return parts, list(lists.values())
