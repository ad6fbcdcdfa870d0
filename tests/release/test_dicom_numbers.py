"""Numbers that stay: plausible, as fine as is meant, and nobody's."""

import numpy as np
import pytest
from dicom_specimens import again_of, changed, cr, file, lut, opened, saved
from pydicom.datadict import dictionary_VM, dictionary_VR, tag_for_keyword
from release_specimens import rows

from anonymize.release.dicom import scan
from anonymize.release.dicom.elements import DicomError
from anonymize.release.dicom.options import PATIENT
from anonymize.release.dicom.rules import Numbers, Words, polygon
from anonymize.release.dicom.terms import NUMBERS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")


HONEST = {
    "KVP": "117",
    "ExposureTimeInuS": "12600",
    "ExposureInuAs": "1830",
    "XRayTubeCurrentInuA": "250000",
    "ImageAndFluoroscopyAreaDoseProduct": "0.1234",
    "DeviationIndex": "-1.2",
    "FocalSpots": ["0.6", "1.2"],
    "GridAspectRatio": ["12", "1"],
    "ImagerPixelSpacing": ["0.143", "0.14375"],
    "DetectorBinning": ["2", "2"],
    "PositionerPrimaryAngle": "-90",
    "DetectorTemperature": "31.4",
    "WindowCenter": ["2047.5", "-600"],
    "WindowWidth": ["4096", "1500"],
    "RescaleIntercept": "-1024",
    "RescaleSlope": "0.244141",
    "EntranceDose": 12,
    "ExposedArea": [35, 43],
    "ShutterPresentationValue": 65535,
    "FilterBeamPathLengthMinimum": [0.5, 2.0],
    "SeriesNumber": "1001",
    "CollimatorLeftVerticalEdge": "12345",
    "VerticesOfThePolygonalShutter": ["1", "1", "1", "3000", "2500", "2990", "2480", "20"],
}


@pytest.mark.parametrize("keyword", HONEST)
def test_what_a_radiograph_may_say_stays_as_it_is(keyword):
    others = {k: v for k, v in HONEST.items() if k[:6] == keyword[:6]}
    again = again_of(changed(**others))
    expected = opened(file(changed(**others)))[keyword]
    assert again[keyword].VM == expected.VM
    assert again[keyword].value == expected.value


ROUNDED = {
    ("KVP", "117.00"): "117",
    ("KVP", "1.17E2"): "117",
    ("KVP", "+080.12345"): "80.12",
    ("ImagerPixelSpacing", "0.14300000667572\\0.143"): "0.143\\0.143",
    ("ExposureInuAs", "183049"): "183000",
    ("Exposure", "3.2"): "3",
    ("DeviationIndex", "-0.0"): "0",
    ("FocalSpots", "0.6\\1.2\\0.3\\1\\2"): "0.6\\1.2\\0.3\\1",
}


def test_numbers_are_written_in_one_way_and_no_finer_than_is_meant():
    for (keyword, value), expected in ROUNDED.items():
        rule, expected = Numbers.of(keyword), expected.split("\\")
        assert rule(value.split("\\")) == expected, keyword
        assert rule(expected) == expected, keyword


def test_rules_know_multiplicity_and_range():
    for keyword in NUMBERS:
        rule = Numbers.of(keyword)
        number = tag_for_keyword(keyword)
        text = dictionary_VR(number) in ("DS", "IS")
        middle = round((rule.low + rule.high) / 2)
        one = str(middle) if text else middle
        assert rule([one] * rule.least) == [one] * rule.least, keyword
        assert rule([]) is None, keyword
        beyond = round(rule.high + 1)
        assert rule([str(beyond) if text else beyond] * rule.least) is None, keyword
        if "n" not in dictionary_VM(number):
            assert rule([one] * (int(rule.most) + 1)) is None, keyword


def test_floats_keep_the_digits_that_are_meant():
    rule = Numbers.of("FilterBeamPathLengthMinimum")
    raw = [float(np.float32(v)) for v in (0.123456, 20.00049)]
    kept = rule(raw)
    assert kept == [float(np.float32(0.1235)), 20.0]
    assert rule(kept) == kept


def test_what_is_no_number_does_not_stay():
    values, rule = ["nan", "inf", "0x10", "1_0", "1e400", "", "١٢", "12 13"], Numbers.of("KVP")
    assert [value for value in values if rule([value]) is not None] == []


def test_the_number_of_a_patient_leaves_with_what_means_nothing_without_it():
    again = again_of(changed(PatientID="0004096", AccessionNumber="117117"))
    assert "WindowWidth" not in again
    assert "WindowCenter" not in again
    assert again.RescaleSlope == 1
    weighed = changed(PatientID="PID-713-33", PatientWeight="71.333", PatientSize="1.7")
    again = again_of(weighed, PATIENT)
    assert "PatientWeight" not in again
    assert again.PatientSize == 1.7


