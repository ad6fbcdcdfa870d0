"""What the findings alone link, beside the committed results: python docs/label_floor.py DATA

Pairs of one person share their findings more often than strangers do, so "same findings" is an
attacker that looks at no pixel. A release that keeps the findings cannot stay below its AUC.
DATA holds the sets in folders named as in SETS. Writes docs/results/floors.json.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from anonymize.data.sources.registry import read
from anonymize.data.splits import assign
from anonymize.data.table import Table
from anonymize.options import DataOptions

SETS = {
    "phantom": ("phantom", None),
    "chestxray14": ("chestxray14", "chestxray14_64px"),
    "covid19": ("covid19", "covid19"),
    "children": ("pediatric-pneumonia", "pediatric_pneumonia_224px"),
}


def label_floor(table: Table) -> dict[str, float | int]:
    """AUC of "all findings equal" over every pair of two test images.

    Genuine: one identified patient; impostors: two patients.
    """
    rows = table.part("test")
    frame = table.frame.loc[rows]
    findings = np.unique(np.nan_to_num(table.targets(rows), nan=-1), axis=0, return_inverse=True)[1]
    patients = frame["patient_id"].to_numpy(str)
    identified = frame["identified"].to_numpy(bool)
    first, second = np.triu_indices(len(rows), 1)
    genuine = patients[first] == patients[second]
    counted = ~genuine | (identified[first] & identified[second])
    same = findings[first] == findings[second]
    return {
        "auc": round(float(roc_auc_score(genuine[counted], same[counted])), 6),
        "genuine": int((genuine & counted).sum()),
        "impostors": int((~genuine).sum()),
    }


def main(data: Path) -> None:
    floors = {}
    for name, (source, folder) in SETS.items():
        root = None if folder is None else data / folder
        floors[name] = label_floor(assign(read(DataOptions(source=source, root=root)), seed=0))
    text = json.dumps(floors, indent=1) + "\n"
    (Path(__file__).parent / "results" / "floors.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
