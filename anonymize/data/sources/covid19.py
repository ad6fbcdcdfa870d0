"""The COVID-19 Image Data Collection: its frontal X-ray images.

A blank view counts as frontal: the collection marks lateral images. Follow-ups are numbered by
``offset`` (days) within the patient; equal or unknown offsets as they are listed, unknown last.

Labels come from ``finding``, in the flat wording ("Mycoplasma Bacterial Pneumonia") and in the
hierarchy ("Pneumonia/Bacterial/Mycoplasma") alike; the cause of a pneumonia is exclusive. Unknown
(NaN) are all labels of "todo", "Unknown" and of ARDS alone, and the causes of a bare "Pneumonia".
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.sources.listing import build, read_csv
from anonymize.data.table import Table
from anonymize.options import DataOptions

LABELS = ("COVID-19", "Pneumonia", "Viral", "Bacterial")
_COVID = {"covid-19"}
_VIRAL = _COVID | {"viral", "sars", "mers", "mers-cov", "influenza", "h1n1", "varicella", "herpes"}
_BACTERIAL = {
    *("bacterial", "streptococcus", "staphylococcus", "mrsa", "klebsiella", "e.coli"),
    *("mycoplasma", "legionella", "chlamydophila", "nocardia"),
}
_OTHER = {"fungal", "pneumocystis", "aspergillosis", "lipoid", "aspiration"}
_UNKNOWN = {"", "todo", "unknown"}


def read(options: DataOptions, root: Path) -> Table:
    """The data set at ``root``; see :func:`anonymize.data.sources.registry.read`."""
    csv = root / "metadata.csv"
    needed = ("patientid", "offset", "sex", "age", "finding", "view", "modality", "filename")
    entries = read_csv(csv, options.source, needed)
    frontal = entries["view"].str.fullmatch(r"(?i)|(PA|AP)\b.*")
    entries = entries[frontal & (entries["modality"].str.lower() == "x-ray")]
    entries = entries.reset_index(drop=True)

    names = entries["filename"]
    labels = np.array([finding_labels(text) for text in entries["finding"]], float)
    offset = pd.to_numeric(entries["offset"], errors="coerce")
    listing = pd.DataFrame(
        {
            "image_id": names,
            "path": [str(root / "images" / name) for name in names],
            "patient_id": entries["patientid"],
            "follow_up": columns.ranks(entries["patientid"], offset),
            "view": columns.views(entries["view"]),
            "age": columns.ages(entries["age"]),
            "sex": columns.sexes(entries["sex"]),
            "problem": columns.problem(
                {
                    "filename is not the name of a file": names.str.contains(r"[/\\]|^\.*$"),
                    "no patient is given": entries["patientid"] == "",
                }
            ),
            **dict(zip(LABELS, labels.reshape(-1, len(LABELS)).T, strict=True)),
        }
    )
    return build(listing, options, labels=LABELS, root=root, csvs=[csv])


def finding_labels(finding: str) -> tuple[float, float, float, float]:
    """COVID-19, Pneumonia, Viral, Bacterial: 1 present, 0 absent, NaN unknown."""
    words = set(re.split(r"[\s,/]+", finding.lower().strip()))
    unknown = float("nan")
    covid, viral, bacterial = (bool(words & kind) for kind in (_COVID, _VIRAL, _BACTERIAL))
    if covid or viral or bacterial or words & _OTHER:
        # "Viral" alone leaves open whether it was COVID-19.
        open_cause = words & _VIRAL == {"viral"}
        return (unknown if open_cause else float(covid)), 1.0, float(viral), float(bacterial)
    if "pneumonia" in words:
        return unknown, 1.0, unknown, unknown
    if words & _UNKNOWN or words == {"ards"}:
        return unknown, unknown, unknown, unknown
    return 0.0, 0.0, 0.0, 0.0
