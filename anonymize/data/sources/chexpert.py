"""CheXpert 1.0, full size or small: frontal images of ``train.csv`` and ``valid.csv``.

Labels are the 13 findings; "No Finding" is none of them. A blank means "not mentioned" and reads
as 0, as in the authors' own baselines; the uncertainty label −1 as ``options.uncertain`` says.

The two files are joined and split by patient: ``valid.csv`` has 200 patients with one study each,
so it can hold no genuine pair of two visits and makes no part on its own. ``follow_up`` is the
study; the images of one study share it. Lateral images are no part of this reader's data set.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.sources.listing import build, read_csv
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

LABELS = (
    *("Enlarged Cardiomediastinum", "Cardiomegaly", "Lung Opacity", "Lung Lesion", "Edema"),
    *("Consolidation", "Pneumonia", "Atelectasis", "Pneumothorax", "Pleural Effusion"),
    *("Pleural Other", "Fracture", "Support Devices"),
)
_UNCERTAIN = {"unknown": np.nan, "positive": 1.0, "negative": 0.0}
_PLACE = r"(?P<patient>patient\d+)/study(?P<study>\d+)/[^/]+$"


def read(options: DataOptions, root: Path) -> Table:
    """The data set at ``root``; see :func:`anonymize.data.sources.registry.read`."""
    root = _base(root)
    csvs = [root / "train.csv"]
    if (root / "valid.csv").is_file():
        csvs.append(root / "valid.csv")
    needed = ("Path", "Sex", "Age", "Frontal/Lateral", "AP/PA", *LABELS)
    entries = pd.concat([read_csv(csv, options.source, needed) for csv in csvs], ignore_index=True)
    entries = entries[entries["Frontal/Lateral"].str.lower() == "frontal"].reset_index(drop=True)

    inside = entries["Path"].str.replace(r"^CheXpert-v1\.0[^/]*/", "", regex=True)
    place = inside.str.extract(_PLACE)
    study = pd.to_numeric(place["study"])
    readings = {label: _reading(entries[label], options.uncertain) for label in LABELS}
    strange = np.logical_or.reduce([bad for _, bad in readings.values()])
    escapes = inside.str.split("/").map(lambda parts: ".." in parts) | inside.str.startswith("/")
    listing = pd.DataFrame(
        {
            "image_id": inside,
            "path": [str(root / path) for path in inside],
            "patient_id": place["patient"].fillna(""),
            "follow_up": (study.fillna(1) - 1).astype(np.int64),
            "view": columns.views(entries["AP/PA"]),
            "age": columns.ages(entries["Age"]),
            "sex": columns.sexes(entries["Sex"]),
            "problem": columns.problem(
                {
                    "Path names no patient and study": place["patient"].isna() | escapes,
                    "a label is none of 1, 0, −1 and blank": strange,
                }
            ),
            **{label: values for label, (values, _) in readings.items()},
        }
    )
    meaning = {"uncertain": options.uncertain}
    return build(listing, options, labels=LABELS, root=root, csvs=csvs, meaning=meaning)


def _base(root: Path) -> Path:
    """The folder of ``train.csv``: the root or its one ``CheXpert-v1.0*``."""
    if (root / "train.csv").is_file():
        return root
    inner = sorted(path.parent for path in root.glob("CheXpert-v1.0*/train.csv"))
    if len(inner) > 1:
        raise DataError(
            f"source chexpert: --root holds {len(inner)} versions of the data set; "
            "give the folder of one, that with its train.csv"
        )
    return inner[0] if inner else root


def _reading(column: pd.Series, uncertain: str) -> tuple[np.ndarray, np.ndarray]:
    """Label values, and which cells hold none of 1, 0, −1 and blank."""
    numbers = pd.to_numeric(column.replace("", "0"), errors="coerce").to_numpy(float)
    return np.where(numbers == -1, _UNCERTAIN[uncertain], numbers), ~np.isin(numbers, (-1, 0, 1))
