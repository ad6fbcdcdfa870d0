"""The scan of a released file finds whatever was put into it afterwards, without key or input."""

from dataclasses import replace
from functools import cache

import dicom_specimens as dicom
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate

from anonymize.release.burned_in.options import TextReport
from anonymize.release.dicom import scan
from anonymize.release.dicom.options import RETAINABLE
from anonymize.release.reasons import ContainerError

CANARY = b"Josefine Mueller 1948"


@cache
def plain():
    """A released file."""
    return dicom.released(dicom.changed())


def refused(data):
    with pytest.raises(ContainerError) as error:
        scan.check(data)
    assert "Mueller" not in str(error.value)


@pytest.mark.parametrize("make", [dicom.cr, dicom.dx, dicom.capture])
@pytest.mark.parametrize("syntax", ["explicit", "jpeg2000", "rle"])
@pytest.mark.parametrize("retain", [(), RETAINABLE])
def test_what_is_released_passes_and_is_stable(make, syntax, retain):
    options = {"retain": frozenset(retain), "clean_descriptors": bool(retain)}
    data = dicom.released(dicom.changed(make), transfer_syntax=syntax, **options)
    assert data == dicom.released(dicom.changed(make), transfer_syntax=syntax, **options)
    scan.check(dicom.saved(dicom.opened(data)))


SOME = TextReport(2, 0, "inpaint", "rapidocr 3.10.0").method


def test_a_header_does_not_say_whether_there_was_text():
    assert TextReport(0, 1, "black", "rapidocr 3.10.0").method == SOME


@pytest.mark.parametrize("make", [dicom.cr, dicom.dx])
@pytest.mark.parametrize("method", [SOME, "Burned-in text: 2 regions inpainted (rapidocr 3.10.0)"])
def test_text_that_was_removed_is_said_to_be_gone(make, method):
    radiograph = dicom.taken(dicom.changed(make, BurnedInAnnotation="YES"))
    source = replace(radiograph.source, text_method=method, text_removed=True)
    again = dicom.opened(dicom.checked(replace(radiograph, source=source)))
    assert again.BurnedInAnnotation == "NO"
    values = [i.CodeValue for i in again.DeidentificationMethodCodeSequence]
    assert values == ["113100", "113101"]
    assert again.DeidentificationMethod[-1] == source.text_method
    again.DeidentificationMethod = list(again.DeidentificationMethod)[:-1]
    refused(dicom.saved(again))


CHANGES = {
    "PatientName": "Mueller",
    "PatientID": "PID-4711-77",
    "AccessionNumber": "ACC778899",
    "PatientBirthDate": "19481224",
    "PatientSex": "F",
    "StudyDate": "20210305",
    "StudyInstanceUID": dicom.ROOT + "1",
    "StudyDescription": "Chest",
    "InstitutionName": "Klinik",
    "StationName": "ROENTGEN3",
    "Manufacturer": "Huber",
    "ManufacturerModelName": "Ysio",
    "BodyPartExamined": "MUELLER",
    "SeriesNumber": 19481224,
    "SeriesInstanceUID": "1.2.3",
    "WindowCenterWidthExplanation": "Mueller",
    "SpecificCharacterSet": "ISO_IR 192",
    "ReferencedSOPInstanceUID": dicom.ROOT + "2",
    "LossyImageCompressionMethod": "MUELLER",
    "BurnedInAnnotation": "NO",
    "PatientIdentityRemoved": "NO",
    "DeidentificationMethod": "by Mueller",
    "LongitudinalTemporalInformationModified": "UNMODIFIED",
    "DerivationDescription": "Mueller",
    "SOPClassUID": "1.2.840.10008.5.1.4.1.1.2",
    "ImageType": ["ORIGINAL", "PRIMARY"],
    "PhotometricInterpretation": "YBR_FULL",
    "Rows": 20,
    "NumberOfFrames": 2,
    "PlanarConfiguration": 1,
}


def holding(keyword, value):
    made = Dataset()
    setattr(made, keyword, value)
    return made


COMMENT = holding("PatientComments", CANARY.decode())


def table(size, data):
    """What puts a look-up table of eight bits into a file; without a descriptor where it has no
    ``size``."""
    item = Dataset()
    if size:
        item.add_new(0x00283002, "US", [size, 0, 8])
    item.add_new(0x00283006, "OW", data)
    return lambda made: made.update(holding("ModalityLUTSequence", [item]))


def twice(sequence, keyword):
    """What gives a coded concept a second value."""

    def change(made):
        item = made[sequence].value[0]
        setattr(item, keyword, [item[keyword].value, CANARY.decode()[:16]])

    return change


def method(value, meaning):
    """One more code of what was done."""
    codes = "DeidentificationMethodCodeSequence"
    return lambda made: made[codes].value.append(dicom.code(value, "DCM", meaning))


def element(tag, vr, value):
    return lambda made: made.add_new(tag, vr, value)


