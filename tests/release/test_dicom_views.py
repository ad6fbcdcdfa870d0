"""Everything that a DICOM file names to show its pixels is known where text is looked for."""

import numpy as np
import pytest
from dicom_specimens import DX, changed, cr, file, lut, opened, padding, picture, rules, taken
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_voi_lut, apply_windowing
from release_specimens import refused

from anonymize.release import decode, encode
from anonymize.release.burned_in import policy
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.dicom import view
from anonymize.release.reasons import Reason

VALUES = picture(12)


def shown(radiograph):
    """What its tables show, uint8 (N, H, W)."""
    return np.stack([table[radiograph.pixels[..., 0]] for table in radiograph.tables])


def plain(**more):
    made = changed(**more)
    del made.WindowCenterWidthExplanation
    return made


@pytest.mark.parametrize("kind", ["LINEAR", "LINEAR_EXACT", "SIGMOID"])
def test_every_window_is_known(kind):
    made = plain(WindowCenter=[2048, 1000, 300], WindowWidth=[3000, 900, 50], VOILUTFunction=kind)
    found = shown(taken(made))
    assert len(found) == 4  # and the values over their whole range
    for index in range(3):
        expected = apply_windowing(VALUES.astype(float), made, index=index) / 4095 * 255
        assert np.abs(found[1 + index] - expected).max() <= 1


def test_every_table_is_known():
    tables = [lut(np.linspace(0, 1, 4096) ** power * 65535, 16) for power in (1, 3)]
    made = plain(VOILUTSequence=tables)
    found = shown(taken(made))
    for index in range(2):
        expected = apply_voi_lut(VALUES, opened(file(made)), index=index) / 65535 * 255
        assert min(np.abs(one - expected).max() for one in found) <= 1


@pytest.mark.parametrize(
    "groups", ["PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"]
)
def test_every_table_and_window_of_functional_groups_is_known(groups):
    """In every item, though there should be one; text may be legible in any of them alone."""
    steep = np.where(np.arange(4096) < 700, 0, 65535)
    first, second, third = Dataset(), Dataset(), Dataset()
    first.VOILUTSequence = [lut(steep, 16)]
    second.WindowCenter, second.WindowWidth = 1000, 50
    third.WindowCenter, third.WindowWidth = 3000, 50
    one, other = Dataset(), Dataset()
    one.FrameVOILUTSequence, other.FrameVOILUTSequence = [first, second], [third]
    found = shown(taken(plain(**{groups: [one, other]})))
    values = VALUES.astype(float)
    narrow = [np.clip((values - centre + 0.5) / 49 + 0.5, 0, 1) * 255 for centre in (1000, 3000)]
    wanted = [steep[VALUES] / 257, *narrow]
    for expected in wanted:
        assert min(np.abs(seen - expected).max() for seen in found) <= 1


def test_inverted_pictures_have_inverted_tables():
    made = changed(cr, WindowCenter=[2048, 700], WindowWidth=[4096, 90])
    upright = shown(taken(made))
    made.PhotometricInterpretation = "MONOCHROME1"
    np.testing.assert_array_equal(shown(taken(made)), 255 - upright)


def test_padding_is_shown_as_any_value():
    radiograph = taken(plain(WindowCenter=1000, WindowWidth=2000, **padding(900)))
    assert radiograph.brightness[900] == 0
    assert all(100 < table[900] < 130 for table in radiograph.tables[1:])


def test_windows_that_show_the_same_count_once_and_bad_ones_nothing():
    assert len(taken(plain(WindowCenter=[1000, 1000], WindowWidth=[500, 500])).tables) == 2
    assert len(taken(plain(WindowCenter=[1000, 1000], WindowWidth=[500, 0])).tables) == 2


def test_more_windows_than_anybody_looks_at_are_refused_where_text_is_looked_for():
    centres = list(range(100, 100 + 40 * view.MOST_TABLES, 40))
    radiograph = taken(plain(WindowCenter=centres, WindowWidth=[30] * len(centres)))
    assert len(radiograph.tables) == view.MOST_TABLES + 1
    with refused(Reason.UNSUPPORTED_PIXELS):
        policy.clean(radiograph, TextOptions("remove"))


@pytest.mark.parametrize("found", [False, True])
def test_a_file_that_says_yes_must_have_had_some_text(found, monkeypatch):
    report = policy.TextReport(int(found), 0, "inpaint", "rapidocr 1")
    monkeypatch.setattr(policy, "clean", lambda radiograph, options: (radiograph, report))
    data = file(plain(BurnedInAnnotation="YES"))
    asked = ("a", data, rules(), TextOptions("remove"))
    if found:
        again = encode.encode(decode.decode(*asked).radiograph)
        assert opened(again).BurnedInAnnotation == "NO"
        assert opened(again).SOPClassUID == DX
        return
    with refused(Reason.BURNED_IN_ANNOTATION):
        decode.decode(*asked)
