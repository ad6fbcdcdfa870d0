"""PS3.15 Table E.1-1: no row's value survives, anywhere; codes and flags say what was done."""

from itertools import combinations

import pytest
from dicom_planting import POSITIONS, marked, rows
from dicom_specimens import SECRET, changed, checked, file, opened

from anonymize.release.dicom import profile, pseudonyms, read
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.dicom.options import DATES, DEVICE, PATIENT, RETAINABLE, DicomOptions

ROWS = rows()
# Columns of the table, read from the Standard: K of Rtn. Pat. Chars. and of Rtn. Dev. Id.
# Without the numbers, whose markers are finer than is meant.
KEPT_OF_PATIENT = {0x00101010}
KEPT_OF_DEVICE = {
    *(0x00081010, 0x0016004F, 0x00160050, 0x00160051, 0x00181000, 0x00181004),
    *(0x00181005, 0x00181007, 0x00181008, 0x00181009, 0x0018700A, 0x00189367, 0x00189371),
    *(0x00189373, 0x00321020, 0x00321021, 0x00400001, 0x00400010, 0x00400011, 0x00400241),
    *(0x00400242, 0x00500020, 0x300A00B2, 0x300A0216, 0x30080105, 0x3010002D, 0x30100043),
}
CHOICES = [
    DicomOptions(frozenset(names), clean)
    for clean in (False, True)
    for n in range(4)
    for names in combinations(RETAINABLE, n)
]


def released(data, options):
    return checked(read.decode(data, Deidentifier(SECRET, options)))


def test_the_table_is_whole():
    assert len(profile.rows()) == 652
    assert sorted(code for _, _, code in profile.ranges()) == ["X"] * 3
    assert {p.code for p in ROWS} == set(profile.PLAIN)


@pytest.mark.parametrize("position", POSITIONS)
def test_no_marker_survives(position):
    data = marked(ROWS, position)
    needles = [p.needle for p in ROWS]
    # Media Storage SOP Instance UID stands in the file meta information only.
    assert sum(n in data for n in needles) >= len(needles) - 1
    for options in (DicomOptions(), DicomOptions(frozenset({DATES}), True)):
        made = released(data, options)
        assert [n for n in needles if n in made] == []


@pytest.mark.parametrize(("option", "kept"), [(PATIENT, KEPT_OF_PATIENT), (DEVICE, KEPT_OF_DEVICE)])
def test_an_option_retains_its_column_and_nothing_else(option, kept):
    made = released(marked(ROWS, "root"), DicomOptions(frozenset({option})))
    assert {p.tag for p in ROWS if p.needle in made} == kept


def test_each_row_is_treated_as_its_code_says():
    made = opened(released(marked(ROWS, "root"), DicomOptions()))
    for p in ROWS:
        found = made.get(p.tag)
        if p.tag >> 16 < 8 or p.vr in ("SQ", "OB", "UN"):
            assert found is None or not found.value
        elif p.tag in (0x00100020, 0x00080050):  # pseudonyms
            assert found.value.isalnum()
        elif p.code == "U" or p.vr == "UI":
            assert found is None if p.code == "X" else pseudonyms.is_uid(found.value)
        elif p.code == "D":
            assert found.value
        elif p.code in ("Z", "Z/D"):
            assert found is not None
            assert not found.value
        else:
            own = p.tag == 0x00082111  # what was derived how is said anew
            assert own or found is None or (p.tag == 0x00102203 and not found.value)


@pytest.mark.parametrize("options", CHOICES, ids=lambda o: " ".join(sorted(o.retain)) or "basic")
def test_codes_and_flags_say_what_was_done(options):
    made = opened(released(file(changed()), options))
    codes = {"113100"}
    codes |= {"113105"} if options.clean_descriptors else set()
    codes |= {{DATES: "113107", PATIENT: "113108", DEVICE: "113109"}[n] for n in options.retain}
    listed = made.DeidentificationMethodCodeSequence
    assert [i.CodeValue for i in listed] == sorted(codes)
    assert {i.CodingSchemeDesignator for i in listed} == {"DCM"}
    assert made.PatientIdentityRemoved == "YES"
    assert all(made.DeidentificationMethod)
    modified = DATES in options.retain
    assert made.LongitudinalTemporalInformationModified == ("MODIFIED" if modified else "REMOVED")
    assert bool(made.StudyDate) is modified
    assert made.StudyDate != "20210305"
    assert made.PatientSex == ("F" if PATIENT in options.retain else "")
    assert ("PatientAge" in made) is (PATIENT in options.retain)
    assert (made.get("StationName") == "ROENTGEN3") is (DEVICE in options.retain)
    assert ("ManufacturerModelName" in made) is (DEVICE in options.retain)
    assert made.get("StudyDescription") == ("THORAX PA" if options.clean_descriptors else None)
    assert not made.PatientName
    assert not made.PatientBirthDate
    assert made.ImageType == ["DERIVED", "PRIMARY"]
    assert made.BurnedInAnnotation == "YES"  # nobody looked, and DX must say something
