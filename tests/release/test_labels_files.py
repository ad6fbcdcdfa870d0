"""Label files: what is read, what is refused, and that nothing else is taken over."""

import gzip
import io
import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from label_specimens import SIZE, coco, ellipse, nifti_mask, palette_mask, png_mask
from PIL import Image
from release_specimens import SCENE16, chunk, pillow, png, scene

from anonymize.errors import DataError
from anonymize.release.labels import coco as coco_module
from anonymize.release.labels import masks, read, rle, table
from anonymize.release.labels.motion import Motion
from anonymize.release.reasons import Reason, Refused

STILL = Motion(SIZE, None)
CLASSES = (np.arange(40)[:, None] // 10 + np.arange(52) // 20) % 4


@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))), st.booleans())
def test_run_lengths_come_back(mask, as_string):
    np.testing.assert_array_equal(rle.decode(rle.encode(mask, as_string=as_string)), mask)


def test_run_lengths_are_those_of_coco():
    """By hand: column by column, beginning with zeros."""
    mask = np.array([[0, 1, 1], [0, 0, 1]], bool)
    assert rle.encode(mask, as_string=False) == {"size": [2, 3], "counts": [2, 1, 1, 2]}
    # Counts 2, 1, 1, 2 − 1: one group of five bits each, from "0".
    assert rle.encode(mask, as_string=True)["counts"] == "2111"
    # 32 = 0b1_00000: low group 0 with more to come ("P"), then 1.
    assert rle.encode(np.zeros((4, 8), bool), as_string=True)["counts"] == "P1"
    # A difference of −3 is one group with the sign bit: 0b11101 → "M".
    assert rle.decode({"size": [1, 11], "counts": "141M3"}).sum() == 5


@pytest.mark.parametrize("counts", [[3, 4], [7, -1], "1", "P", "zzzzzzzzzzzzzz", [2, 1, 1, 2, 1]])
def test_bad_run_lengths_are_refused(counts):
    with pytest.raises(ValueError, match="run lengths"):
        rle.decode({"size": [2, 3], "counts": counts})


