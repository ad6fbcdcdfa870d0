"""Keyed replacements: consistent over files and years, different under another key, no way back."""

import hashlib
import hmac
import uuid
from datetime import date, datetime, timedelta

import pytest
from dicom_specimens import ROOT, SECRET, UIDS, again_of, changed, code, cr
from hypothesis import given
from hypothesis import strategies as st

from anonymize.release.dicom.options import DATES, PATIENT, RETAINABLE
from anonymize.release.dicom.pseudonyms import LONGEST_SHIFT, Pseudonyms, shifted

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")
KEYED = Pseudonyms(SECRET)
OTHER = SECRET[::-1]


def test_a_uid_is_an_hmac_as_a_uuid():
    made = KEYED.uid(UIDS["study"])
    assert made == KEYED.uid(f" {UIDS['study']}\0")
    digest = hmac.new(SECRET, b"anonymize dicom uid\0" + UIDS["study"].encode(), hashlib.sha256)
    found = uuid.UUID(int=int(made.removeprefix("2.25.")))
    assert found.version == 8
    assert found.variant == uuid.RFC_4122
    assert found.hex[:12] == digest.hexdigest()[:12]
    assert len(made) <= 64


def test_uids_hold_together_over_files_and_keys_hold_them_apart():
    one = again_of(changed(SOPInstanceUID=ROOT + "1"))
    two = again_of(changed(cr, SOPInstanceUID=ROOT + "2", SeriesInstanceUID=ROOT + "7"))
    other = again_of(changed(SOPInstanceUID=ROOT + "1"), secret=OTHER)
    assert one.StudyInstanceUID == two.StudyInstanceUID != other.StudyInstanceUID
    assert one.SeriesInstanceUID != two.SeriesInstanceUID
    assert len({one.SOPInstanceUID, two.SOPInstanceUID, other.SOPInstanceUID}) == 3
    assert one.file_meta.MediaStorageSOPInstanceUID == one.SOPInstanceUID
    assert one.PatientID == two.PatientID != other.PatientID
    assert one.AccessionNumber == two.AccessionNumber != other.AccessionNumber
    assert len(one.AccessionNumber) == 16


@pytest.mark.parametrize(
    ("character_set", "name"),
    [("ISO_IR 100", "Müller-7"), ("ISO_IR 192", "Müller-7"), ("ISO_IR 192", " MÜLLER-7 ")],
)
def test_a_patient_is_the_same_in_any_character_set(character_set, name):
    made = again_of(changed(SpecificCharacterSet=character_set, PatientID=name))
    assert made.PatientID == KEYED.patient("müller-7")
    assert "SpecificCharacterSet" not in made


@pytest.mark.parametrize(
    "typed",
    [
        *("pid 4711-77", "PID  4711-77", "PID\t4711-77 \t", "PID\u00a04711-77"),
        *("PID 4711\u201177", "PID 4711\u221277"),
        *("PID 47\u200b11-77", "\ufeffPID 4711-77", "PID 47\u00ad11-77"),
    ],
    ids=ascii,
)
def test_what_looks_alike_makes_no_two_patients_of_one(typed):
    made = changed(SpecificCharacterSet="ISO_IR 192", PatientID=typed)
    plain = again_of(changed(PatientID="PID 4711-77"), DATES)
    again = again_of(made, DATES)
    assert (again.PatientID, again.StudyDate) == (plain.PatientID, plain.StudyDate)
    assert again.PatientID == KEYED.patient(typed) != KEYED.patient("PID 471177")


@pytest.mark.parametrize(
    ("character_set", "name"),
    [
        (["", "ISO 2022 IR 87"], "Yamada^Tarou=山田^太郎"),
        ("ISO_IR 144", "Люксембург"),
        ("GB18030", "Wang^XiaoDong=王^小东"),
        ("ISO_IR 999", "Who^Knows"),
    ],
)
def test_names_of_any_script_are_removed(character_set, name):
    made = changed(PatientName=name)
    if character_set != "ISO_IR 999":
        made.SpecificCharacterSet = character_set
    assert not again_of(made).PatientName


def test_without_a_patient_id_a_study_is_a_patient():
    one = again_of(changed(PatientID="", SOPInstanceUID=ROOT + "1"), DATES)
    two = again_of(changed(PatientID="", SOPInstanceUID=ROOT + "2"), DATES)
    other = again_of(changed(PatientID="", StudyInstanceUID=ROOT + "3"), DATES)
    assert one.PatientID == two.PatientID != other.PatientID
    assert one.StudyDate == two.StudyDate
    made = changed()
    del made.PatientID
    assert again_of(made).PatientID == one.PatientID


@given(st.dates(date(1950, 1, 1), date(2040, 1, 1)), st.dates(date(1950, 1, 1), date(2040, 1, 1)))
def test_intervals_stay(one, two):
    by = KEYED.shift("PID-1")
    moved = [shifted(f"{d:%Y%m%d}", "DA", by) for d in (one, two)]
    dates = [datetime.strptime(m, "%Y%m%d").date() for m in moved]
    assert dates[1] - dates[0] == two - one
    assert -LONGEST_SHIFT <= (dates[0] - one).days <= -1
    stamp = shifted(f"{one:%Y%m%d}235959.123456+0200", "DT", by)
    assert stamp == f"{moved[0]}230000"


def test_shifts_differ_between_patients_and_spread():
    days = {KEYED.shift(f"patient {n}").days for n in range(2000)}
    assert len(days) > 1400
    assert min(days) < -3600
    assert max(days) > -50


