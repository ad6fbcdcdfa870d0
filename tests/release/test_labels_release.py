"""Labels through a whole release."""

import json

import numpy as np
import pytest
from dicom_specimens import dx, file, with_pixels
from dicom_specimens import picture as dicom_picture
from label_specimens import SIZE, box_of, coco, dice, ellipse, nifti_mask, picture, png_mask
from PIL import Image
from release_specimens import Constant, Gray, Wave, fill, pillow, pixels, png, rows, scene
from unreadable import shut

from anonymize.errors import DataError, UsageError
from anonymize.release import pipeline, verify
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions

ELLIPSE = ellipse()
IMAGES = {"a.png": picture(ELLIPSE), "b/c.png": picture(ellipse(centre=(20, 18)))}
BOX = {"bbox": box_of(ELLIPSE), "area": float(np.prod(box_of(ELLIPSE)[2:])), "iscrowd": 0}
MASKS = {"a_mask.png": png_mask(ELLIPSE), "b/c.nii.gz": nifti_mask(ellipse(centre=(20, 18)))}


@pytest.fixture
def labelled(release, tmp_path):
    """``labelled(files, labels)`` → the release's result, of labels that are given by content."""

    def run(files, labels, paths=("labels",), columns=(), model=None, **options):
        fill(tmp_path, {f"given/{name}": content for name, content in labels.items()})
        wanted = LabelOptions(tuple(tmp_path / "given" / p for p in paths), columns)
        return release(files, model or Wave(), labels=wanted, **options)

    run.release = release
    return run


def bright(data):
    """The region of a picture of label_specimens.picture."""
    return pixels(data) > 135


def test_a_label_column_that_no_table_has_is_refused(labelled):
    x, y, w, h = BOX["bbox"]
    table = f"path,x_min,y_min,x_max,y_max,Sign\na.png,{x},{y},{x + w},{y + h},Mass\n".encode()
    with pytest.raises(UsageError, match="--label-column 2 names no column of a table"):
        labelled(IMAGES, {"labels/t.csv": table}, columns=("Sign", "Sing"))
    assert not labelled.release.out.exists()
    assert labelled(IMAGES, {"labels/t.csv": table}, columns=("Sign",)).files["labels/t.csv"]


def test_masks_boxes_and_tables_move_with_their_image(labelled):
    labels = {f"labels/{k}": v for k, v in MASKS.items()}
    labels["labels/boxes.json"] = coco(
        ["a.png", "b/c.png"], [(1, BOX), (2, {"keypoints": [20, 18, 2]})]
    )
    x, y, w, h = BOX["bbox"]
    labels["labels/t.csv"] = (
        f"path,x_min,y_min,x_max,y_max\na.png,{x},{y},{x + w},{y + h}\n".encode()
    )
    result = labelled(IMAGES, labels)
    assert verify.verify(labelled.release.out).sound
    mask = pixels(result.files["labels/labels/a_mask.png"]) > 0
    segmented = bright(result.files["a.png"])
    assert dice(bright(IMAGES["a.png"]), ELLIPSE) == 1
    assert dice(mask, segmented) > 0.98
    assert dice(ELLIPSE, segmented) < 0.95  # it did move
    made = json.loads(result.files["labels/boxes.json"])
    box = made["annotations"][0]["bbox"]
    np.testing.assert_allclose(box[0], box_of(mask)[0], atol=3)
    assert box[0] <= box_of(mask)[0] + 1
    assert box[0] + box[2] >= sum(box_of(mask)[::2]) - 1
    [row] = rows(result.files["labels/t.csv"])
    assert float(row["x_max"]) == pytest.approx(box[0] + box[2], abs=0.01)
    assert made["annotations"][0]["area"] == pytest.approx(box[2] * box[3], rel=1e-4)
    assert b"DOE" not in b"".join(result.files.values())
    assert result.summary.labels.released == 5
    assert result.summary.labels.held_back == result.summary.labels.without_image == 0
    listed = {r["output"]: r for r in rows(result.files["labels/manifest.csv"])}
    assert listed.keys() == {p for p in result.files if p.startswith("labels/")} - {
        "labels/manifest.csv"
    }
    assert float(listed["labels/boxes.json"]["largest_miss_px"]) < 0.01


@pytest.mark.parametrize(
    ("model", "right", "down", "off"), [(Constant(-4, 3), 4, -3, 0.01), (Gray(), 0, 0, 0)]
)
def test_a_shift_shifts_labels_by_as_much(labelled, model, right, down, off):
    labels = {"labels/a.png": png_mask(ELLIPSE), "labels/k.json": coco(["a.png"], [(1, BOX)])}
    result = labelled({"a.png": IMAGES["a.png"]}, labels, model=model)
    mask = pixels(result.files["labels/labels/a.png"]) > 0
    np.testing.assert_array_equal(mask, np.roll(ELLIPSE, (down, right), (0, 1)))
    [annotation] = json.loads(result.files["labels/k.json"])["annotations"]
    x, y, w, h = BOX["bbox"]
    assert annotation["bbox"] == pytest.approx([x + right, y + down, w, h], abs=off, rel=0)
    assert b"DOE" not in result.files["labels/k.json"]


