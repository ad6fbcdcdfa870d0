"""What readers do with rows, files and folders that are not as they should be; fingerprints."""

import pandas as pd
import pytest
from source_trees import COVID_ROWS, MAKERS, make_chexpert, make_folder, save, write_csv

from anonymize.data.sources.listing import ImageError
from anonymize.data.sources.registry import read
from anonymize.errors import DataError
from anonymize.options import DataOptions

NIH_CSV, COVID_CSV, FOLDER_CSV = "Data_Entry_2017.csv", "metadata.csv", "list.csv"
CHEXPERT_CSV = "CheXpert-v1.0-small/valid.csv"


def edited(name, change):
    """What changes the CSV of this name in a data set."""

    def spoil(root):
        frame = pd.read_csv(root / name, dtype=str, keep_default_na=False)
        change(frame).to_csv(root / name, index=False)

    return spoil


def appended(name, **values):
    """What lists the first row once more, with other values."""
    return edited(name, lambda f: pd.concat([f, pd.DataFrame([f.iloc[0].to_dict() | values])]))


def replaced(name, column, values):
    """What gives a column other values."""
    return edited(name, lambda f: f.assign(**{column: values}))


def unlisted(root):
    (root / "train_val_list.txt").write_text("00000001_000.png")
    (root / "test_list.txt").write_text("00000002_000.png")


OTHER_NUMBER = {"Image Index": "00000009_000.png"}
FOUND = ["Cold", *["Mass"] * 3]