ODD = {
    ("2021.03.05", "DA"): "20210302",
    ("20210305-20210401", "DA"): None,
    ("20210231", "DA"): None,
    ("00010102", "DA"): None,
    ("Frau Müller", "DA"): None,
    ("101112.345", "TM"): "100000",
    ("10:11:12", "TM"): "100000",
    ("25", "TM"): None,
    ("20210305", "DT"): "20210302",
    ("2021030599", "DT"): None,
    ("2021", "DT"): None,
}


def test_odd_dates_and_times():
    assert {odd: shifted(*odd, timedelta(days=-3)) for odd in ODD} == ODD


def test_dates_of_one_patient_move_together_and_the_birth_never_shows():
    one = again_of(changed(), DATES, PATIENT)
    two = again_of(changed(StudyDate="20210405", StudyInstanceUID=ROOT + "9"), DATES)
    dates = [datetime.strptime(d.StudyDate, "%Y%m%d") for d in (one, two)]
    assert dates[1] - dates[0] == timedelta(days=31)
    assert one.ContentDate != "20210306"
    assert datetime.strptime(one.ContentDate, "%Y%m%d") - dates[0] == timedelta(days=1)
    assert one.StudyTime == "100000"
    assert one.PatientBirthDate == two.PatientBirthDate == ""
    assert one.PatientAge == "072Y"
    assert again_of(changed(PatientAge="097Y"), PATIENT).PatientAge == "090Y"
    assert "PatientAge" not in again_of(changed(PatientAge="Huber"), PATIENT)
    assert again_of(changed(StudyDate="Huber"), DATES).StudyDate == ""


def test_the_day_of_an_export_or_of_a_scan_tells_no_shift():
    stamps = dict.fromkeys(["InstanceCreationDate", "DateOfSecondaryCapture"], "20240611")
    again = again_of(changed(InstanceCoercionDateTime="20240611103000", **stamps), DATES)
    assert not any(again.get(keyword) for keyword in (*stamps, "InstanceCoercionDateTime"))


@pytest.mark.parametrize("day", ["19000101", "1970.01.01", "00010101", "20000101", "99991231"])
def test_a_day_that_is_the_same_for_everybody_tells_no_shift(day):
    stamp = day.replace(".", "") + "101500"
    again = again_of(changed(StudyDate=day, ContentDate=day, AcquisitionDateTime=stamp), DATES)
    assert [again.get(k) or "" for k in ("StudyDate", "ContentDate", "AcquisitionDateTime")] == [
        ""
    ] * 3
    assert again.SeriesDate


def test_descriptions_keep_the_words_of_radiology():
    made = changed(
        StudyDescription="XR Chest 2 views, Fr. Huber *24.12.1948",
        SeriesDescription="Huber Alois 4711",
        ProtocolName="Thorax p.a.",
    )
    again = again_of(made, clean_descriptors=True)
    assert again.StudyDescription == "XR CHEST 2 VIEWS"
    assert "SeriesDescription" not in again
    assert again.ProtocolName == "THORAX"
    assert "StudyDescription" not in again_of(made)


def test_device_texts_that_name_somebody_are_not_retained():
    made = changed(StationName="MUELLER", DeviceSerialNumber="SN PID-4711-77")
    made.SoftwareVersions, made.GantryID = ["VB20", "für Josefine"], "G2 WEST"
    again = again_of(made, *RETAINABLE)
    assert "DeviceSerialNumber" not in again
    assert "SoftwareVersions" not in again
    assert again.GantryID == "G2 WEST"


@pytest.mark.parametrize(
    "site",
    [
        {"InstitutionName": "Klinik am Quellweg"},
        {"InstitutionAddress": "Quellweg 7\r\n61350 Bad Homburg"},
        {"InstitutionalDepartmentName": "Haus Quellweg, Röntgen"},
        {"RequestingService": "QUELLWEG II"},
        {"InstitutionCodeSequence": [code("77", "99LOCAL", "MVZ Quellweg")]},
    ],
    ids=lambda site: next(iter(site)),
)
@pytest.mark.parametrize("typed", ["QUELLWEG", "R3_Quellweg2", "KAQUELLWEG", "QUELLWE_R1"])
def test_device_texts_that_name_an_institution_are_not_retained(site, typed):
    made = changed(StationName=typed, DetectorID="DET-33", **site)
    again = again_of(made, *RETAINABLE)
    assert "StationName" not in again
    assert (again.DetectorID, again.ManufacturerModelName) == ("DET-33", "Ysio Max 8812")


def test_values_that_no_vocabulary_holds_are_emptied_or_removed():
    made = changed(
        BodyPartExamined="HUBER ALOIS",
        ViewPosition="HUBER",
        Manufacturer="Alois Huber & Co.",
        SeriesNumber=19481224,
        KVP="4711778899",
        PatientOrientation=["HUB", "ER"],
    )
    made.AnatomicRegionSequence[0].CodeValue = "T-ALOIS"
    made.ViewCodeSequence[0].CodeMeaning = "of Alois Huber"
    again = again_of(made)
    assert not any(again[k].value for k in ("BodyPartExamined", "Manufacturer", "SeriesNumber"))
    assert "KVP" not in again
    assert len(again.AnatomicRegionSequence) == 0
    assert again.ViewCodeSequence[0].CodeMeaning == "postero-anterior"
    assert "Huber" not in str(again)