def test_labels_of_quarantined_images_are_held_back(labelled):
    files = {**IMAGES, "d.png": b"\x89PNG\r\n\x1a\n damaged"}
    labels = {
        "labels/d_mask.png": png_mask(ELLIPSE),
        "labels/a_mask.png": png_mask(ELLIPSE),
        "labels/nobody.png": png_mask(ELLIPSE),
        "labels/k.json": coco(["a.png", "d.png", "gone.png"], [(1, BOX), (2, BOX), (3, BOX)]),
        "labels/t.csv": b"path,x,y\nd.png,3,4\na.png,5,6\ngone.png,1,1\n",
    }
    result = labelled(files, labels)
    assert "labels/labels/d_mask.png" not in result.files
    content = json.loads(result.files["labels/k.json"])
    assert [image["file_name"] for image in content["images"]] == ["a.png"]
    assert [a["image_id"] for a in content["annotations"]] == [1]
    assert [row["path"] for row in rows(result.files["labels/t.csv"])] == ["a.png"]
    summary = result.summary.labels
    assert (summary.released, summary.held_back, summary.without_image) == (3, 3, 3)
    private = rows((labelled.release.private / "labels.csv").read_bytes())
    outcomes = {(r["labels"], r["image"]): (r["outcome"], r["reason"]) for r in private}
    assert outcomes["k.json", "d.png"] == ("quarantined", "damaged")
    assert outcomes["labels", "a.png"] == ("released", "")
    assert outcomes["labels", ""] == outcomes["t.csv", ""] == ("no-image", "")


def test_the_private_list_says_the_names_of_classes(labelled):
    labels = {
        "labels/k.json": coco(["a.png"], [(1, BOX)]),
        "labels/t.csv": b"path,x,y,label\na.png,3,4,rib\na.png,5,6,heart\n",
    }
    labelled(IMAGES, labels)
    private = rows((labelled.release.private / "labels.csv").read_bytes())
    assert {r["labels"]: r["classes"] for r in private} == {"k.json": "lung", "t.csv": "heart; rib"}


