"""Every reader gives the same table, from tiny data sets of each layout and from real ones."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tifffile
from PIL import Image

from anonymize.data.image_files import read_gray, resize
from anonymize.data.pairs import genuine
from anonymize.data.sources import SOURCES, chestxray14, chexpert, covid19, read
from anonymize.data.sources.listing import ImageError
from anonymize.data.table import COLUMNS
from anonymize.errors import DataError
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


@pytest.mark.parametrize("source", SOURCES)
def test_every_reader_gives_the_same_table(source, tmp_path):
    if source == "phantom":
        table = read(DataOptions(patients=12, images=30))
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


def edit(root, name, change):
    path = root / name
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    change(frame).to_csv(path, index=False)


def append(root, name, **values):
    edit(
        root,
        name,
        lambda f: pd.concat([f, pd.DataFrame([f.iloc[0].to_dict() | values])]),
    )


def unlisted(root):
    (root / "train_val_list.txt").write_text("00000001_000.png")
    (root / "test_list.txt").write_text("00000002_000.png")


NIH_CSV, COVID_CSV = "Data_Entry_2017.csv", "metadata.csv"

# Rows that cannot be used: (source, what goes wrong, the reason, how many rows).
PROBLEMS = {
    "absent": ("covid19", lambda r: (r / "images/tie.png").unlink(), "not there", 1),
    "folder instead": (
        "folder",
        lambda r: ((r / "3.tif").unlink(), (r / "3.tif").mkdir()),
        "not there",
        1,
    ),
    "twice": ("folder", lambda r: append(r, "list.csv"), "listed before", 1),
    "disputed": ("folder", lambda r: append(r, "list.csv", patient_id="z"), "several patients", 2),
    "no patient": ("covid19", lambda r: append(r, COVID_CSV, patientid=""), "no patient is", 1),
    "escape": ("folder", lambda r: append(r, "list.csv", path="../1.png"), "leaves the folder", 1),
    "absolute": ("folder", lambda r: append(r, "list.csv", path="/1.png"), "leaves the folder", 1),
    "subfolder": ("covid19", lambda r: append(r, COVID_CSV, filename="../a"), "not the name", 1),
    "age": ("folder", lambda r: append(r, "list.csv", path="n", age="old"), "from 0 to 120", 1),
    "visit": (
        "folder",
        lambda r: edit(r, "list.csv", lambda f: f.assign(follow_up=["0", "-1", "inf"])),
        "whole number",
        2,
    ),
    "other patient": (
        "chestxray14",
        lambda r: append(r, NIH_CSV, **{"Image Index": "00000009_000.png"}),
        "different patients",
        1,
    ),
    "finding": (
        "chestxray14",
        lambda r: edit(
            r, NIH_CSV, lambda f: f.assign(**{"Finding Labels": ["Cold", *["Mass"] * 3]})
        ),
        "unknown finding",
        1,
    ),
    "unlisted": ("chestxray14", unlisted, "in neither", 2),
    "label": (
        "chexpert",
        lambda r: edit(r, "CheXpert-v1.0-small/valid.csv", lambda f: f.assign(Edema="2")),
        "none of 1, 0",
        1,
    ),
    "place": (
        "chexpert",
        lambda r: edit(r, "CheXpert-v1.0-small/valid.csv", lambda f: f.assign(Path="x.jpg")),
        "no patient and study",
        1,
    ),
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


def lacks(name, column):
    def make(root):
        MAKERS[name](root)
        csv = {"chestxray14": NIH_CSV, "covid19": COVID_CSV, "folder": "list.csv"}[name]
        edit(root, csv, lambda f: f.drop(columns=column))

    return make


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
    "column folder": ("folder", lacks("folder", "patient_id"), r"lacks the column\(s\) patient_id"),
    "column covid19": ("covid19", lacks("covid19", "finding"), r"lacks the column\(s\) finding"),
    "column chestxray14": ("chestxray14", lacks("chestxray14", "Patient Gender"), "Patient Gender"),
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


def test_phantom_takes_no_root(tmp_path):
    with pytest.raises(DataError, match="leave --root out"):
        read(DataOptions(root=tmp_path))


def test_messages_name_no_file_and_no_patient(tmp_path):
    make_folder(tmp_path)
    (tmp_path / "a/1.png").unlink()
    with pytest.raises(ImageError) as caught:
        read(DataOptions(source="folder", root=tmp_path))
    assert "1.png" not in str(caught.value)
    assert caught.value.images == (("a/1.png", "the file is not there"),)


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


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [
        *((".png", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")),
        *((".jpg", mode) for mode in ("L", "RGB", "CMYK")),
        *((".tif", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK")),
    ],
)
def test_gray_is_pillows_gray(tmp_path, suffix, mode):
    pixels = np.random.default_rng(1).integers(0, 256, (9, 14, 3), np.uint8)
    path = tmp_path / f"image{suffix}"
    Image.fromarray(pixels).convert(mode).save(path)
    with Image.open(path) as image:
        expected = np.asarray(image.convert("L"))
    found = read_gray(path)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


def test_sixteen_bits_stay(tmp_path):
    pixels = np.random.default_rng(2).integers(0, 65536, (12, 17), np.uint16)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    tifffile.imwrite(tmp_path / "b.tif", pixels, photometric="minisblack")
    tifffile.imwrite(tmp_path / "c.tif", pixels, photometric="minisblack", byteorder=">")
    tifffile.imwrite(tmp_path / "d.tif", 65535 - pixels, photometric="miniswhite")
    for name in ("a.png", "b.tif", "c.tif", "d.tif"):
        found = read_gray(tmp_path / name)
        assert found.dtype == np.uint16
        np.testing.assert_array_equal(found, pixels, err_msg=name)


def test_white_is_zero_of_eight_bits(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (12, 17), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", 255 - pixels, photometric="miniswhite")
    np.testing.assert_array_equal(read_gray(tmp_path / "a.tif"), pixels)


def test_resize_is_bilinear_in_both_depths():
    pixels = np.random.default_rng(4).integers(0, 256, (50, 30), np.uint8)
    eight, sixteen = resize(pixels, 16), resize(pixels.astype(np.uint16) * 257, 16)
    expected = Image.fromarray(pixels).resize((16, 16), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(eight, np.asarray(expected))
    assert sixteen.dtype == np.uint16
    assert np.abs(sixteen / 257 - eight).max() < 1.01
    gradient = np.tile(np.arange(64, dtype=np.uint8), (64, 1))
    assert (np.diff(resize(gradient, 16).astype(int), axis=1) > 0).all()  # x stays x
    assert resize(pixels[:30], 30) is not None
    np.testing.assert_array_equal(resize(pixels[:30], 30), pixels[:30])


def damage_truncate(path):
    save(path, size=(64, 64))
    path.write_bytes(path.read_bytes()[:700])


UNREADABLE = {
    "truncated.png": (damage_truncate, "damaged or truncated"),
    "truncated.jpg": (damage_truncate, "damaged or truncated"),
    "text.png": (lambda p: p.write_text("hello"), "no PNG, JPEG or TIFF"),
    "empty.png": (lambda p: p.write_text(""), "no PNG, JPEG or TIFF"),
    "absent.png": (lambda p: None, "not there"),
    "image.bmp": (lambda p: save(p), "no PNG, JPEG or TIFF"),
    "frames.tif": (
        lambda p: tifffile.imwrite(p, np.zeros((3, 8, 8), np.uint8), photometric="minisblack"),
        "several frames",
    ),
    "float.tif": (lambda p: tifffile.imwrite(p, np.zeros((8, 8), np.float32)), "floating-point"),
    "deep.tif": (lambda p: tifffile.imwrite(p, np.full((8, 8), 70000, np.int32)), "fit 16 bits"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files(name, tmp_path):
    make, message = UNREADABLE[name]
    make(tmp_path / name)
    with pytest.raises(DataError, match=message) as caught:
        read_gray(tmp_path / name)
    assert name not in str(caught.value)


@pytest.mark.parametrize("factor", [1.5, 3])
def test_decompression_bombs_are_refused(tmp_path, monkeypatch, factor):
    save(tmp_path / "a.png", size=(40, 40))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", int(1600 / factor))
    with pytest.raises(DataError, match="decompression bombs"):
        read_gray(tmp_path / "a.png")


def test_originals_of_the_wild(shared):
    files = sorted((shared / "data/originals").iterdir())
    assert len(files) == 18
    for path in files:
        image = read_gray(path)
        assert image.dtype == np.uint8
        assert image.ndim == 2
        assert resize(image, 64).std() > 5


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
