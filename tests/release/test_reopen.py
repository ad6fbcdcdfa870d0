"""What another decoder makes of a file is a picture, or the file is refused for it."""

import struct

import pytest
from release_specimens import refused

from anonymize.release.inspection import image
from anonymize.release.reasons import Reason
from anonymize.release.reopen import ReopenError, reopen


def tiff(*tags, pixels=bytes(104)):
    """A little-endian TIFF of one strip, 52 × 2 pixels but for the tags (number, type, value)."""
    plain = {256: (3, 52), 257: (3, 2), 258: (3, 8), 259: (3, 1), 262: (3, 1), 273: (4, 8)}
    plain |= {278: (3, 2), 279: (4, len(pixels)), 284: (3, 1)}
    plain |= {number: (kind, value) for number, kind, value in tags}
    entries = b"".join(
        struct.pack("<HHI", number, kind, 1) + struct.pack("<I", value)
        for number, (kind, value) in sorted(plain.items())
    )
    head = struct.pack("<2sHI", b"II", 42, 8 + len(pixels))
    return head + pixels + struct.pack("<H", len(plain)) + entries + bytes(4)


def test_a_sound_one_is_a_picture():
    assert reopen("TIFF", tiff(pixels=bytes(range(104)))).pixels.shape == (2, 52, 1)


@pytest.mark.parametrize(
    "tags",
    [
        ((258, 3, 513), (259, 3, 35)),  # what a fuzzer found: no rows and columns come of it
        ((338, 3, 2),),  # one sample, and it is said to be the opacity
        ((256, 3, 0),),
    ],
)
def test_what_is_no_picture_is_refused_and_crashes_nothing(tags):
    data = tiff(*tags)
    with pytest.raises(ReopenError):
        reopen("TIFF", data)
    with refused(Reason.VERIFICATION):
        image("a.tif", data)
