"""What another decoder makes of a file is a picture, or the file is refused for it."""

import pytest
from bombs import tiff_stream
from release_specimens import refused

from anonymize.release.checking.inspection import image
from anonymize.release.checking.reopen import ReopenError, reopen
from anonymize.release.reasons import Reason


def tiff(pixels=bytes(104), **tags):
    """A TIFF of one strip, 52 × 2 pixels but for its tags."""
    return tiff_stream(1, pixels, **{"t256": 52, "t257": 2, "t278": 2, **tags})


def test_a_sound_one_is_a_picture():
    assert reopen("TIFF", tiff(pixels=bytes(range(104)))).pixels.shape == (2, 52, 1)


@pytest.mark.parametrize(
    "tags",
    [
        {"t258": 513, "t259": 35},  # what a fuzzer found: no rows and columns come of it
        {"t338": 2},  # one sample, and it is said to be the opacity
        {"t256": 0},
    ],
)
def test_what_is_no_picture_is_refused_and_crashes_nothing(tags):
    data = tiff(**tags)
    with pytest.raises(ReopenError):
        reopen("TIFF", data)
    with refused(Reason.VERIFICATION):
        image("a.tif", data)
