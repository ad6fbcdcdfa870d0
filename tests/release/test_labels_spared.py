"""``--spare``: what labels outline is left as it is, in the image and in the labels."""

import json

import numpy as np
import pytest
from label_specimens import SIZE, coco, ellipse, png_mask
from release_specimens import Gray, Wave, fill, pixels, png, rows, scene
from test_tones import Shaded

from anonymize.errors import UsageError
from anonymize.release.labels.options import LabelOptions

BOX = [8.0, 6.0, 12.0, 9.0]  # x, y, width, height
INSIDE = np.s_[6:15, 8:20]
IMAGE = png(scene(), 8, 0)
RUNS = {"size": [40, 52], "counts": [2080]}
KINDS = {
    "coco": {"labels.json": coco(["a.png"], [(1, {"bbox": BOX})])},
    "extent": {"labels.csv": b"path,x,y,width,height,label\na.png,8,6,12,9,nodule\n"},
    "corners": {"labels.csv": b"path,x_min,y_min,x_max,y_max,label\na.png,8,6,20,15,nodule\n"},
    "polygon": {"labels.csv": b'path,polygon,label\na.png,"[8, 6, 20, 6, 20, 15, 8, 15]",nodule\n'},
}


@pytest.fixture
def spared(release, tmp_path):
    """``spared(labels, model)`` → the release of two equal images, of which one has labels."""

    def run(labels, model=None, margin=0.2):
        fill(tmp_path / "given", labels)
        wanted = LabelOptions((tmp_path / "given",), (), margin)
        return release({"a.png": IMAGE, "b.png": IMAGE}, model or Wave(0.1), labels=wanted)

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_the_box_is_the_real_picture_and_the_rest_is_not(spared, kind):
    done = spared(KINDS[kind])
    assert done.quarantine == {}
    a, b, real = pixels(done.files["a.png"]), pixels(done.files["b.png"]), scene()
    assert (a[INSIDE] == real[INSIDE]).all()
    assert (b[INSIDE] != real[INSIDE]).mean() > 0.5
    far = np.s_[30:, 35:]
    assert (a[far] == b[far]).all()
    assert (a[far] != real[far]).mean() > 0.5
    assert "is the real picture" in done.summary.evidence


def test_the_label_stays_and_the_manifest_tells_what_was_moved(spared):
    done = spared(KINDS["coco"])
    (annotation,) = json.loads(done.files["labels/labels.json"])["annotations"]
    assert np.abs(np.subtract(annotation["bbox"], BOX)).max() < 0.25
    manifest = rows(done.files["manifest.csv"])
    found = {row["output"]: float(row["displacement_mean_px"]) for row in manifest}
    assert found["a.png"] < 0.9 * found["b.png"]


def test_gray_levels_are_spared_too(spared):
    done = spared(KINDS["coco"], Shaded(0.1))
    assert (pixels(done.files["a.png"])[INSIDE] == scene()[INSIDE]).all()
    assert (pixels(done.files["b.png"])[INSIDE] != scene()[INSIDE]).mean() > 0.5


@pytest.mark.parametrize("share", [0.7, 1.0])
def test_what_leaves_too_much_as_it_is_is_not_released(spared, share):
    part = [0.0, 0.0, share * SIZE[0], SIZE[1]]
    done = spared({"labels.json": coco(["a.png"], [(1, {"bbox": part})])}, margin=0.05)
    assert done.quarantine == {"a.png": "unchanged"}


@pytest.mark.parametrize(
    "labels",
    [
        {"a.png": png_mask(ellipse())},
        {"labels.json": coco(["a.png"], [(1, {"segmentation": RUNS})])},
    ],
    ids=["mask", "run lengths"],
)
def test_masks_are_refused_since_nobody_looks_where_they_lie(spared, labels):
    assert spared(labels).quarantine == {"a.png": "labels"}


def test_a_method_that_does_not_deform_spares_nothing(spared):
    assert spared(KINDS["coco"], Gray()).quarantine == {"a.png": "labels"}


def test_a_release_that_goes_on_must_spare_the_same(spared):
    spared(KINDS["coco"])
    with pytest.raises(UsageError, match="a release with another --spare"):
        spared(KINDS["coco"], margin=0.3)


@pytest.mark.parametrize("margin", [0, -0.1, 1.5])
def test_margins(tmp_path, margin):
    with pytest.raises(UsageError, match="--spare must be above 0 and at most 1"):
        LabelOptions((tmp_path,), (), margin)


def test_it_needs_labels():
    with pytest.raises(UsageError, match="--spare needs --labels"):
        LabelOptions(spare=0.1)