BAD_LABELS = {
    "another shape": {"labels/a.png": png_mask(ellipse(size=(40, 40)))},
    "no mask": {"labels/a.png": pillow(scene(), "PNG")},
    "damaged": {"labels/a.png": png_mask(ELLIPSE)[:-40]},
    "outside": {"labels/k.json": coco(["a.png"], [(1, {"bbox": [40, 10, 20, 5]})])},
    "sizes": {"labels/t.csv": b"path,x,y,image_width,image_height\na.png,3,4,40,40\n"},
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_an_image_whose_labels_cannot_be_carried_over_is_quarantined(labelled, tmp_path, case):
    result = labelled(IMAGES, BAD_LABELS[case])
    assert result.quarantine == {"a.png": "labels"}
    assert "a.png" not in result.files
    assert "b/c.png" in result.files
    wanted = LabelOptions((tmp_path / "given/labels",))
    source, out = labelled.release.source, tmp_path / "other"
    planned = pipeline.plan(source, out, Wave(), ReleaseOptions(labels=wanted))
    assert [(p.input, p.reason) for p in planned] == [("a.png", "labels"), ("b/c.png", "")]


def test_labels_of_a_turned_image_are_refused(labelled):
    exif = Image.Exif()
    exif[274] = 3
    turned = pillow(scene(), "JPEG", exif=exif)
    result = labelled({"a.jpg": turned}, {"labels/a.png": png_mask(ELLIPSE)})
    assert result.quarantine == {"a.jpg": "labels"}


def test_hashed_names_leave_nothing_of_the_old_ones(labelled):
    files = {f"DOE/{name}": content for name, content in IMAGES.items()}
    labels = {
        "DOE/DOE/a_mask.png": png_mask(ELLIPSE),
        "DOE/DOE/a_heart.png": png_mask(ELLIPSE),
        "DOE/DOE.json": coco(["DOE/b/c.png", "DOE/a.png"], [(1, {}), (2, BOX)]),
        "DOE/DOE.csv": b"path,mask,label\nDOE/a.png,DOE/a_heart.png,heart\n",
    }
    result = labelled(files, labels, paths=["DOE"], names="hashed")
    public = b"".join(result.files.values()) + "".join(result.files).encode()
    assert b"DOE" not in public
    assert b"/a_mask" not in public  # a hashed name may end in a
    [mask] = [
        p for p in result.files if p.startswith("labels/masks-1/") and p.endswith("_mask.png")
    ]
    image = mask.removeprefix("labels/masks-1/").replace("_mask", "")
    assert image in result.files
    content = json.loads(result.files["labels/coco-3.json"])
    assert {i["file_name"] for i in content["images"]} == {
        p for p in result.files if "/" not in p
    } - {"manifest.csv"}
    assert [i["id"] for i in content["images"]] == [1, 2]
    assert sorted(i["file_name"] for i in content["images"]) == [
        i["file_name"] for i in content["images"]
    ]
    [row] = rows(result.files["labels/table-2.csv"])
    assert row["path"] == image
    assert row["mask"] in result.files


def test_the_same_command_gives_the_same_bytes(labelled):
    labels = {f"labels/{k}": v for k, v in MASKS.items()}
    labels["labels/k.json"] = coco(["a.png", "b/c.png"], [(1, BOX), (2, BOX)])
    first = labelled(IMAGES, labels, workers=2)
    for path in (
        "labels/labels/a_mask.png",
        "labels/k.json",
        "b/c.png",
        "labels/labels/b/c.nii.gz",
    ):
        (labelled.release.out / path).unlink()
    again = labelled(IMAGES, labels)
    assert again.files == first.files
    assert again.summary.anonymized == 2
    third = labelled(IMAGES, labels)
    assert third.files == first.files
    assert third.summary.already_done == 2


def test_changed_labels_are_carried_over_anew(labelled):
    labels = {"labels/a.png": png_mask(ELLIPSE), "labels/k.json": coco(["a.png"], [(1, BOX)])}
    first = labelled(IMAGES, labels)
    labels["labels/a.png"] = png_mask(ellipse(centre=(22, 20)))
    labels["labels/k.json"] = coco(["a.png", "b/c.png"], [(1, BOX), (2, BOX)])
    second = labelled(IMAGES, labels)
    assert second.summary.anonymized == 2
    assert second.files["a.png"] == first.files["a.png"]
    assert second.files["labels/labels/a.png"] != first.files["labels/labels/a.png"]
    assert len(json.loads(second.files["labels/k.json"])["images"]) == 2
    with pytest.raises(UsageError, match="other --labels"):
        labelled(IMAGES, {}, paths=[])


def test_a_category_that_comes_to_tell_the_patient_holds_the_image_back(labelled):
    name = str(dx().PatientName.family_name)
    files = {"a.dcm": file(with_pixels(dx(), dicom_picture(), bits=12))}

    def called(name):
        kinds = [{"id": 1, "name": name}]
        return {"labels/k.json": coco(["a.dcm"], [(1, {})], categories=kinds)}

    assert labelled(files, called("mass"), names="hashed").summary.anonymized == 1
    result = labelled({}, called(name), names="hashed")
    assert result.quarantine == {"a.dcm": "labels"}
    assert name not in json.dumps(
        json.loads(result.files["labels/coco-1.json"]), ensure_ascii=False
    )


def test_labels_of_inputs_that_are_gone_mean_what_they_meant(labelled):
    def given(kinds, columns):
        told = [{"id": number, "name": name} for number, name in kinds.items()]
        table = f"path,x,y,{columns}\nb/c.png,5,6,2,3\n".encode()
        boxes = coco(["b/c.png"], [(1, BOX | {"category_id": 2})], categories=told)
        return {"labels/k.json": boxes, "labels/t.csv": table}

    before = given({1: "mass", 2: "nodule"}, "label,Grade")
    before["labels/k.json"] = coco(
        ["a.png", "b/c.png"],
        [(1, BOX), (2, BOX | {"category_id": 2})],
        categories=[{"id": 1, "name": "mass"}, {"id": 2, "name": "nodule"}],
    )
    before["labels/t.csv"] += b"a.png,7,8,1,4\n"
    labelled(IMAGES, before, columns=("Grade",))
    (labelled.release.source / "a.png").unlink()
    after = labelled({}, given({1: "nodule", 2: "mass"}, "label,Grade"), columns=("Grade",))
    found = json.loads(after.files["labels/k.json"])
    names = {c["id"]: c["name"] for c in found["categories"]}
    of = {a["image_id"]: names[a["category_id"]] for a in found["annotations"]}
    assert {i["file_name"]: of[i["id"]] for i in found["images"]} == {
        "a.png": "mass",
        "b/c.png": "mass",
    }
    assert verify.verify(labelled.release.out).sound
    for columns in ((), ("Stage",)):
        head = "label,Stage"
        with pytest.raises(UsageError, match="other columns than when labels of 1 file"):
            labelled({}, given({1: "nodule", 2: "mass"}, head), columns=columns)


def test_masks_go_when_their_image_is_refused_later(labelled):
    labels = {"labels/a.png": png_mask(ELLIPSE)}
    labelled(IMAGES, labels)
    (labelled.release.source / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n damaged")
    result = labelled({}, labels)
    assert result.quarantine == {"a.png": "damaged"}
    assert not any("a.png" in path for path in result.files)


BEFORE = [
    ({"labels/k.json": b"{"}, ("labels",), DataError, "no JSON"),
    ({"labels/a.png": b"x"}, ("nowhere",), UsageError, "does not exist"),
    ({"labels/a.jpg": b"x"}, ("labels",), UsageError, r"kind \.jpg"),
    ({"labels/scan.doe": b"x"}, ("labels",), UsageError, "a file of another kind"),
    ({"labels/.DS_Store": b"x"}, ("labels",), UsageError, "holds no labels"),
    ({"l/a.txt": b"x"}, ("l/a.txt",), UsageError, "no kind"),
    ({"l/k.json": coco([], []), "m/k.json": coco([], [])}, ("l", "m"), UsageError, "same name"),
    ({"l/t.csv": b"path,mask\na.png,../x.png\n"}, ("l",), DataError, "beside the table"),
    ({"l/t.csv": b"path,mask\na.png,m.png\nb/c.png,m.png\n"}, ("l",), DataError, "one image"),
    ({"l/t.csv": b"path,x,y\nc.png,1,2\n"}, ("l",), DataError, "2 images"),
    ({"l/c.png": png_mask(ELLIPSE)}, ("l",), DataError, "2 images"),
]


@pytest.mark.parametrize(("labels", "paths", "kind", "words"), BEFORE)
def test_bad_labels_are_refused_before_anything_is_written(labelled, labels, paths, kind, words):
    files = {**IMAGES, "e/c.png": IMAGES["a.png"]}
    with pytest.raises(kind, match=words) as error:
        labelled(files, labels, paths=paths)
    assert not any(word in str(error.value) for word in ("a.png", ".doe"))
    assert not labelled.release.out.exists()


def test_a_folder_of_labels_that_cannot_be_opened_is_no_empty_one(labelled, monkeypatch):
    shut(monkeypatch, "more")
    labels = {"labels/a.png": MASKS["a_mask.png"], "labels/more/c.png": MASKS["a_mask.png"]}
    with pytest.raises(UsageError, match="a folder that cannot be opened"):
        labelled(IMAGES, labels)


def test_labels_must_lie_apart(labelled, release, tmp_path):
    fill(release.source, {"masks/a.png": MASKS["a_mask.png"]})
    with pytest.raises(UsageError, match="lies in IN"):
        labelled(IMAGES, {"l/k.json": coco([], [])}, paths=["../in/masks"])
    fill(release.source, {"masks/a.png": b"text"})
    with pytest.raises(UsageError, match="a folder or file labels"):
        labelled({"labels/a.png": IMAGES["a.png"]}, {"l/a.png": MASKS["a_mask.png"]}, paths=["l"])
    (tmp_path / "given/link").symlink_to(tmp_path / "given/l")
    with pytest.raises(UsageError, match="link"):
        labelled(IMAGES, {}, paths=["link"])


def test_hashed_names_refuse_masks_that_tell_more(labelled):
    for end in ("DOE", "12_03_57", "lungs_47_11_08_15"):
        with pytest.raises(DataError, match="common words"):
            labelled(IMAGES, {f"labels/a_{end}.png": png_mask(ELLIPSE)}, names="hashed")


def test_numbers_of_folders_and_of_masks_spell_no_date(labelled):
    born = {"labels/12/03/a_57.png": png_mask(ELLIPSE)}
    [mask] = [p for p in labelled(IMAGES, born, names="hashed").files if p.endswith("_57.png")]
    assert {"12", "03"}.isdisjoint(mask.split("/"))


def test_a_table_that_is_called_as_a_date_gets_another_name(labelled):
    born = {"points_12_03_57.json": coco(["a.png"], [(1, BOX)])}
    assert "labels/coco-1.json" in labelled(IMAGES, born, paths=["."]).files


def test_nothing_hides_in_the_names_of_labels(labelled):
    hidden = "".join(chr(0xE0100 + byte) for byte in b"DOE")  # drawn as nothing
    masks = {f"labels/a_lungs{hidden}.png": png_mask(ELLIPSE)}
    with pytest.raises(DataError, match="common words"):
        labelled(IMAGES, masks, names="hashed")
    done = labelled(IMAGES, masks)
    assert done.quarantine == {"a.png": "labels"}
    assert not [path for path in done.files if hidden in path]


def test_png_masks_of_few_values_keep_them(labelled):
    values = np.where(ELLIPSE, 3, 0) + 4 * (np.arange(SIZE[0]) > 30)
    result = labelled(IMAGES, {"labels/a.png": png(values, 8, 0)})
    made = pixels(result.files["labels/labels/a.png"])
    assert set(np.unique(made)) == {0, 3, 4, 7}
