"""How outputs are named where nobody says so; which paths tell the patient."""

import dicom_specimens as dicom
import pytest
from archive_specimens import archive
from release_specimens import KINDS, command, fill, quarantine, tree

from anonymize.release import verify
from anonymize.release.column_titles import is_of_people
from anonymize.release.dicom import paths
from anonymize.release.labels.options import LabelOptions

PNG = KINDS["gray8.png"]
DICOM = dicom.file(dicom.changed())
FLAT = {f"{patient:08}_{number:03}.png": PNG for patient in (1, 2) for number in (0, 1)}


PATIENTS_KNOWN = {
    "DICOM": {"x/1.dcm": DICOM},
    "DICOM by another name": {"x/1.png": DICOM},
    "DICOM without extension": {"x/IM0001": DICOM},
    "DICOM without preamble": {"x/1": DICOM[132:]},
    "DICOM in an archive": {"x.zip": archive([("1.dcm", DICOM)])},
    "DICOM whose names collide": {"x/1.dcm": DICOM, "x/1.DCM": DICOM},
    "a table in an archive": {"x.zip": archive([("t.csv", b"path,Last Name\n")])},
    "a list in an archive": {"x.zip": archive([("t.txt", b"file,MRN\n"), ("1.png", PNG)])},
    "ids of ChestX-ray14": {
        "Data_Entry_2017_v2020.csv": b"Image Index,Finding Labels,Patient ID\n"
    },
    "ids of covid19": {"metadata.csv": b"patientid,offset,sex,age\n"},
    "ids between semicolons": {"t.csv": "\ufeffDatei;Patienten-Nr.;Befund\n".encode()},
    "ids below blank lines": {"t.csv": b"\r\n \nImage Index,Patient ID\n"},
    "ids below a title": {"t.csv": b"Export of the clinic\nsep=;\nfile;MRN\n"},
    "ids in a table called otherwise": {"t.tab": b"file\tPatient ID\n"},
    "ids in a table without extension": {"people": b"file,Hospital Number\n"},
    "names in French": {"t.csv": "fichier;Nom;Pr\u00e9nom\n".encode()},
    "names in Spanish": {"t.csv": b"ruta;Paciente\n"},
    "names in Russian, by a program of Windows": {"t.csv": "файл;Фамилия\n".encode("cp1251")},
    "names in Japanese": {"t.csv": "画像,氏名\n".encode("shift_jis")},
    "JSON lines": {"t.jsonl": b'{"file": "a.png", "mrn": 1}\n'},
    "a workbook with macros": {"t.xlsm": b"PK"},
    "a packed table": {"t.csv.gz": b"\x1f\x8b\x08"},
    "a database": {"t.backup": b"SQLite format 3\0\x10\0\x01\x01"},
    "names": {"t.tsv": b"file\tLast Name\n"},
    "dates of birth": {"t.txt": b"file,date_of_birth\n"},
    "JSON": {"t.json": b'[{"file": "a.png", "patient_name": "x"}]'},
    "a workbook": {"t.xlsx": b"PK"},
}
NOBODY_KNOWN = {
    "nothing else": {},
    "labels": {"t.csv": b"Image Index,Finding Label,x,y,w,h\n"},
    "COCO": {"k.json": b'{"images": [], "categories": [{"id": 1, "name": "lung"}]}'},
    "a list": {"test_list.txt": b"00000001_000.png\n"},
    "a readme": {"README.md": b"Patient data\n"},
    "pictures in an archive": {"x.zip": archive([("a.gif", b"GIF8")])},
    "masks": {"m.nii.gz": b"\x1f\x8b\x08"},
    "a picture called otherwise": {"IM0001.bak": b"\xff\xd8\xff\xe0"},
}


def images(done):
    """The names of what was released."""
    return set(done.files) - {"manifest.csv"}


@pytest.mark.parametrize("case", PATIENTS_KNOWN)
def test_names_are_hashed_where_patients_are_known(release, case):
    done = release({**FLAT, **PATIENTS_KNOWN[case]}, names="auto")
    assert done.summary.names == "hashed"
    assert len(images(done)) >= len(FLAT)
    assert all(len(name.partition(".")[0]) == 64 for name in images(done))


@pytest.mark.parametrize("case", NOBODY_KNOWN)
def test_names_stay_where_nobody_is_known(release, case):
    done = release({**FLAT, **NOBODY_KNOWN[case]}, names="auto")
    assert done.summary.names == "keep"
    assert images(done) == set(FLAT)


def test_a_table_of_labels_may_name_patients(release, tmp_path):
    fill(tmp_path, {"t/boxes.csv": b"path,x,y,patient_id\n00000001_000.png,3,4,77\n"})
    done = release(FLAT, names="auto", labels=LabelOptions((tmp_path / "t",)))
    assert done.summary.names == "hashed"


def test_a_release_goes_on_as_it_began(release):
    """DICOM that comes later is not released under its own name without being asked to."""
    release(FLAT, names="auto")
    done = release({"z/1.dcm": DICOM, "z/2.png": PNG}, names="auto")
    assert images(done) == {*FLAT, "z/2.png"}
    assert done.quarantine == {"z/1.dcm": "identifying-name"}
    assert "z/1.dcm" in images(release(names="keep"))
    assert done.summary.names == "keep"


def test_dicom_that_an_archive_hides_is_held_back(release):
    done = release({**FLAT, "x.zip": archive([("1.png", DICOM)])}, names="auto")
    assert images(done) == set(FLAT)
    assert done.quarantine == {"x.zip/1.png": "identifying-name"}


def test_the_command_says_how_files_are_named(tmp_path):
    fill(tmp_path / "in", {"1.dcm": DICOM})
    done = command(tmp_path / "in", tmp_path / "out", "--text", "keep", "--names", "auto", code=0)
    assert "names are hashed, since patients are known" in done.stderr


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
