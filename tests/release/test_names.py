"""Which paths tell the patient, by default; titles of columns that do."""

import dicom_specimens as dicom
from release_specimens import KINDS, command, fill, quarantine, tree

from anonymize.release import verify
from anonymize.release.column_titles import is_of_people
from anonymize.release.dicom import paths

PNG = KINDS["gray8.png"]
DICOM = dicom.file(dicom.changed())


def images(done):
    """The names of what was released."""
    return set(done.files) - {"manifest.csv"}


def test_by_default_paths_stay_and_telling_ones_are_held_back(tmp_path):
    fill(tmp_path / "in", {"1.dcm": DICOM, "Mueller/2.dcm": DICOM})
    assert command(tmp_path / "in", tmp_path / "out", "--text", "keep").exit_code == 3
    assert set(tree(tmp_path / "out")) == {"1.dcm", "manifest.csv"}
    assert quarantine(tmp_path / "out-private") == {"Mueller/2.dcm": "identifying-name"}


def test_what_lies_in_a_folder_that_one_file_tells_of_is_withdrawn(release):
    """Whatever came first, and in every later run."""
    other = dicom.file(dicom.changed(PatientName="Doe^Max", PatientID="70078"))
    first = release({"Mueller/0.png": PNG, "Mueller/deep/1.dcm": other, "x/2.png": PNG})
    assert len(images(first)) == 3
    told = {"Mueller/0.png", "Mueller/deep/1.dcm", "Mueller/z.dcm"}
    for _ in range(2):
        done = release({"Mueller/z.dcm": DICOM})
        assert set(done.files) == {"manifest.csv", "x/2.png"}
        assert done.quarantine == dict.fromkeys(told, "identifying-name")
        assert done.summary.reasons == {"identifying-name": 3}
        assert (done.summary.anonymized, done.summary.already_done) == (0, 1)


HARMLESS_PATHS = (
    "images/00000001_000.png",
    "CHEST/PA/0001.dcm",
    "train/NORMAL/IM-0115-0001.dcm",
    "study01/series02/image3.dcm",
    "hospital_A/batch3/x_000123",
    "fold1/left_lateral_view.dcm",
    "test/left_lateral_view.png",
    "xray/portable/scan_2.dcm",
    "covid-19-pneumonia-30-PA.jpg",
    "MONOCHROME2/SECONDARY_DERIVED/CHEST-PA.dcm",
)


def test_paths_that_tell_nobody_are_kept():
    assert [path for path in HARMLESS_PATHS if paths.tell([path], DICOM)] == []


TELLING = ["Mueller/1", "JosefineM", "jm1948/a", "MJ48"]
TELLING += ["PID471177", "471177", "24121948", "5.3.2021/x"]


def test_paths_that_tell_the_patient_are_seen():
    assert [path for path in TELLING if not paths.tell([path], DICOM)] == []


PEOPLE = (
    *(
        "Paciente",
        "Nombre del paciente",
        "Nº paciente",
        "Fecha de nacimiento",
        "Prénom",
        "Sobrenome",
    ),
    *("Codice fiscale", "Imię i nazwisko", "PESEL", "Příjmení", "Fødselsnummer", "Henkilötunnus"),
    *("Hasta adı", "Soyadı", "Họ tên", "Фамилия", "ФИО пациента", "Дата рождения", "Επώνυμο"),
    *(
        "姓名",
        "患者ID",
        "病历号",
        "氏名",
        "ﾌﾘｶﾞﾅ",
        "カルテ番号",
        "환자명",
        "생년월일",
        "اسم المريض",
        "שם",
    ),
    *("Patient ID", "Last Name", "MRN", "Geburtsdatum"),
)
OF_FILES = (
    "path",
    "image",
    "Alter",
    "edad",
    "sexe",
    "Befund",
    "label",
    "архив",
    "年齢",
    "view",
    "",
)


def test_columns_of_people_are_known_in_several_languages():
    assert [title for title in PEOPLE if not is_of_people(title)] == []
    assert [title for title in OF_FILES if is_of_people(title)] == []


RESERVED = (
    "certificate.json",
    "Certificate.md",
    "labels.csv",
    "labels/manifest.csv",
    "manifest.sig",
)


def test_no_picture_takes_the_name_of_a_table(release):
    done = release(dict.fromkeys((*RESERVED, "a.png"), PNG))
    assert done.quarantine == dict.fromkeys(RESERVED, "name-collision")
    assert verify.verify(release.out).sound
