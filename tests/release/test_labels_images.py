"""Which image a reference means."""

import pytest

from anonymize.errors import DataError
from anonymize.release.labels.images import Images

IN = ["a/1.png", "a/2.png", "b/2.png", "c/d/3.dcm", "4.png"]
MEANT = {
    "a/1.png": "a/1.png",
    "./a\\1.png": "a/1.png",
    "a/1.jpg": "a/1.png",
    "1.png": "a/1.png",
    "1": "a/1.png",
    "data/all/a/1.png": "a/1.png",
    "/home/a/2.png": "a/2.png",
    "d/3.png": "c/d/3.dcm",
    "moved/4.png": "4.png",
    "b/1.png": None,  # of another patient, who is not in IN
    "b/a/1.png": "a/1.png",
    "c/3.dcm": None,
    "5.png": None,
}


def test_a_table_means_an_image_by_its_path_or_by_its_name_in_no_other_folder():
    assert {path: Images(IN).named(path, "row 2") for path in MEANT} == MEANT


def test_a_mask_may_lie_in_any_folder():
    images = Images(IN)
    assert images.of_mask("lungs/1.png", "masks") == ("a/1.png", "")
    assert images.of_mask("b/2_lungs.png", "masks") == ("b/2.png", "_lungs")
    assert images.of_mask("lungs/5.png", "masks") is None


def test_several_that_could_be_meant_are_refused():
    with pytest.raises(DataError, match="row 2: 2 images could be meant"):
        Images(IN).named("2.png", "row 2")
    with pytest.raises(DataError, match="masks: 2 images could be meant"):
        Images(IN).of_mask("lungs/2.png", "masks")
