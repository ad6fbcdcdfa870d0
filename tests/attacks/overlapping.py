"""Two folders of drawn radiographs that share patients, and how an attacker is asked for."""

import csv

import numpy as np
import yaml
from PIL import Image

from anonymize.data.dataset import Dataset
from anonymize.options import DataOptions

SHARED = 12  # patients with images in both folders
STRANGERS = 18  # in either folder alone


def collections(folder, tiny):
    """Writes A and B below ``folder``; gives the patient of each file, by (folder, name)."""
    data = Dataset.open(DataOptions(**tiny["data"]))
    frame = data.table.frame
    counts = frame["patient_id"].value_counts()
    several = sorted(counts.index[counts >= 4])[:SHARED]
    others = sorted(set(frame["patient_id"]) - set(several))
    owner = {}
    for n, patient in enumerate([*several, *others[: 2 * STRANGERS]]):
        rows = np.flatnonzero(frame["patient_id"] == patient)
        if n < SHARED:
            halves = {"A": rows[: len(rows) // 2], "B": rows[len(rows) // 2 :]}
        else:
            halves = {"A" if n % 2 else "B": rows}
        for name, own in halves.items():
            (folder / name).mkdir(exist_ok=True)
            for row in own:
                file = f"{name}{row:03d}.png"
                Image.fromarray(data.images.array(np.array([row]))[0]).save(folder / name / file)
                owner[name, file] = patient
    return owner


def taught_on(folder, tiny):
    """Arguments of a training-free attacker: it learns nothing, so the same phantoms serve."""
    (folder / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    return ["--config", str(folder / "tiny.yaml"), "--attacker", "training-free"]


def read_table(path):
    """The lines of a CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
