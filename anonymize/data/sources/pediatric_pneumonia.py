"""Chest X-ray images of children (Kermany, Zhang and Goldbaum 2018), named by file.

``person23_bacteria_77.jpeg``: the patient is the kind and the number together; ``virus-23`` is
somebody else. ``IM-0115-0001.jpeg`` and ``NORMAL2-IM-0115-…``: healthy children whose identity is
not known. Images of one number stay in one part of a split (patient ``normal-0115``), but are not
``identified``: they make no pair.

The folders ``train`` and ``test`` (and ``val``) are no split here: the numbers of healthy children
lie in both. All images are anterior-posterior; ages and sexes are not published.
"""

import re
from pathlib import Path

import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.image_files import SUFFIXES
from anonymize.data.sources.listing import build
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

LABELS = ("normal", "bacterial", "viral")
_KINDS = {"bacteria": "bacterial", "virus": "viral"}
_PARTS = ("train", "test", "val")
_CLASSES = ("NORMAL", "PNEUMONIA")
_SICK = re.compile(r"person(\d+)_(bacteria|virus)_(\d+)(?:_\d+)?\.\w+")
_HEALTHY = re.compile(r"(?:NORMAL2-)?IM-(\d+)-(\d+)(?:-\d+)?\.\w+")


def read(options: DataOptions, root: Path) -> Table:
    """The data set at ``root``; see :func:`anonymize.data.sources.registry.read`."""
    root = _base(root)
    rows = [
        _row(path, kind)
        for part in _PARTS
        for kind in _CLASSES
        if (root / part / kind).is_dir()
        for path in sorted((root / part / kind).iterdir())
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    ]
    if not rows:
        raise DataError(
            "source pediatric-pneumonia: --root holds no images; give the folder that holds "
            "train/ and test/, each with NORMAL/ and PNEUMONIA/"
        )
    listing = pd.DataFrame(rows)
    listing["follow_up"] = columns.ranks(listing["patient_id"], listing.pop("number"))
    return build(listing.assign(view="AP"), options, labels=LABELS, root=root)


def _base(root: Path) -> Path:
    inner = root / "chest_xray"
    return inner if not (root / "train").is_dir() and inner.is_dir() else root


def _row(path: Path, kind: str) -> dict[str, object]:
    """What the name of a file in ``NORMAL`` or ``PNEUMONIA`` says."""
    sick, healthy = _SICK.fullmatch(path.name), _HEALTHY.fullmatch(path.name)
    label, patient, number, problem = "", "", 0, ""
    if sick and kind == "PNEUMONIA":
        label, patient, number = _KINDS[sick[2]], f"{sick[2]}-{sick[1]}", int(sick[3])
    elif healthy and kind == "NORMAL":
        label, patient, number = "normal", f"normal-{healthy[1]}", int(healthy[2])
    elif sick or healthy:
        problem = "the folder and the file name disagree"
    else:
        problem = "the file name says no patient"
    return {
        "image_id": path.name,
        "path": str(path),
        "patient_id": patient,
        "identified": bool(sick),
        "number": number,
        "problem": problem,
        **{name: float(name == label) for name in LABELS},
    }
