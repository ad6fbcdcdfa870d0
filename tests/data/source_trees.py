"""Tiny data sets of each layout that is read."""

import numpy as np
import pandas as pd
from PIL import Image

from anonymize.data.sources import chexpert
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions


def save(path, seed=0, size=(20, 30)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


def write_csv(path, rows):
    pd.DataFrame(rows).to_csv(path, index=False)


NIH = {
    "Image Index": "00000001_000.png",
    "Finding Labels": "No Finding",
    "Follow-up #": 0,
    "Patient ID": 1,
    "Patient Age": 57,
    "Patient Gender": "M",
    "View Position": "PA",
}
NIH_ROWS = [
    NIH | {"Finding Labels": "Mass|Hernia"},
    NIH | {"Image Index": "00000001_001.png", "Follow-up #": 1, "View Position": "AP"},
    NIH | {"Image Index": "00000002_000.png", "Patient ID": 2, "Patient Age": 414},
    NIH | {"Image Index": "00000003_000.png", "Patient ID": 3, "Patient Gender": "F"},
]


def make_chestxray14(root):
    write_csv(root / "Data_Entry_2017.csv", NIH_ROWS)
    for i, row in enumerate(NIH_ROWS):
        save(root / f"images_00{1 + i % 2}" / "images" / row["Image Index"], i)


def make_chexpert(root):
    blank = dict.fromkeys(chexpert.LABELS, "")
    base = {"Sex": "Female", "Age": 60, "Frontal/Lateral": "Frontal", "AP/PA": "AP"}
    paths = {
        "train": [
            ("patient00001/study1/view1_frontal.jpg", {"Edema": "-1.0", "Fracture": "1.0"}),
            ("patient00001/study2/view1_frontal.jpg", {"Edema": "0.0"}),
            ("patient00001/study2/view2_lateral.jpg", {}),
        ],
        "valid": [("patient64541/study1/view1_frontal.jpg", {"Edema": "1.0"})],
    }
    for part, images in paths.items():
        rows = []
        for i, (path, labels) in enumerate(images):
            row = base | blank | labels | {"No Finding": ""}
            row["Path"] = f"CheXpert-v1.0-small/{part}/{path}"
            if "lateral" in path:
                row |= {"Frontal/Lateral": "Lateral", "AP/PA": ""}
            rows.append(row)
            save(root / row["Path"], i)
        write_csv(root / "CheXpert-v1.0-small" / f"{part}.csv", rows)


COVID = {
    "patientid": "7",
    "offset": "",
    "sex": "M",
    "age": 50,
    "finding": "Pneumonia/Viral/COVID-19",
    "view": "PA",
    "modality": "X-ray",
    "filename": "a.png",
}
COVID_ROWS = [
    COVID | {"filename": "late.png", "offset": 9},
    COVID | {"filename": "unknown.png", "view": ""},
    COVID | {"filename": "early.png", "offset": 2, "view": "AP Supine"},
    COVID | {"filename": "tie.png", "offset": 9, "view": "AP Erect"},
    COVID | {"filename": "lateral.png", "view": "L"},
    COVID | {"filename": "ct.png", "modality": "CT", "view": "Axial"},
    COVID | {"filename": "other.png", "patientid": "326a", "finding": "todo", "sex": ""},
]


def make_covid19(root):
    write_csv(root / "metadata.csv", COVID_ROWS)
    for i, row in enumerate(COVID_ROWS):
        if row["filename"] not in ("lateral.png", "ct.png"):
            save(root / "images" / row["filename"], i)


def make_pediatric(root):
    for i, name in enumerate(
        [
            "train/PNEUMONIA/person23_bacteria_77.jpeg",
            "train/PNEUMONIA/person23_bacteria_78.jpeg",
            "train/PNEUMONIA/person23_virus_12.jpeg",
            "train/PNEUMONIA/person23_virus_12_1.jpeg",
            "train/NORMAL/IM-0115-0001.jpeg",
            "test/NORMAL/NORMAL2-IM-0115-0001-0002.jpeg",
            "test/NORMAL/IM-0007-0001.jpeg",
        ]
    ):
        save(root / name, i)


FOLDER_ROWS = [
    {"path": "a/1.png", "patient_id": "x", "labels": "B|A", "view": "PA", "age": 40, "sex": "F"},
    {"path": "a/2.png", "patient_id": "x", "labels": "", "view": "", "age": "", "sex": "male"},
    {"path": "3.tif", "patient_id": "y", "labels": "No Finding", "view": "AP", "age": 2, "sex": ""},
]


def make_folder(root):
    write_csv(root / "list.csv", FOLDER_ROWS)
    for i, row in enumerate(FOLDER_ROWS):
        save(root / row["path"], i)


MAKERS = {
    "chestxray14": make_chestxray14,
    "chexpert": make_chexpert,
    "covid19": make_covid19,
    "pediatric-pneumonia": make_pediatric,
    "folder": make_folder,
}


def tiny(source, root, **options):
    MAKERS[source](root)
    return read(DataOptions(source=source, root=root, **options))


def by_id(table):
    return table.frame.set_index("image_id")