# Rows that cannot be used: (source, what goes wrong, the reason, how many rows).
PROBLEMS = {
    "absent": ("covid19", lambda r: (r / "images/tie.png").unlink(), "not there", 1),
    "folder instead": (
        "folder",
        lambda r: ((r / "3.tif").unlink(), (r / "3.tif").mkdir()),
        "not there",
        1,
    ),
    "twice": ("folder", appended(FOLDER_CSV), "listed before", 1),
    "disputed": ("folder", appended(FOLDER_CSV, patient_id="z"), "several patients", 2),
    "no patient": ("covid19", appended(COVID_CSV, patientid=""), "no patient is", 1),
    "escape": ("folder", appended(FOLDER_CSV, path="../1.png"), "leaves the folder", 1),
    "absolute": ("folder", appended(FOLDER_CSV, path="/1.png"), "leaves the folder", 1),
    "subfolder": ("covid19", appended(COVID_CSV, filename="../a"), "not the name", 1),
    "age": ("folder", appended(FOLDER_CSV, path="n", age="old"), "from 0 to 120", 1),
    "visit": ("folder", replaced(FOLDER_CSV, "follow_up", ["0", "-1", "inf"]), "whole number", 2),
    "other patient": ("chestxray14", appended(NIH_CSV, **OTHER_NUMBER), "different patients", 1),
    "finding": ("chestxray14", replaced(NIH_CSV, "Finding Labels", FOUND), "unknown finding", 1),
    "unlisted": ("chestxray14", unlisted, "in neither", 2),
    "label": ("chexpert", replaced(CHEXPERT_CSV, "Edema", "2"), "none of 1, 0", 1),
    "place": ("chexpert", replaced(CHEXPERT_CSV, "Path", "x.jpg"), "no patient and study", 1),
    "wrong class": (
        "pediatric-pneumonia",
        lambda r: save(r / "train/NORMAL/person1_virus_1.jpeg"),
        "disagree",
        1,
    ),
    "nameless": ("pediatric-pneumonia", lambda r: save(r / "test/NORMAL/x.png"), "no patient", 1),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_unusable_images_end_the_reading_or_are_listed(case, tmp_path):
    source, spoil, reason, count = PROBLEMS[case]
    MAKERS[source](tmp_path)
    whole = len(read(DataOptions(source=source, root=tmp_path)))
    spoil(tmp_path)
    with pytest.raises(ImageError, match=f"^source {source}: {count} of .*{count} × .*{reason}"):
        read(DataOptions(source=source, root=tmp_path))
    table = read(DataOptions(source=source, root=tmp_path, on_missing="skip"))
    assert len(table.skipped) == count
    assert all(reason in why for _, why in table.skipped)
    assert whole - count <= len(table) <= whole


def two_csvs(root):
    make_folder(root)
    (root / "more.csv").write_text("path,patient_id\n")


def two_versions(root):
    make_chexpert(root)
    (root / "CheXpert-v1.0").mkdir()
    (root / "CheXpert-v1.0/train.csv").write_text("Path")


def lacks(name, csv, column):
    def make(root):
        MAKERS[name](root)
        edited(csv, lambda f: f.drop(columns=column))(root)

    return make


SEX = "Patient Gender"
# Data sets that cannot be read at all: (source, how it is made, message).
MISTAKES = {
    "unknown source": ("nih", None, "source must be one of phantom, .*folder; got 'nih'"),
    "no root": ("covid19", None, "needs the folder .* --root DIR"),
    "no such root": ("covid19", lambda r: r.rmdir(), "not a folder"),
    "empty covid19": ("covid19", lambda r: None, "lacks metadata.csv"),
    "empty chestxray14": ("chestxray14", lambda r: None, "lacks Data_Entry_2017_v2020.csv"),
    "empty chexpert": ("chexpert", lambda r: None, "lacks train.csv"),
    "empty pediatric": ("pediatric-pneumonia", lambda r: None, "holds train/ and test/"),
    "empty folder": ("folder", lambda r: None, "exactly one CSV.*it holds 0"),
    "two CSVs": ("folder", two_csvs, "exactly one CSV.*it holds 2"),
    "two versions": ("chexpert", two_versions, "holds 2 versions"),
    "column folder": ("folder", lacks("folder", FOLDER_CSV, "patient_id"), "no patient_id"),
    "column covid19": ("covid19", lacks("covid19", COVID_CSV, "finding"), "no finding"),
    "column chestxray14": ("chestxray14", lacks("chestxray14", NIH_CSV, SEX), SEX),
    "blank CSV": ("folder", lambda r: (r / "a.csv").write_text(""), "empty, malformed"),
    "binary CSV": ("folder", lambda r: (r / "a.csv").write_bytes(b"\xff\xfe\x00"), "malformed"),
    "rows missing": ("folder", lambda r: (r / "a.csv").write_text("path,patient_id\n"), "no image"),
    "label name": (
        "folder",
        lambda r: (r / "a.csv").write_text("path,patient_id,labels\na.png,1,view\n"),
        "no label may be called view",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case, tmp_path):
    source, make, message = MISTAKES[case]
    root = tmp_path / "set"
    root.mkdir()
    if make is not None:
        make(root)
    with pytest.raises(DataError, match=message):
        read(DataOptions(source=source, root=root if make else None))


def test_nothing_left(tmp_path):
    write_csv(tmp_path / "metadata.csv", COVID_ROWS)
    with pytest.raises(DataError, match="no image is left of 5 listed"):
        read(DataOptions(source="covid19", root=tmp_path, on_missing="skip"))


def test_fingerprint_follows_files_and_meaning(tmp_path):
    def fingerprint(**options):
        return read(DataOptions(root=root, source=source, **options)).fingerprint

    source, root = "chexpert", tmp_path
    make_chexpert(root)
    whole = fingerprint()
    assert fingerprint() == whole
    assert fingerprint(split_seed=3, size=128) == whole
    assert fingerprint(uncertain="positive") != whole
    save(root / "CheXpert-v1.0-small/train/patient00001/study1/view1_frontal.jpg", 9, (31, 17))
    assert fingerprint() != whole

    drawn = [{}, {"phantom_seed": 1}, {"images": 31}, {"patients": 11}]
    options = [DataOptions(**({"patients": 12, "images": 30} | change)) for change in drawn]
    assert len({read(o).fingerprint for o in options}) == len(drawn)


@pytest.mark.parametrize("text", ["Effusion, Mass", "Effusion;Mass", "Mass|Effusion, Hernia"])
def test_labels_with_another_separator_are_refused(tmp_path, text):
    make_folder(tmp_path)
    replaced(FOLDER_CSV, "labels", [text, "", ""])(tmp_path)
    with pytest.raises(DataError, match=r"labels are separated by \| \(as in A\|B\), but 1 row"):
        read(DataOptions(source="folder", root=tmp_path))