DATES = "Retain Longitudinal Temporal Information Modified Dates Option"
HIDDEN = {
    "private": lambda made: made.private_block(0x0011, "MUELLER", create=True).add_new(
        1, "OB", CANARY
    ),
    "overlay": element(0x60003000, "OW", CANARY + b"!"),
    "unknown": element(0x00187777, "LO", CANARY.decode()),
    "code item": lambda made: made.ViewCodeSequence[0].update(COMMENT),
    "code meaning": lambda made: made.ViewCodeSequence[0].update(
        dicom.code(*("R-10214", "SRT"), CANARY.decode())
    ),
    "code": method("113107", CANARY.decode()),
    "no code": lambda made: setattr(made, "DeidentificationMethodCodeSequence", []),
    "false code": method("113107", DATES),
    "icon": lambda made: made.update(
        holding("IconImageSequence", [dicom.with_pixels(Dataset(), dicom.picture(8), bits=8)])
    ),
    "functional group": lambda made: made.update(
        holding("SharedFunctionalGroupsSequence", [holding("PixelMeasuresSequence", [COMMENT])])
    ),
    "meta": lambda made: setattr(made.file_meta, "SourceApplicationEntityTitle", "MUELLER"),
    "meta name": lambda made: setattr(made.file_meta, "ImplementationVersionName", "MUELLER"),
    "trailing padding": element(0xFFFCFFFC, "OB", CANARY),
    "stray table": element(0x00283006, "OW", CANARY + b"!"),
    "table without descriptor": table(0, CANARY + b"!"),
    "byte behind a table": table(7, bytes(range(7)) + b"M"),
    "number for a sign": element(0x00280103, "US", 19481),
    "number for an order of colours": element(0x00280006, "US", 19481),
    "second series": lambda made: setattr(made, "SeriesInstanceUID", 2 * [made.SeriesInstanceUID]),
    "values that are none": element(0x00200020, "CS", [""] * 20),
    **{
        f"second {keyword}, {sequence}": twice(sequence, keyword)
        for sequence in ("ViewCodeSequence", "DeidentificationMethodCodeSequence")
        for keyword in ("CodeValue", "CodingSchemeDesignator", "CodeMeaning")
    },
}


@pytest.mark.parametrize("where", [*CHANGES, *HIDDEN])
def test_what_was_changed_or_hidden_is_found(where):
    made = dicom.opened(plain())
    if where in HIDDEN:
        HIDDEN[where](made)
    else:
        setattr(made, where, CHANGES[where])
    refused(dicom.saved(made))


def test_bytes_outside_of_elements_are_found():
    data = plain()
    refused(CANARY.ljust(128) + data[128:])
    refused(data + CANARY)
    refused(data + b"\0\0")
    refused(data[:-1])
    refused(data[132:])
    own = dicom.opened(data).SOPInstanceUID.encode()
    other = own[:-1] + (b"1" if own[-1:] != b"1" else b"2")
    refused(data.replace(own, other, 1))


@pytest.mark.parametrize("syntax", ["jpeg2000", "rle"])
def test_compressed_pixels_hold_nothing_else(syntax):
    made = dicom.opened(dicom.released(dicom.changed(), transfer_syntax=syntax))
    frame = next(pydicom.encaps.generate_frames(made.PixelData, number_of_frames=1))
    whole = made.PixelData

    def with_frames(*frames, **options):
        made.PixelData = encapsulate(list(frames), **options)
        return dicom.saved(made)

    scan.check(with_frames(frame, has_bot=False))
    refused(with_frames(frame, CANARY, has_bot=False))
    refused(with_frames(frame + CANARY, has_bot=False))
    refused(with_frames(frame))
    if syntax == "jpeg2000":
        comment = b"\xff\x64" + (len(CANARY) + 4).to_bytes(2) + b"\0\1" + CANARY
        at = frame.index(b"\xff\x52")
        refused(with_frames(frame[:at] + comment + frame[at:], has_bot=False))
    else:
        refused(with_frames(frame[:40] + CANARY + frame[61:], has_bot=False))
    made.PixelData = whole
    scan.check(dicom.saved(made))


def test_bytes_that_the_encoding_reserves_are_found():
    data = plain()
    for old, new in (
        (b"\x08\0\x18\x22SQ\0\0", b"\x08\0\x18\x22SQJM"),  # reserved in the head of a sequence
        (b"\x02\0\0\0UL\x04\0\xcc\0\0\0", b"\x02\0\0\0UL\x04\0\xcc\0JM"),
        (b"CS\x06\0CHEST ", b"CS\x08\0CHEST   "),
        (b"UI\x14\0" + b"1.2.840.10008.1.2.1\0", b"UI\x16\0" + b"1.2.840.10008.1.2.1\0\0\0"),
    ):
        assert old in data
        refused(data.replace(old, new))
    end = b"\xfe\xff\xdd\xe0\0\0\0\0"
    data = dicom.released(dicom.changed(), transfer_syntax="rle")
    assert data.endswith(end)
    refused(data[:-4] + b"JOSE")


def test_elements_in_another_order_are_refused():
    data = dicom.released(dicom.changed(dicom.cr))
    at = data.index(b"\x08\0\x60\0CS")
    element, rest = data[at : at + 10], data[at + 10 :]
    following = 8 + int.from_bytes(rest[6:8], "little")
    refused(data[:at] + rest[:following] + element + rest[following:])
    refused(data[:at] + element + data[at:])