MASKS = {
    "one.png": pillow(ellipse(), "PNG"),
    "binary.png": png_mask(ellipse()),
    "classes.png": png(CLASSES, 8, 0, extra=chunk(b"tEXt", b"Comment\0DOE^JANE")),
    "two-bits.png": png(CLASSES, 2, 0),
    "sixteen.png": png(CLASSES * 300, 16, 0),
    "palette.png": palette_mask(CLASSES),
    "colours.png": png(np.stack([CLASSES * 60, CLASSES * 3, 9 - CLASSES], -1), 8, 2),
    "three.nii.gz": nifti_mask(CLASSES),
    "two.nii": nifti_mask(CLASSES, compressed=False, axes=2),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_keeps_its_values_and_nothing_else(name):
    mask = masks.decode(name, MASKS[name])
    again = masks.encode(mask)
    masks.check(mask, again)
    assert mask.size == SIZE
    assert b"DOE^JANE" not in again
    assert len(np.unique(mask.values.reshape(-1, *mask.values.shape[2:]), axis=0)) in (2, 4)
    assert masks.encode(masks.decode(name, again)) == again
    if name.endswith(".png"):
        first, second = (np.asarray(Image.open(io.BytesIO(d))) for d in (MASKS[name], again))
        np.testing.assert_array_equal(first, second)
    else:
        import nibabel

        plain = gzip.decompress(again) if name.endswith(".gz") else again
        image = nibabel.Nifti1Image.from_bytes(plain)
        assert image.shape == ((52, 40, 1) if "three" in name else (52, 40))
        np.testing.assert_array_equal(np.asarray(image.dataobj).squeeze(), CLASSES.T)
        np.testing.assert_allclose(image.affine, np.diag([-0.2, -0.2, 1, 1]))


def test_colours_of_classes_are_ours():
    """The same whatever the file's palette says, which is three free bytes a class."""
    said = png(CLASSES, 8, 3, palette=np.frombuffer(b"DOE^JANE19700302"[:12], np.uint8))
    made, other = (masks.encode(masks.decode("a.png", d)) for d in (said, MASKS["palette.png"]))
    assert made == other
    shown = np.asarray(Image.open(io.BytesIO(made)).convert("RGB"))
    usual = [(0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0)]  # of PASCAL VOC
    assert {tuple(c) for c in shown.reshape(-1, 3).tolist()} == {
        usual[n] for n in np.unique(CLASSES)
    }
    assert masks.usual_colours(256)[[21, 255]].tolist() == [[128, 64, 128], [224, 224, 192]]


NOT_MASKS = {
    "radiograph.png": (pillow(scene(), "PNG"), "radiograph"),
    "radiograph16.png": (png(SCENE16, 16, 0), "radiograph"),
    "turned.png": (png(CLASSES, 8, 0, extra=chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\0")), "Exif"),
    "damaged.png": (png(CLASSES, 8, 0)[:-30], ""),
    "slices.nii": (nifti_mask(np.zeros((40, 52)), axes=2, compressed=False)[:200], ""),
    "several.nii": (nifti_mask(np.zeros((3, 40, 52)), axes=2, compressed=False), "slice"),
    "not-gzip.nii.gz": (b"abc", ""),
}


@pytest.mark.parametrize("name", NOT_MASKS)
def test_what_is_no_mask_is_refused(name):
    data, words = NOT_MASKS[name]
    with pytest.raises(Refused) as error:
        masks.decode(name, data)
    assert error.value.reason in (Reason.LABELS, Reason.DAMAGED)
    assert words in error.value.detail


RING = [10.0, 10.0, 30.0, 10.0, 30.0, 25.0, 10.0, 25.0]
ANNOTATIONS = [
    (1, {"bbox": [10, 10, 20, 15], "area": 300, "segmentation": [RING], "iscrowd": 0}),
    (1, {"segmentation": rle.encode(ellipse(), as_string=True), "iscrowd": 1}),
    (2, {"keypoints": [12, 9, 2, 0, 0, 0], "num_keypoints": 1}),
]


def test_coco_takes_over_named_fields_only():
    source = coco_module.parse(coco(["a.png", "b.png"], ANNOTATIONS), 1)
    carried = [(f"{k}.png", coco_module.carry(source.labels_of([k]), STILL)[0]) for k in (0, 1)]
    content = source.assembled(carried, renumber=False)
    assert b"DOE" not in content
    made = json.loads(content)
    assert made["images"][0] == {"id": 1, "file_name": "0.png", "width": 52, "height": 40}
    first = made["annotations"][0]
    assert first == {
        **{"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0},
        **{"bbox": [10, 10, 20, 15], "area": 300, "segmentation": [RING]},
    }
    assert made["annotations"][1]["segmentation"] == ANNOTATIONS[1][1]["segmentation"]
    assert made["annotations"][2]["keypoints"] == [12, 9, 2, 0, 0, 0]
    assert made["categories"] == [{"id": 1, "name": "lung"}]
    assert [a["id"] for a in made["annotations"]] == [1, 2, 3]
    assert [a["image_id"] for a in made["annotations"]] == [1, 1, 2]


BAD_COCO = [
    (b"{", "no JSON"),
    (b"[]", "the file"),
    (b'{"images": []}', "annotations"),
    (coco(["a.png"], [(2, {})]), "image_id is not among"),
    (coco(["a.png"], [(1, {"bbox": [1, 2, 3]})]), "annotations 0 bbox"),
    (coco(["a.png"], [(1, {"bbox": [1, 2, -3, 4]})]), "negative"),
    (coco(["a.png"], [(1, {"bbox": [1, 2, float("nan"), 4]})]), "bbox"),
    (coco(["a.png"], [(1, {"segmentation": [[1, 2, 3, 4]]})]), "polygon"),
    (coco(["a.png"], [(1, {"segmentation": {"size": [3, 3], "counts": [9]}})]), "another size"),
    (coco(["a.png"], [(1, {"segmentation": {"size": [40, 52], "counts": [9]}})]), "run lengths"),
    (coco(["a.png"], [(1, {"keypoints": [1, 2]})]), "triples"),
    (coco(["a.png"], [(1, {}), (1, {"id": 100})]), "twice"),
    (coco(["a.png"], [], categories=[{"id": 1, "name": "n" * 65}]), "64"),
    (coco(["a.png"], [], categories=[{"id": 1, "name": "a\nb"}]), "U\\+000A"),
]


def test_a_file_larger_than_is_read_is_refused_before_a_byte_of_it_is(tmp_path, monkeypatch):
    with (tmp_path / "table.csv").open("wb") as file:
        file.truncate(read.MAX_BYTES + 1)
    monkeypatch.setattr(read.storage, "read_regular", None)
    with pytest.raises(OSError, match="larger than is read"):
        read.file(tmp_path / "table.csv")


TABLES = {
    "corners": (
        "file_name,x_min,y_min,x_max,y_max,label\na.png,1,2,11,22.5,lung\n",
        "file_name,x_min,y_min,x_max,y_max,label\na.png,1.0,2.0,11.0,22.5,lung\n",
    ),
    "extent": (
        "path,x,y,width,height,class\na.png,1,2,10,20.5,lung\nb.png,,,,,none\n",
        "path,x,y,width,height,class\na.png,1.0,2.0,10.0,20.5,lung\nb.png,,,,,none\n",
    ),
    "nih": (
        "Image Index,Finding Label,Bbox [x,y,w,h],,,\na.png,Mass,1,2,10,20.5,,,\n",
        "Image Index,Bbox [x,y,w,h],Finding Label\na.png,1.0,2.0,10.0,20.5,Mass\n",
    ),
    "points": ("image,x,y\na.png,1,2\n", "image,x,y\na.png,1.0,2.0\n"),
    "pairs": (
        'path,polygon\na.png,"[[1,2],[11,2],[11,22]]"\nb.png,\n',
        'path,polygon\na.png,"[1.0, 2.0, 11.0, 2.0, 11.0, 22.0]"\nb.png,\n',
    ),
    "words": (
        "path,polygon\na.png,1 2 11 2 11 22\n",
        'path,polygon\na.png,"[1.0, 2.0, 11.0, 2.0, 11.0, 22.0]"\n',
    ),
    "another size": (
        "path,x,y,image_width,image_height\na.png,1,2,104,80\n",
        "path,x,y,image_width,image_height\na.png,1.0,2.0,104,80\n",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_come_back(name):
    given, expected = TABLES[name]
    source = table.parse(given.encode(), 1)
    carried = [
        (reference, table.carry(source.labels_of([row]), STILL)[0])
        for row, reference in source.references()
    ]
    assert source.assembled(carried, renumber=False).decode() == expected


def test_other_columns_are_dropped_unless_they_are_named():
    data = b"path,x,y,label,patient,grade\na.png,1,2,lung,DOE^JANE,3\n"
    for keep, header in (((), "path,x,y,label"), (("grade",), "path,x,y,label,grade")):
        source = table.parse(data, 1, keep)
        made = source.assembled([("o.png", source.labels_of([0]))], renumber=False).decode()
        assert made.splitlines()[0] == header
        assert "DOE" not in made
        assert made.splitlines()[1].startswith("o.png,1.0,2.0,lung")


BAD_TABLES = [
    (b"\xff\xfe\0", "UTF-8"),
    (b"", "needs a column"),
    (b"x,y\n1,2\n", "needs a column"),
    (b"path,label\na.png,x\n", "needs a column"),
    (b"path,x,y\na.png,1,two\n", "row 2"),
    (b"path,x,y\na.png,1,inf\n", "row 2"),
    (b"path,x,y\na.png,1\n", "row 2"),
    (b"path,x,y\n,1,2\n", "row 2"),
    (b"path,polygon\na.png,1 2 3\n", "row 2"),
    (b'path,polygon\na.png,"[[1,2,9,2,9,9],[3,2,9,2,9,9]]"\n', "row 2"),
    (b"path,x,y,label\na.png,1,2," + b"n" * 65 + b"\n", "64"),
]


@pytest.mark.parametrize(
    ("parse", "data", "words"),
    [(coco_module.parse, *bad) for bad in BAD_COCO] + [(table.parse, *bad) for bad in BAD_TABLES],
)
def test_bad_labels_are_one_line_that_quotes_no_value(parse, data, words):
    with pytest.raises(DataError, match=words) as error:
        parse(data, 3)
    assert "--labels 3" in str(error.value)
    assert "\n" not in str(error.value)
    assert "a.png" not in str(error.value)


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    for parse in (coco_module.parse, table.parse):
        with suppress(DataError):
            parse(data, 1)
    for name in ("m.png", "m.nii", "m.nii.gz"):
        with suppress(Refused):
            masks.decode(name, data)
