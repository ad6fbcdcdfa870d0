"""What a DICOM file that is refused says of people is looked for in other paths all the same."""

from types import SimpleNamespace

import dicom_specimens as dicom
import pytest
from release_specimens import KINDS
from test_names_known import DICOM, PNG, TELLING, WHO, told

from anonymize.release import formats, intake, storage
from anonymize.release.archives import Found
from anonymize.release.dicom import known
from anonymize.release.reasons import Reason, Refused

SYNTAXES = [dicom.EXPLICIT, dicom.IMPLICIT, dicom.BIG_ENDIAN]


def with_a_wrong_length(data):
    """The file with Institution Name, which stands before the patient, longer than the file."""
    value = b"Klinik am Waldrand"
    at = data.index(value)
    size = data[at - 2 : at] if data[at - 4 : at - 2] == b"LO" else data[at - 4 : at]
    assert int.from_bytes(size, "little") == len(value) or size == b"\0\x12"
    return data[: at - len(size)] + b"\xff\xee".rjust(len(size), b"\xee") + data[at:]


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize(
    "damage",
    [
        with_a_wrong_length,
        lambda data: data[:132] + b"\r\n\r" + data[132:],
        lambda data: data[:-99],
    ],
    ids=["a wrong length", "three bytes too many", "cut off"],
)
def test_a_damaged_file_tells_whom_it_names(syntax, damage):
    data = damage(dicom.file(dicom.changed(**WHO), syntax))
    for path in (TELLING, "W0471177.png", "24121948/x.png"):
        assert told(path, data)
    assert not told("images/00000001_000.png", data)


def test_so_does_a_deflated_one_that_is_cut_off():
    data = dicom.file(dicom.changed(**WHO), dicom.DEFLATED)
    assert told(TELLING, data[: len(data) // 2])


@pytest.mark.parametrize(
    ("character_set", "name", "path"),
    [("ISO_IR 144", "Ярошенко^Пётр", "yaroshenko/1"), ("GB18030", "张伟^", "张伟/1.png")],
)
def test_a_damaged_file_is_read_in_its_character_set(character_set, name, path):
    header = {"PatientName": name, "StudyDescription": "", "SpecificCharacterSet": character_set}
    made = dicom.changed(**header)
    assert told(path, with_a_wrong_length(dicom.file(made)))


def test_pixels_that_look_like_a_tag_say_nothing():
    data = dicom.file(dicom.changed(**WHO))[:-500] + 5000 * b"\x10\0"
    assert known.in_header(data) == known.in_header(DICOM)


def test_a_file_that_begins_in_big_endian_is_dicom():
    data = dicom.file(dicom.changed(**WHO), dicom.BIG_ENDIAN)
    bare = data[data.index(b"\0\x08\0") :]
    assert formats.is_dicom("IM1", bare)
    assert told(TELLING, bare)


def test_one_that_is_too_large_is_read_as_far_as_its_header(release, monkeypatch):
    monkeypatch.setattr(intake, "MAX_BYTES", len(DICOM) + 10)
    done = release({"0.dcm": DICOM + bytes(99), TELLING: PNG, "1.png": PNG}, names=None)
    assert done.quarantine == {"0.dcm": "too-large", TELLING: "identifying-name"}
    again = release(names=None)
    assert (again.files, again.quarantine) == (done.files, done.quarantine)


def test_so_is_one_that_changes_meanwhile(release, monkeypatch):
    read = intake._file

    def file(path, root):
        data, status = read(path, root)
        if path.suffix == ".dcm":
            raise storage.Partial(Reason.CHANGING, data)
        return data, status

    monkeypatch.setattr(intake, "_file", file)
    done = release({"0.dcm": DICOM, TELLING: PNG, "1.png": PNG}, names=None)
    assert done.quarantine == {"0.dcm": "changing", TELLING: "identifying-name"}


def test_where_a_header_cannot_be_searched_every_path_may_tell(release):
    names = [f"Nameless{n:05}x^Somebody{n}" for n in range(known.MAX_STRINGS // 2)]
    many = dicom.file(dicom.changed(OtherPatientNames=names), dicom.IMPLICIT)
    assert known.in_header(many) == {known.ANYBODY}
    done = release({"0.dcm": many, "1.png": PNG, "x/2.png": KINDS["rgb.png"]}, names=None)
    assert set(done.files) == {"manifest.csv"}
    assert done.quarantine.keys() == {"0.dcm", "1.png", "x/2.png"}
    assert done.quarantine["1.png"] == "identifying-name"


def test_a_worker_that_fails_at_a_header_knows_anybody():
    def call(*_):
        raise Refused(Reason.MEMORY)

    asked = SimpleNamespace(
        labels=SimpleNamespace(sources=[]),
        naming=SimpleNamespace(hashed=False),
        journal=SimpleNamespace(entries={}),
    )
    found = intake._known(Found("0.dcm"), "", DICOM, asked, SimpleNamespace(call=call))
    assert found == (known.ANYBODY,)
