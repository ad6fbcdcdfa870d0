"""Outputs of several people: who goes in, what is said in public, what is refused, what resumes."""

import json
import os
from dataclasses import replace

import numpy as np
import pydicom
import pytest
from PIL import Image
from release_specimens import KINDS, InProcess, checked, command, fill, png, quarantine, rows, tree
from set_specimens import BENT, SIZE, SPECS, TABLES, Case, chest, folder, gray, people, table

from anonymize.errors import UsageError
from anonymize.release import pipeline, verify
from anonymize.release.burned_in.options import TextReport
from anonymize.release.decode import picture
from anonymize.release.intake import Candidate
from anonymize.release.options import ReleaseOptions
from anonymize.release.sets.spool import Spool
from anonymize.release.uniform import Uniform
from anonymize.release.workers import worker_pool
from baselines.k_same import KSame


def contributors(case, out="out"):
    """{output: patients} of the private map."""
    found = {}
    for row in rows((case.base / f"{out}-private/map.csv").read_bytes()):
        found.setdefault(row["output"], []).append(case.files[row["input"]][1])
    return found


@pytest.mark.parametrize("spec", SPECS)
def test_a_folder_with_a_table(tmp_path, spec):
    case = Case(tmp_path, spec).begin()
    summary = case.apply()
    out, made = tree(tmp_path / "out"), contributors(case)
    assert out.keys() == TABLES | made.keys()
    least = 3 if spec.startswith("k-same") else 4
    assert made
    assert all(len(set(whose)) == len(whose) >= least for whose in made.values())
    assert [r["output"] for r in rows(out["manifest.csv"])] == sorted(made)
    means = {r["output"]: float(r["Pneumonia"]) for r in rows(out["labels.csv"])}
    finding = {patient: value for _, patient, value in case.files.values()}
    for name, whose in made.items():
        assert means[name] == pytest.approx(np.mean([finding[p] for p in whose]), abs=1e-5)
    told = json.loads(out["certificate.json"])
    assert (told["outputs"], told["inputs"]) == (len(made), 12)
    assert told["people_per_output_min"] == min(map(len, made.values()))
    assert told["guess_at_most"] == (pytest.approx(1 / 3) if least == 3 else None)
    assert told["largest_share_of_an_image"] == (None if least == 3 else 0.5)
    ill = sum(mean == 1 for mean in means.values())
    assert told["in_common"] == {
        "groups_where_all_have_a_finding": 1,
        "outputs_where_all_have_a_finding": ill,
        "most_often": "Pneumonia",
        "groups_alike": 2,
        "outputs_alike": len(made),
        "different_answers_min": 1,
    }
    assert (
        summary.anonymized
        == told["released"]
        == len({r["input"] for r in rows((tmp_path / "out-private/map.csv").read_bytes())})
    )
    assert verify.verify(tmp_path / "out").sound
    public = b"".join([*out.values(), *(name.encode() for name in out)])
    assert not [word for word in (b"Smith", b"MRN", b"ward") if word in public]
    private = tmp_path / "out-private"
    assert {oct(p.stat().st_mode & 0o777) for p in private.iterdir()} == {"0o600"}
    assert not (private / "spool").exists()


def test_a_mean_is_the_mean_of_its_members(case):
    case.apply()
    mapped = rows((case.base / "out-private/map.csv").read_bytes())
    name = mapped[0]["output"]
    shown = np.asarray(Image.open(case.base / "out" / name), float)
    alone = []
    for row in mapped:
        if row["output"] == name:
            image = Image.open(case.source / row["input"]).convert("F")
            alone.append(np.asarray(image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)))
    assert np.abs(np.mean(alone, axis=0) - shown).max() < 1


@pytest.mark.parametrize("format", ["png", "dicom"])
def test_dicom_says_itself_whose_it_is(tmp_path, format):
    files = {f"{n}.dcm": (chest(n, f"MRN{n // 2}77"), "", 0) for n in range(8)}
    files["nobody.dcm"] = (chest(9, ""), "", 0)
    files["picture.png"] = (png(gray(50), 8, 0), "", 0)
    case = Case(tmp_path, files=files).begin()
    summary = case.apply(people=None, uniform=Uniform(SIZE, format))
    private = tmp_path / "out-private"
    assert quarantine(private) == {
        "nobody.dcm": "unknown-patient",
        "picture.png": "unknown-patient",
    }
    assert (summary.anonymized, summary.quarantined) == (8, 2)
    assert summary.together["patients"] == 4
    assert verify.verify(tmp_path / "out").sound
    made = [path for path in (tmp_path / "out").iterdir() if path.name not in TABLES]
    assert made
    if format == "png":
        assert {path.suffix for path in made} == {".png"}
        return
    headers = [pydicom.dcmread(path) for path in made]
    assert {h.SOPClassUID.name for h in headers} == {"Secondary Capture Image Storage"}
    assert len({h.PatientID for h in headers}) == len({h.StudyInstanceUID for h in headers})
    assert len({h.PatientID for h in headers}) == len(made)
    assert not any("PixelSpacing" in h or h.Manufacturer or h.PatientSex for h in headers)


def test_the_secret_decides_and_nothing_else(case):
    case.apply()
    one = tree(case.base / "out")
    summary = case.apply()
    assert tree(case.base / "out") == one
    assert (summary.anonymized, summary.already_done) == (0, 12)
    case.apply("two", workers=2, batch_size=3)
    assert tree(case.base / "two") == one
    (case.base / "key").write_bytes(bytes(range(1, 33)))
    case.apply("three")
    assert contributors(case, "three").keys().isdisjoint(contributors(case))


