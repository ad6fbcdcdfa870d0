"""Every reader gives the same table, from tiny data sets of each layout and from real ones."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
from source_trees import by_id, make_chexpert, save, tiny, write_csv

from anonymize.data.pairs import genuine
from anonymize.data.sources import chestxray14, covid19
from anonymize.data.sources.registry import SOURCES, read
from anonymize.data.table import COLUMNS
from anonymize.options import DataOptions


@pytest.mark.parametrize("source", SOURCES)
def test_every_reader_gives_the_same_table(source, tmp_path):
    if source == "phantom":
        table = read(DataOptions(patients=10, images=10))
    else:
        table = tiny(source, tmp_path)
    assert table.source == source
    frame = table.frame
    assert list(frame.columns) == [*COLUMNS, *table.labels]
    assert list(frame.index) == list(range(len(frame)))
    assert frame["identified"].dtype == bool
    assert np.issubdtype(frame["follow_up"].dtype, np.integer)
    assert (frame["follow_up"] >= 0).all()
    assert frame["view"].isin(["PA", "AP", ""]).all()
    assert frame["sex"].isin(["F", "M", ""]).all()
    assert frame["part"].isin(["train", "test", ""]).all()
    assert all(isinstance(p, str) and p for p in frame["patient_id"])
    targets = table.targets(np.arange(len(table)))
    assert targets.shape == (len(table), len(table.labels))
    assert np.isin(targets[~np.isnan(targets)], [0, 1]).all()
    load = pickle.loads(pickle.dumps(table.load))
    for row in frame.itertuples():
        image = load(row, 24)
        assert image.shape == (24, 24)
        assert image.dtype == np.uint8
    assert re.fullmatch("[0-9a-f]{64}", table.fingerprint)
    assert table.skipped == ()


def test_chestxray14(tmp_path):
    table = tiny("chestxray14", tmp_path)
    frame = by_id(table)
    assert table.labels == chestxray14.CHESTXRAY14
    first = frame.loc["00000001_000.png"]
    assert [name for name in table.labels if first[name]] == ["Mass", "Hernia"]
    assert frame.loc["00000001_001.png", list(table.labels)].sum() == 0
    assert frame.loc["00000001_001.png", "view"] == "AP"
    assert np.isnan(frame.loc["00000002_000.png", "age"])
    assert list(frame["patient_id"]) == ["00000001", "00000001", "00000002", "00000003"]
    assert set(frame["part"]) == {""}


@pytest.mark.parametrize("given", [("train", "test"), ("train",), ("test",)])
def test_chestxray14_official_lists(tmp_path, given):
    names = {"train": "train_val_list.txt", "test": "test_list.txt"}
    parts = {"train": ["00000001_000.png", "00000001_001.png", "00000003_000.png"]}
    parts["test"] = ["00000002_000.png"]
    for part in given:
        (tmp_path / names[part]).write_text("\n".join(parts[part]))
    frame = by_id(tiny("chestxray14", tmp_path))
    for part, images in parts.items():
        assert set(frame.index[frame["part"] == part]) == set(images)


@pytest.mark.parametrize("inner", ["", "CheXpert-v1.0-small"])
@pytest.mark.parametrize(
    ("uncertain", "value"), [("unknown", np.nan), ("positive", 1.0), ("negative", 0.0)]
)
def test_chexpert(tmp_path, inner, uncertain, value):
    make_chexpert(tmp_path)
    table = read(DataOptions(source="chexpert", root=tmp_path / inner, uncertain=uncertain))
    frame = by_id(table)
    first, second = (f"train/patient00001/study{k}/view1_frontal.jpg" for k in (1, 2))
    assert set(frame.index) == {first, second, "valid/patient64541/study1/view1_frontal.jpg"}
    np.testing.assert_equal(frame.loc[first, "Edema"], value)
    assert frame.loc[first, "Fracture"] == 1
    assert frame.loc[first, "Pneumonia"] == 0
    assert list(frame["follow_up"]) == [0, 1, 0]
    assert set(frame["part"]) == {""}


def test_covid19(tmp_path):
    frame = by_id(tiny("covid19", tmp_path))
    assert set(frame.index) == {"late.png", "unknown.png", "early.png", "tie.png", "other.png"}
    order = frame.loc[["early.png", "late.png", "tie.png", "unknown.png"], "follow_up"]
    assert list(order) == [0, 1, 2, 3]
    assert list(frame.loc[["early.png", "tie.png", "unknown.png"], "view"]) == ["AP", "AP", ""]
    assert frame.loc["other.png", list(covid19.LABELS)].isna().all()
    assert frame.loc["other.png", "patient_id"] == "326a"


NAN = float("nan")


@pytest.mark.parametrize(
    ("finding", "labels"),
    [
        ("COVID-19, ARDS", (1, 1, 1, 0)),
        ("Pneumonia/Viral/SARS", (0, 1, 1, 0)),
        ("Pneumonia/Viral", (NAN, 1, 1, 0)),
        ("Mycoplasma Bacterial Pneumonia", (0, 1, 0, 1)),
        ("Pneumonia/Bacterial/Staphylococcus/MRSA", (0, 1, 0, 1)),
        ("E.Coli", (0, 1, 0, 1)),
        ("Pneumocystis", (0, 1, 0, 0)),
        ("Pneumonia", (NAN, 1, NAN, NAN)),
        ("ARDS", (NAN, NAN, NAN, NAN)),
        ("Unknown", (NAN, NAN, NAN, NAN)),
        ("", (NAN, NAN, NAN, NAN)),
        ("No Finding", (0, 0, 0, 0)),
        ("Tuberculosis", (0, 0, 0, 0)),
    ],
)
def test_covid19_findings(finding, labels):
    np.testing.assert_equal(covid19.finding_labels(finding), labels)


def test_pediatric_patients(tmp_path):
    table = tiny("pediatric-pneumonia", tmp_path)
    frame = by_id(table)
    assert frame.loc["person23_bacteria_77.jpeg", "patient_id"] == "bacteria-23"
    assert frame.loc["person23_virus_12_1.jpeg", "patient_id"] == "virus-23"
    healthy = ["IM-0115-0001.jpeg", "NORMAL2-IM-0115-0001-0002.jpeg"]
    assert set(frame.loc[healthy, "patient_id"]) == {"normal-0115"}
    assert not frame.loc[healthy, "identified"].any()
    assert len(genuine(table, table.part("all"))) == 2
    assert (frame[list(table.labels)].sum(axis=1) == 1).all()


def test_folder(tmp_path):
    table = tiny("folder", tmp_path)
    frame = by_id(table)
    assert table.labels == ("A", "B")
    assert frame[["A", "B"]].to_numpy().tolist() == [[1, 1], [0, 0], [0, 0]]
    assert list(frame["follow_up"]) == [0, 1, 0]
    assert list(frame["sex"]) == ["F", "M", ""]


def test_folder_of_paths_and_patients_only(tmp_path):
    write_csv(tmp_path / "l.csv", [{"path": "./1.png", "patient_id": "x"}])
    save(tmp_path / "1.png")
    table = read(DataOptions(source="folder", root=tmp_path))
    assert table.labels == ()
    assert list(table.frame["image_id"]) == ["1.png"]


# source, folder, images, patients, with several, genuine pairs; shared/data/README.md.
REAL = [
    ("covid19", "covid19", 455, 270, 105, 317),
    ("chestxray14", "chestxray14_64px", 803, 198, 101, None),
    ("pediatric-pneumonia", "pediatric_pneumonia_224px", 4398, 2000, 495, 3393),
]


@pytest.mark.parametrize(("source", "folder", "images", "patients", "several", "pairs"), REAL)
def test_real_counts(shared, source, folder, images, patients, several, pairs):
    table = read(DataOptions(source=source, root=shared / "data" / folder))
    known = table.frame[table.frame["identified"]]
    visits = known["patient_id"].value_counts()
    assert (len(table), len(visits), int((visits > 1).sum())) == (images, patients, several)
    by_hand = sum(n * (n - 1) // 2 for n in visits)
    assert len(genuine(table, table.part("all"))) == by_hand
    assert pairs in (None, by_hand)
    row = SimpleNamespace(**table.frame.iloc[5].to_dict())
    assert table.load(row, 64).shape == (64, 64)


def test_real_pediatric_pneumonia(shared):
    table = read(
        DataOptions(source="pediatric-pneumonia", root=shared / "data/pediatric_pneumonia_224px")
    )
    assert int(table.frame[["bacterial", "viral"]].to_numpy().sum()) == 3226
    # Why the folders are no split: some healthy children's numbers lie in both.
    folders = table.frame["path"].str.extract(r"/(train|test)/")[0]
    spread = folders.groupby(table.frame["patient_id"]).nunique()
    assert (spread > 1).sum() == 48
    assert set(spread.index[spread > 1].str.split("-").str[0]) == {"normal"}
