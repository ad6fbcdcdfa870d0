"""Outputs of several people: what is refused, withheld, or looked for in each input."""

import itertools
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pydicom
import pytest
from archive_specimens import archive
from release_specimens import KINDS, command, fill, pillow, png, quarantine, rows, tree
from set_specimens import SIZE, TABLES, Case, chest, folder, gray, people

from anonymize.errors import UsageError
from anonymize.release import pipeline, verify
from anonymize.release.burned_in.options import TextOptions, TextReport
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason, Refused
from anonymize.release.sets.people import People
from anonymize.release.uniform import Uniform
from baselines.k_same import KSame


def test_nobody_is_guessed(tmp_path):
    files = folder(10)
    twin = "ward/Smith0_0.png"
    files["twin.png"] = (files[twin][0], "another", 0)  # the same picture
    saved, film = "ward/Smith4_0.png", gray(40).astype(int)
    again = pillow((1.1 * film + 2).clip(0, 255).astype(np.uint8), "JPEG", quality=75)
    files["again.jpg"] = (again, "a third", 0)  # the same film
    inverted = "ward/Smith6_0.png"
    files["negative.png"] = (png(255 - gray(60), 8, 0), "a fourth", 0)
    for n in range(2):
        files[f"{n}.dcm"] = (chest(n, "one person"), f"two ids {n}", 0)
    case = Case(tmp_path, files=files).begin()
    fill(case.source, {"stranger.png": png(gray(77), 8, 0), "notes.txt": b"not an image"})
    case.apply(people=people(files, leave_out=["ward/Smith2_0.png"]))
    found = quarantine(tmp_path / "out-private")
    unknown = {"stranger.png", "ward/Smith2_0.png", "twin.png", twin, "0.dcm", "1.dcm"}
    unknown |= {"again.jpg", saved, "negative.png", inverted}
    assert {path for path, why in found.items() if why == "unknown-patient"} == unknown
    assert found["notes.txt"] == "not-an-image"
    used = {row["input"] for row in rows((tmp_path / "out-private/map.csv").read_bytes())}
    assert not used & unknown


def test_what_nobody_sees_of_an_id_makes_no_two_people(tmp_path):
    files = {
        f"{n}.png": (png(gray(10 * n), 8, 0), who, 0)
        for n, who in enumerate(["A1", "A\u200b1", "A1 ", "\uff211", "B1"])
    }
    summary = Case(tmp_path, files=files).begin().apply()  # three people an output
    assert summary.reasons == {"not-grouped": 5}


@pytest.mark.parametrize("by", ["film", "header"])
def test_whom_a_contradiction_makes_one_is_nobody_elses_cover(tmp_path, by):
    """Other images of two ids, of which a film or a header says that they are of one person."""
    files = {f"{n}.png": (png(gray(10 * n), 8, 0), f"id {n}", 0) for n in range(3)}
    if by == "film":
        files |= {f"{n}_again.png": (png(gray(99), 8, 0), f"id {n}", 0) for n in range(2)}
    else:
        files |= {f"{n}.dcm": (chest(n, "one person"), f"id {n}", 0) for n in range(2)}
    summary = Case(tmp_path, files=files).begin().apply()  # three people an output
    assert summary.reasons == {"unknown-patient": 2, "not-grouped": 3}


def test_a_finding_called_as_a_patient_is_refused(tmp_path):
    files = {f"{n}.dcm": (chest(n, f"MRN{n}77"), f"{n}", 0) for n in range(4)}
    case = Case(tmp_path, files=files).begin()
    told = replace(people(files), labels=("mrn-277",))
    with pytest.raises(UsageError, match="the name of a label, which becomes public"):
        case.apply(people=told)
    assert not [path for path in tree(tmp_path / "out") if path.endswith(".png")]
    assert case.apply(people=replace(told, labels=("Effusion",))).anonymized == 4


def test_too_few_people_are_not_released(tmp_path):
    case = Case(tmp_path, files=folder(2)).begin()
    summary = case.apply()
    assert not summary.complete
    assert summary.reasons == {"not-grouped": 3}
    assert tree(tmp_path / "out").keys() == TABLES
    assert verify.verify(tmp_path / "out").counts == {"empty": 1}
    again = case.apply()
    assert again.reasons == summary.reasons
    fill(case.source, {"more.png": png(gray(77), 8, 0)})
    assert case.apply().inputs == 4  # nobody was seen in a group