@pytest.mark.processes
@pytest.mark.parametrize(
    ("spec", "patients"), [(SPECS[0], 8), pytest.param(BENT, 24, marks=pytest.mark.whole)]
)
def test_worker_processes_give_the_same(spec, patients, tmp_path, monkeypatch):
    case = Case(tmp_path, spec, folder(patients)).begin()
    case.apply("two", workers=2)
    files = tree(case.base / "two")
    assert verify.verify(case.base / "two", workers=2).sound
    monkeypatch.setattr(worker_pool, "WorkerPool", InProcess)
    case.apply("one")
    assert tree(case.base / "one") == files


def test_what_is_removed_is_made_again_the_same(case):
    case.apply()
    one = tree(case.base / "out")
    for name in ("certificate.md", next(iter(contributors(case)))):
        (case.base / "out" / name).unlink()
        case.apply()
        assert tree(case.base / "out") == one
    assert not (case.base / "out-private/spool").exists()


def test_a_picture_that_waits_is_taken_up_as_it_was(tmp_path):
    seen = picture("a.png", KINDS["gray16.png"])
    words, text = frozenset({b"Zlatarov", bytes(2000)}), TextReport(1, 2, "inpaint", "rapidocr")
    path = os.fsdecode(b"a\xe4.png")
    candidate = Candidate(path, sha256="a" * 64, radiograph=seen, words=words, text=text)
    spool = Spool(tmp_path, 40)
    assert not spool.holds(path, "a" * 64)
    spool.add(replace(candidate, radiograph=seen.with_pixels(seen.pixels[:, :40])))
    assert spool.holds(path, "a" * 64)
    assert not spool.holds(path, "b" * 64)
    assert not Spool(tmp_path, 41).holds(path, "a" * 64)
    assert (spool.image(path).words, spool.image(path).text) == (words, text)
    assert np.array_equal(spool.gray(path), seen.pixels[:, :40, 0])
    [file] = (tmp_path / "spool").iterdir()
    for other in (b"", file.read_bytes()[:-1], b'{"sha256": "%s"}\n' % (b"a" * 64)):
        file.write_bytes(other)
        assert not spool.holds(path, "a" * 64)


def test_a_plan_says_who_is_unknown(case):
    fill(case.source, {"stranger.png": png(gray(77), 8, 0)})
    options = ReleaseOptions(people=people(case.files), uniform=Uniform(SIZE), names="hashed")
    found = pipeline.plan(case.source, case.base / "out", KSame(k=3), options)
    assert {p.input for p in found if p.action == "quarantine"} == {"stranger.png"}
    assert len(found) == 13
    assert not (case.base / "out").exists()


def test_the_command(case):
    (case.base / "who.csv").write_bytes(table(case.files))
    args = [case.source, case.base / "out", "--text", "keep"]
    more = ["--canonical", f"{SIZE}", "--patients", case.base / "who.csv", "--sign"]
    for arguments, words in (
        ([], "--canonical SIZE"),
        (["--labels", case.base / "who.csv"], "--labels cannot be released with k-same"),
        ([*more, "--labels", case.base / "who.csv"], "--canonical leaves no place for labels"),
        (more[:2], "none of these files says whose it is, as DICOM headers do: give --patients"),
    ):
        assert words in command(*args, *arguments, model="k-same:k=3", code=2).stderr
    done = command(*args, *more, model="k-same:k=3", code=0)
    for words in ("12 went into outputs", "NOT SHOWN", "no differential privacy", "0.333"):
        assert words in done.stdout
    assert "in 1 of 2 groups and 2 of 3 outputs all people have one and the same" in done.stdout
    assert "in 2 of 2 groups and 3 of 3 outputs all have some finding or all" in done.stdout
    key = case.base / "out-private/secret.key.pub"
    assert checked(case.base / "out", "--public-key", key).exit_code == 0
    page = case.base / "out/certificate.md"
    page.write_bytes(page.read_bytes().replace(b"5 ", b"9 ") + b"\n")
    assert "no signature by the owner" in checked(case.base / "out", "--public-key", key).stdout
    few = command(*args[:1], case.base / "few", *more, "--text", "keep", model="k-same:k=9", code=3)
    assert "released   nothing: an output needs 9 different people" in few.stdout


def test_labels_that_were_read_say_so(tmp_path, quick_readers):
    case = Case(tmp_path, "k-same:k=3,read=0.5", folder(24)).begin()
    case.apply()
    out, made = tree(tmp_path / "out"), contributors(case)
    finding = {patient: value for _, patient, value in case.files.values()}
    labels = {r["output"]: float(r["Pneumonia"]) for r in rows(out["labels.csv"])}
    assert labels.keys() == made.keys()
    for name, whose in made.items():
        read = 2 * labels[name] - np.mean([finding[p] for p in whose])
        assert 0 < read < 1
        assert read == pytest.approx(round(read, 2), abs=1e-5)
    told = "Each is what networks read in the output, by 0.5, and the mean of what is known"
    assert told in out["certificate.md"].decode()
    assert json.loads(out["certificate.json"])["options"]["read"] == 0.5
    assert verify.verify(tmp_path / "out").sound
    case.apply()
    assert tree(tmp_path / "out") == out
    case.apply("other")  # by the same key
    assert tree(tmp_path / "other")["labels.csv"] == out["labels.csv"]


def test_what_reads_labels_learns_from_some(tmp_path):
    case = Case(tmp_path, "mosaic:g=2,m=2,read=1").begin()
    for whose in (None, replace(people(case.files), labels=(), targets={})):
        with pytest.raises(UsageError, match=r"mosaic says itself .* name them in --patients"):
            case.apply(people=whose)
    assert not (tmp_path / "out").exists()
