"""What one DICOM header knows of somebody is looked for in the paths of all files of a release."""

import dicom_specimens as dicom
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.datadict import dictionary_VR, keyword_for_tag
from release_specimens import KINDS, Wave, called, command, fill, quarantine, rows, tree
from test_names import HARMLESS_PATHS

from anonymize.release import pipeline
from anonymize.release.dicom import known, paths
from anonymize.release.machines import merge
from anonymize.release.machines.shards import Shard
from anonymize.release.options import ReleaseOptions

PNG, JPEG = KINDS["gray8.png"], KINDS[next(k for k in KINDS if k.endswith("jpg"))]
WHO = {"PatientName": "Kowalczykowski^Wanda", "PatientID": "W-0471177"}
WHO |= {"PatientBirthDate": "19481224"}
DICOM = dicom.file(dicom.changed(**WHO))
TELLING = "Kowalczykowski Wanda/x.png"


def told(path, data=DICOM):
    """Whether ``path`` says what the header of ``data`` knows."""
    words = known.in_header(data)
    return any(not words.isdisjoint(part) for part in known.in_path(path))


@pytest.mark.parametrize("first", ["0.dcm", "z.dcm"])
def test_a_folder_named_as_a_patient_of_another_file_is_not_released(release, first):
    files = {first: DICOM, TELLING: PNG, "Wanda/y.jpg": JPEG, "x/1.png": PNG}
    done = release(files, names=None)
    assert set(done.files) == {"manifest.csv", first, "x/1.png"}
    assert done.quarantine == dict.fromkeys([TELLING, "Wanda/y.jpg"], "identifying-name")
    assert done.summary.reasons == {"identifying-name": 2}
    assert done.summary.anonymized == 2
    again = release(names=None)
    assert (again.files, again.quarantine) == (done.files, done.quarantine)


def test_dicom_of_another_patient_is_held_to_it_too(release):
    other = dicom.file(dicom.changed(PatientName="Doe^Max", PatientID="70078"))
    done = release({"0.dcm": DICOM, "471177/1.dcm": other}, names=None)
    assert done.quarantine == {"471177/1.dcm": "identifying-name"}


@pytest.mark.parametrize("content", [DICOM, DICOM[:-500]], ids=["telling itself", "cut off"])
def test_what_a_refused_file_knows_counts(release, content):
    done = release({"Wanda.dcm": content, TELLING: PNG, "1.png": PNG}, names=None)
    assert set(done.files) == {"manifest.csv", "1.png"}


def test_a_damaged_file_knows_each_of_several_values():
    data = dicom.file(dicom.changed(OtherPatientIDs=["W-0471177", "B-8112"]))[:-500]
    assert told("B8112/1.png", data)
    assert told("x/W0471177.png", data)


def test_what_is_known_later_counts_for_what_was_released_before(release):
    assert TELLING in release({TELLING: PNG, "1.png": PNG}, names=None).files
    done = release({"z.dcm": DICOM}, names=None)
    assert set(done.files) == {"manifest.csv", "1.png", "z.dcm"}
    (release.source / "z.dcm").unlink()
    assert TELLING not in release(names=None).files  # known once, known for good


def test_one_who_asks_for_kept_names_gets_them_and_is_told_how_many_tell(tmp_path):
    fill(tmp_path / "in", {"0.dcm": DICOM, TELLING: PNG, "1.png": PNG})
    done = command(tmp_path / "in", tmp_path / "out", "--text", "keep", "--names", "keep", code=0)
    assert "the paths of 1 released file hold a word" in done.stderr
    assert "Wanda" not in done.output
    listed = {row["output"] for row in rows((tmp_path / "out" / "manifest.csv").read_bytes())}
    assert listed == {"0.dcm", "1.png", TELLING}
    assert "knows of" not in command(tmp_path / "in", tmp_path / "o", "--names", "hashed").stderr