@pytest.mark.parametrize("small", ["", ",small=withhold"])
def test_kinds_of_few_people_join_others_or_are_withheld(tmp_path, small):
    """Two of eight have the finding, and an output is of three."""
    files = {path: (data, who, int(who < "MRN00277")) for path, (data, who, _) in folder().items()}
    rare = {path for path, (_, _, finding) in files.items() if finding}
    summary = Case(tmp_path, f"k-same:k=3{small}", files).begin().apply()
    used = {row["input"] for row in rows((tmp_path / "out-private/map.csv").read_bytes())}
    assert bool(used & rare) != bool(small)
    assert summary.together["in_common"]["most_often"] is None
    means = {row["Pneumonia"] for row in rows((tmp_path / "out/labels.csv").read_bytes())}
    assert (means == {"0"}) == bool(small)
    if small:
        assert summary.reasons["not-grouped"] >= len(rare)
        assert summary.together["options"]["small"] == "withhold"
    assert verify.verify(tmp_path / "out").sound


@pytest.mark.parametrize("change", ["new", "changed", "gone"])
def test_other_inputs_are_refused(case, change):
    case.apply()
    one, kept = tree(case.base / "out"), tree(case.base / "out-private")
    first = case.source / "ward/Smith0_0.png"
    if change == "gone":
        first.unlink()
    else:
        fill(
            case.source,
            {"ward/Smith0_0.png" if change == "changed" else "new.png": KINDS["gray8.png"]},
        )
    with pytest.raises(UsageError, match="second release of the same people in other groups"):
        case.apply()
    assert tree(case.base / "out") == one
    assert tree(case.base / "out-private") == kept  # no picture of the others, either
    fill(case.source, {"ward/Smith0_0.png": case.files["ward/Smith0_0.png"][0]})
    (case.source / "new.png").unlink(missing_ok=True)
    fill(case.source, {"notes.txt": b"what is no image changes nothing"})
    assert case.apply().already_done == 12


def test_a_method_that_breaks_its_promise_releases_nothing(case, monkeypatch):
    real = KSame.release

    def shown(self, given):
        found = real(self, given)
        found.images.pixels[:] = given.images.batch(np.array([r[0] for r in found.contributors]))
        return found

    monkeypatch.setattr(KSame, "release", shown)
    summary = case.apply()
    assert summary.reasons == {"unchanged": 12}
    assert tree(case.base / "out").keys() == TABLES

    def alone(self, given):
        found = real(self, given)
        return type(found)(found.images, [r[:1] for r in found.contributors], found.groups)

    monkeypatch.setattr(KSame, "release", alone)
    with pytest.raises(UsageError, match="must make an output of 3 patients or more"):
        case.apply("other")
    assert not tree(case.base / "other")


def test_no_output_tells_how_much_text_there_was(case, monkeypatch):
    """Who has a film knows how much there was, and would find the outputs that show it."""
    from anonymize.release.burned_in import policy, reader

    found = itertools.count()
    monkeypatch.setattr(reader, "require", lambda mode: None)
    monkeypatch.setattr(policy, "look_again", lambda radiograph, options: None)
    monkeypatch.setattr(policy, "sheet", lambda *_: b"")
    report = TextReport(0, 0, "inpaint", "rapidocr 3.1.0")
    removed = lambda image, _: (image, replace(report, regions=next(found)))  # noqa: E731
    monkeypatch.setattr(policy, "clean", removed)
    case.apply(text=TextOptions("remove"))
    told = rows((case.base / "out/manifest.csv").read_bytes())
    assert {row["text_regions"] for row in told} == {"0"}
    assert verify.verify(case.base / "out").text_not_looked_for == 0
    private = rows((case.base / "out-private/text.csv").read_bytes())
    assert sorted({int(row["regions"]) for row in private}) == list(range(1, 12))


def test_unequal_patches_are_refused(case):
    """Of 32 pixels one of nine patches would have 11 × 11, more than a ninth."""
    case.spec = "mosaic:g=3,m=1,feather=0"
    with pytest.raises(UsageError, match=r"does not fit this --canonical: .* a multiple of 3"):
        case.apply()
    assert not (case.base / "out").exists()