def test_parts_of_an_id_leave_and_what_only_looks_like_one_stays():
    made = changed(SeriesNumber="471", AcquisitionNumber="177", KVP="77", PatientID="0471177")
    again = again_of(made)
    assert again.SeriesNumber is None
    assert "AcquisitionNumber" not in again
    assert again.KVP == 77
    assert again.WindowWidth == [4096, 900]
    alike = changed(SeriesNumber="471", AcquisitionNumber="177", PatientID="4711770")
    alike.PatientBirthDate = "18000101"  # as DistanceSourceToDetector is, which a device measured
    again = again_of(alike)
    assert (again.SeriesNumber, again.AcquisitionNumber) == (471, 177)
    assert again.DistanceSourceToDetector == 1800


def test_a_year_of_birth_is_no_window():
    again = again_of(changed(WindowCenter="1948", WindowWidth="4096"))
    assert "WindowCenter" not in again
    assert "WindowWidth" not in again
    assert again_of(changed(WindowCenter="1949", WindowWidth="4096")).WindowCenter == 1949


def test_polygons_are_convex_and_larger_than_codes_of_letters():
    square = ["1", "1", "1", "300", "400", "300", "400", "1"]
    assert polygon(square) == square
    assert polygon(square[:6]) == square[:6]
    assert polygon(square[:7]) is None
    assert polygon([*square, "200", "150"]) is None
    assert polygon([str(int(v) % 100) for v in square]) is None


def table(entries, depth):
    return changed(cr, VOILUTSequence=[lut(entries, depth)])


def test_tables_keep_the_levels_that_a_display_shows():
    fine = np.sort(np.random.default_rng(3).integers(0, 1 << 16, 4096))
    item = again_of(table(fine, 16)).VOILUTSequence[0]
    kept = np.frombuffer(item["LUTData"].value, "<u2").astype(int)
    assert len(np.unique(kept)) <= 1024
    assert np.abs(kept - fine).max() <= 33
    plain = np.arange(1024)
    item = again_of(table(plain, 10)).VOILUTSequence[0]
    assert (np.frombuffer(item["LUTData"].value, "<u2") == plain).all()


def test_a_byte_behind_the_entries_of_a_table_does_not_stay():
    given = table(np.arange(255), 8)
    given.VOILUTSequence[0]["LUTData"].value = bytes(range(255)) + b"M"
    kept = again_of(given).VOILUTSequence[0]["LUTData"].value
    assert kept == bytes(range(255)) + b"\0"


def test_a_released_table_that_is_finer_is_found():
    made = again_of(table(np.arange(4096) * 16, 16))
    values = np.frombuffer(made.VOILUTSequence[0]["LUTData"].value, "<u2").copy()
    values[np.flatnonzero(np.diff(values))[5]] += 1
    made.VOILUTSequence[0]["LUTData"].value = values.tobytes()
    with pytest.raises(DicomError, match="finer than any display"):
        scan.check(saved(made))


DESCRIPTIONS = {
    "XR Chest 2 views, Fr. Huber": "XR CHEST 2 VIEWS",
    "Chest two view, 3 series": "CHEST TWO VIEW SERIES",
    "views: chest 2 views": "VIEWS CHEST 2 VIEWS",
    "PA and lateral chest, PA": "PA AND LATERAL CHEST",
    "chest 7 views": "CHEST VIEWS",
}


def test_descriptions_keep_the_number_of_views_and_no_other():
    for said, expected in DESCRIPTIONS.items():
        kept = Words("LO")([said])
        assert kept == [expected], said
        assert Words("LO")(kept) == kept, said


def test_millimetres_do_not_tell_a_spacing_that_may_not_stay(release):
    """Two figures of the manifest, divided, are the spacing."""
    several = {
        "a.dcm": changed(PixelSpacing=["0.471108", "0.471108"], PatientID="471108"),
        "b.dcm": changed(cr, ImagerPixelSpacing=["0.197002", "0.197002"], PatientID="197002"),
        "c.dcm": changed(PixelSpacing=["0.125", "0.125"], PatientID="471109"),
    }
    done = release({name: file(made) for name, made in several.items()})
    told = {row["output"]: row for row in rows(done.files["manifest.csv"])}
    assert done.quarantine == {}
    assert "PixelSpacing" not in opened(done.files["a.dcm"])
    assert told["b.dcm"]["displacement_max_mm"] == ""
    for name, spacing in {"a.dcm": 0.139, "c.dcm": 0.125}.items():  # a: at the detector
        mm, px = (float(told[name][f"displacement_mean_{unit}"]) for unit in ("mm", "px"))
        assert mm / px == pytest.approx(spacing, rel=1e-4)