@pytest.mark.parametrize("names", [None, "keep"])
def test_shards_know_together_what_each_knows(release, tmp_path, key, names):
    files = {TELLING: PNG, **{f"{n}.png": PNG for n in range(4)}}
    count, number = 2, 1 + (Shard(1, 2).takes(TELLING))
    free = next(f"{n}.dcm" for n in range(99) if Shard(number, count).takes(f"{n}.dcm"))
    whole = release({**files, free: DICOM}, names=names, key_file=key)
    for one in (1, 2):
        options = ReleaseOptions(names=names, key_file=key, shard=Shard(one, count))
        pipeline.apply(release.source, tmp_path / "shards" / str(one), Wave(), options)
    found = merge.merge([tmp_path / "shards"], tmp_path / "merged")
    assert tree(tmp_path / "merged") == whole.files
    assert quarantine(tmp_path / "merged-private") == whole.quarantine
    assert (TELLING in whole.files) == (names == "keep")
    assert found.telling == whole.summary.telling == (names == "keep")
    said = called("merge", tmp_path / "shards", tmp_path / "merged")
    assert said.stderr.count("1 released file hold a word") == (names == "keep")


def test_a_plan_foresees_it(release):
    fill(release.source, {"z.dcm": DICOM, TELLING: PNG, "1.png": PNG})
    for names, held in ((None, {TELLING}), ("keep", set()), ("hashed", set())):
        planned = pipeline.plan(release.source, release.out, Wave(), ReleaseOptions(names=names))
        assert {p.input for p in planned if p.action == "quarantine"} == held


def test_hashed_names_leave_no_name_in_the_journal(release):
    release({"0.dcm": DICOM, "1.png": PNG}, names="hashed")
    assert b"wanda" not in (release.private / "journal.jsonl").read_bytes().lower()


SAYING = (
    *("wanda/1.png", "kowalczykowskiwanda.png", "WandaKowalczykowski/1.jpg", "KOVALCHYKOVSKI"),
    *("Wanda2021/1", "xWandaX/1", "adnaw/1", "W0471177.png", "w-0471177", "471177_2.png"),
    *("1948-12-24/1.png", "24.12.1948", "a/24121948_1.png", "12_24_1948/x.png"),
)


def test_paths_that_say_what_a_header_knows_are_seen():
    assert [path for path in SAYING if not told(path)] == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *(("Müller^Anna", "mueller/1"), ("Иванов^Иван", "Ivanov/1"), ("Li^Wu", "liwu/1.png")),
        *(("Wang^XiaoMing=王^小明", "王小明/1.png"), ("O'Neil^Pat", "oneil/1.png")),
        *(("Kim^Min-su", "kimminsu"), ("Wu^Li Na", "linawu/1"), ("Doe-Ray^Mi", "midoeray.png")),
        *(("ﾔﾏﾀﾞ^ﾀﾛｳ", "やまだ/1.png"), ("Yamada=山田=やまだ", "ヤマダ/1.png")),
        *(("کریمی^علی", "كريمي/1.png"), ("محمـد", "محمد.png")),
        *(("Παπαδόπουλος^Νίκος", "Papadopoulos/1"), ("Ðorđević^Ana", "djordjevic/1")),
    ],
)
def test_names_are_seen_however_they_are_spelled(name, path):
    made = dicom.changed(SpecificCharacterSet="ISO_IR 192", PatientName=name)
    assert told(path, dicom.file(made))
    assert paths.tell([path], dicom.file(made))


def test_whatever_numbers_a_person_a_visit_or_an_order_is_known():
    for number in sorted(paths.NUMBERS):
        made = dicom.changed()
        made.add_new(number, dictionary_VR(number), "SUBJ-90042")
        data = dicom.file(made)
        for path in ("SUBJ90042/1.png", "x/subj_90042.png", "90042.png"):
            assert told(path, data), keyword_for_tag(number)
            assert paths.tell([path], data), keyword_for_tag(number)


def test_paths_that_say_nothing_of_it_are_kept():
    harmless = [*HARMLESS_PATHS, "2021-03-05/1.png", "patient/48/1224.png"]
    assert [path for path in harmless if told(path)] == []


@given(st.text(st.characters(codec="utf-8"), min_size=5, max_size=20), st.sampled_from("_-/ 1"))
def test_a_name_is_found_between_anything(name, between):
    """Derived from the header's own words: whatever word it has, a path of it has the same."""
    words = {w for w in known._of_name(name) if w[:1] not in "~#" and w.isascii() and w.isalpha()}
    for word in words:
        found = frozenset().union(*known.in_path(f"a{between}{word}{between}b"))
        assert word in found