def test_text_is_looked_for_in_each_input(case, monkeypatch):
    """As the OCR would; by what stands in for it, since marks of several people look like text."""
    from anonymize.release.burned_in import policy, reader

    report = TextReport(0, 0, "inpaint", "rapidocr 3.1.0")
    seen = []

    def look_again(radiograph, options):
        seen.append(radiograph.pixels.shape)
        if len(seen) == 5:
            raise Refused(Reason.BURNED_IN_TEXT, "1 line of text may be left")

    monkeypatch.setattr(reader, "require", lambda mode: None)
    monkeypatch.setattr(policy, "clean", lambda radiograph, options: (radiograph, report))
    monkeypatch.setattr(policy, "look_again", look_again)
    text = TextOptions("remove")
    summary = case.apply(text=text, uniform=Uniform(SIZE, "dicom"))
    assert seen == [(SIZE, SIZE, 1)] * 12
    assert summary.reasons["burned-in-text"] == 1
    made = [pydicom.dcmread(path) for path in (case.base / "out").glob("*.dcm")]
    assert {one.DeidentificationMethod[2] for one in made} == {
        "Burned-in text: removed where found (rapidocr 3.1.0)"
    }
    assert verify.verify(case.base / "out").sound


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"uniform": None}, r"--canonical SIZE\[,png\|dicom\], for example --canonical 512,png"),
        ({"uniform": None, "labels": LabelOptions(("x",))}, "--labels cannot be released with"),
        ({"people": People({"nowhere.png": "A"})}, "--patients names no file of IN"),
    ],
)
def test_what_cannot_be_is_refused(case, options, words):
    with pytest.raises(UsageError, match=words) as found:
        case.apply(**options)
    assert "\n" not in str(found.value)
    assert not (case.base / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"path,patient\na.png,1\n", "there is no patient_id"),
        (b"a.png,Miller^Anna,19700203\n", "the first line of the CSV must name path, patient_id"),
        (b"path,patient_id,A\na.png,1,1,Miller\n", "a row has more cells than the first"),
        (b"path,patient_id,A,A\na.png,1,1,1\n", "column 4 of the CSV has the name of another"),
        (b"path,patient_id,Anna M.\na.png,Miller^Anna,1\n", "holds a patient_id or a word of"),
        (b"path,patient_id,mrn 47\na.png,MRN-47,1\n", "column 3: the name of a label, which becom"),
        (b"path,patient_id\na.png,1\na.png,1\n", "lists a path twice"),
        (b"path,patient_id\n../a.png,1\n", "path leaves the folder"),
        (b"path,patient_id,Name\na.png,1,Miller\n", "column 3 must be a label, 1, 0 or nothing"),
        (b"path,patient_id,=cmd\na.png,1,1\n", "column 3: the name of a class has = as its char"),
        ("path,patient_id,A,B’s\na.png,1,1,1\n".encode(), "column 4: the name of a class has ’ as"),
        (b"path,patient_id,-A\na.png,1,1\n", "column 3: the name of a class begins like a formula"),
    ],
)
def test_other_tables_are_refused(case, text, words):
    (case.base / "who.csv").write_bytes(text)
    args = ["--canonical", "32", "--patients", case.base / "who.csv", "--text", "keep"]
    found = command(case.source, case.base / "out", *args, model="k-same:k=3", code=2)
    assert words in found.stderr
    assert "Miller" not in found.output


CHEST, PICTURE = chest(1, "A1"), png(gray(1), 8, 0)
MAY_SAY = {
    "DICOM by another name": {"1.png": CHEST},
    "DICOM without preamble": {"1": CHEST[132:]},
    "DICOM whose names collide": {"1.dcm": CHEST, "1.DCM": CHEST},
    "DICOM in an archive": {"x.zip": archive([("1.dcm", CHEST)])},
    "anything in an archive": {"x.zip": archive([("IM0001", CHEST)])},
}
SAYS_NOTHING = {
    "a picture": {"1.png": PICTURE},
    "a table": {"1.png": PICTURE, "t.csv": b"path,patient_id\n1.png,A1\n"},
    "a picture in an archive": {"x.zip": archive([("1.png", PICTURE)])},
}


@pytest.mark.parametrize("case", MAY_SAY | SAYS_NOTHING)
def test_without_patients_a_release_begins_where_a_header_may_say_them(tmp_path, case):
    fill(tmp_path / "in", (MAY_SAY | SAYS_NOTHING)[case])
    options = ReleaseOptions(uniform=Uniform(SIZE))
    with nullcontext() if case in MAY_SAY else pytest.raises(UsageError, match="give --patients"):
        assert pipeline.plan(tmp_path / "in", tmp_path / "out", KSame(k=3), options)
