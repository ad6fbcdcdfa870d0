"""`attacks release`: the very files of a release, and what is said of it."""

import json
import os
import stat
from pathlib import Path

import asked
import numpy as np
import pytest
from changing import altered
from identities import image_set
from overlapping import read_table
from PIL import Image
from pydicom import Dataset as DicomDataset
from pydicom.dataset import FileMetaDataset
from pydicom.uid import ComputedRadiographyImageStorage, ExplicitVRLittleEndian
from scipy.stats import binom

import attacks
from anonymize.anonymizer import load
from anonymize.data.image_files import resize
from anonymize.errors import UsageError
from anonymize.release.pipeline import apply
from attacks.cli import main
from attacks.commands.release import ATTACKERS
from attacks.evaluation.policy import Policy
from attacks.evaluation.release_seen import ReleaseSeen
from attacks.linkage.release_attack import DEFAULT, _hits
from attacks.linkage.release_results import ReleaseResults, exact_interval
from attacks.linkage.release_verdict import judged_release
from attacks.linkage.released_by import method_of
from attacks.measuring.metrics import Owners
from attacks.reporting.verdict import verdict

SIZE = 96
NOISE = "dp-pix:b=2,epsilon=0.01"
PATIENTS = 15


def ask(a_release, *arguments, code=0):
    attackers = ("--attackers", "training-free,format,identical")
    return asked.ask(main, "release", *a_release[1], *attackers, *arguments, code=code)


def found_in(out):
    """What release.json holds."""
    return json.loads((out / "release.json").read_text())


def by_attacker(found):
    """How many files each attacker finds."""
    return {a["attacker"]: a["found"]["found"] for a in found["attacks"]}


def write_noise(path, seed, *, height=40, inverted=False):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, 40), np.uint8)
    Image.fromarray(255 - pixels if inverted else pixels).save(path)


@pytest.fixture(scope="module")
def attacked(a_release):
    folder, _ = a_release
    patients = ("--patients", folder / "patients.csv", "--out", folder / "attack")
    return ask(a_release, folder / "real", folder / "out", *patients), folder / "attack"


@pytest.fixture(scope="module")
def found(attacked):
    return found_in(attacked[1])


def test_a_blur_hides_nobody_and_the_verdict_says_so(attacked, found):
    result, _ = attacked
    assert f"are released as these files were, up to {SIZE} × {SIZE} px" in result.stderr
    assert "VERDICT: people are found in this release. training-free finds whom 30 of 30" in (
        result.stdout
    )
    assert "Do not hand this release on as anonymous" in result.stdout
    assert found["method"] == "gaussian-blur:sigma=0.02"
    assert found["matched_by"] == ["findings", "sex", "age", "view"]
    best = {a["attacker"]: a for a in found["attacks"]}["training-free"]
    assert best["found"]["files"] == 30
    assert best["found"]["patients"] == PATIENTS
    assert best["found"]["expected"] == pytest.approx(30 * 2 / 30)
    assert best["others"]["precision_at_1"] > 0.5
    assert best["others"]["matched"]["auc"]["mean"] > 0.7
    assert best["with_originals"]["auc"]["mean"] >= best["others"]["auc"]["mean"]


def test_what_names_files_is_private(a_release, attacked):
    result, out = attacked
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    for name in ("release.json", "release.md", "found.csv", "found.png"):
        assert stat.S_IMODE((out / name).stat().st_mode) == 0o600
    lines = [r for r in read_table(out / "found.csv") if r["attacker"] == "training-free"]
    assert {line["found"] for line in lines} == {"1"}
    assert all(line["original"] == line["released"] for line in lines)
    public = result.stdout + (out / "release.json").read_text() + (out / "release.md").read_text()
    assert "07.png" not in public
    assert "p7" not in public


def test_floors_say_what_no_picture_is_needed_for(a_release, tmp_path):
    """A size of its own gives a file away, and pixels that were passed through do."""
    for name in ("real", "copied"):
        (tmp_path / name).mkdir()
        for row in range(6):
            inverted = name == "copied" and row > 1
            write_noise(tmp_path / name / f"{row}.png", row, height=40 + row, inverted=inverted)
    result = ask(a_release, tmp_path / "real", tmp_path / "copied", "--out", tmp_path / "attack")
    by = by_attacker(found_in(tmp_path / "attack"))
    assert (by["format"], by["identical"]) == (6, 2)
    assert "found by size and format of the files alone" in result.stdout
    assert "note: nobody says what released these files" in result.stdout


def test_more_attackers_are_asked_in_the_same_folder_and_fewer_in_another(a_release, tmp_path):
    for name in ("real", "released"):
        (tmp_path / name).mkdir()
        for row in range(4):
            Image.new("L", (40, 40), 60 * row).save(tmp_path / name / f"{row}.png")

    def attack(attackers, code=0):
        folders = (tmp_path / "real", tmp_path / "released", "--out", tmp_path / "attack")
        return ask(a_release, *folders, "--attackers", attackers, code=code)

    attack("identical")
    attack("format, identical")
    held = json.loads((tmp_path / "attack" / "release.json").read_text())
    assert {a["attacker"] for a in held["attacks"]} == {"format", "identical"}
    assert "holds results of something else (attackers)" in attack("identical", code=2).stderr


def test_what_cannot_be_read_is_counted_and_named(a_release, tmp_path):
    for name, broken in (("real", "3.png"), ("released", "5.png")):
        (tmp_path / name).mkdir()
        for row in range(8):
            write_noise(tmp_path / name / f"{row}.png", row)
        (tmp_path / name / broken).write_bytes(b"\x89PNG no more")
        (tmp_path / name / "notes.txt").write_text("no image")
    out = tmp_path / "attack"
    result = ask(a_release, tmp_path / "real", tmp_path / "released", "--out", out)
    assert "not read: 1 released file (1 × " in result.stdout
    assert "not read: 1 real file (1 × " in result.stdout
    assert "not counted: 1 released file whose original" in result.stdout
    assert "finds whom 6 of 6 released files" in result.stdout
    unread = {(line["folder"], line["file"]) for line in read_table(out / "unread.csv")}
    assert unread == {("released", "5.png"), ("real", "3.png")}
    assert found_in(out)["released"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("real", "none"), "RELEASED must be the folder of a release"),
        (("none", "out"), "REAL must be an image, a folder or source:root"),
        (("known", "out"), "nobody says which real file, or patient, any released file shows"),
        (("real", "out", "--method", "dp-pix:b=8"), "the manifest of RELEASED says gaussian-blur"),
        (("real", "out", "--private", "known"), "its options are in the private folder alone"),
        (("real", "out", "--patients", "strangers.csv"), "lists no file of REAL or RELEASED"),
        (("real", "out", "--attackers", "oracle"), "attackers must be among"),
        (("real", "out", "--patients", "one.csv"), "show one patient alone, who cannot be mist"),
    ],
)
def test_wrong_input_is_one_line(a_release, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(a_release[0])
    Path("strangers.csv").write_text("path,patient_id\nnobody.png,p1\n")
    files = [p.relative_to("real") for p in Path("real").rglob("*.png")]
    Path("one.csv").write_text("\n".join(["path,patient_id", *(f"{name},p1" for name in files)]))
    result = ask(a_release, *arguments, "--out", tmp_path / "attack", code=2)
    assert message in result.output.strip().splitlines()[-1]
    assert not (tmp_path / "attack").exists()


@pytest.mark.parametrize(
    ("inside", "argument"), [("real", "REAL"), ("out", "RELEASED"), ("out/deep/er", "RELEASED")]
)
def test_private_files_are_not_put_among_those_that_are_attacked(a_release, inside, argument):
    folder = a_release[0]
    before = sorted(folder.rglob("*"))
    given = (folder / "real", folder / "out", "--out", folder / inside)
    assert f"--out must not lie in {argument}" in ask(a_release, *given, code=2).output
    assert sorted(folder.rglob("*")) == before


def test_names_of_any_bytes_are_written_as_they_are(a_release, tmp_path):
    real, name = tmp_path / "real", b"\xff.png"
    real.mkdir()
    for number, path in enumerate((real / os.fsdecode(name), real / "b.png")):
        write_noise(path, number)
    apply(real, tmp_path / "out", load("gaussian-blur:sigma=0.02"))
    given = (real, tmp_path / "out", "--attackers", "format,identical", "--out", tmp_path / "found")
    ask(a_release, *given)
    assert name in (tmp_path / "found" / "found.csv").read_bytes()
    assert found_in(tmp_path / "found")["method"] == "gaussian-blur:sigma=0.02"


def test_a_manifest_that_cannot_be_read_is_not_taken_for_none(tmp_path):
    assert method_of(tmp_path, None, None) is None
    (tmp_path / "manifest.csv").mkdir()
    with pytest.raises(UsageError, match="says what released the files, cannot be read"):
        method_of(tmp_path, None, None)


def test_python_says_the_same(a_release, attacked):
    folder, _ = a_release
    settings = {
        "data.source": "folder",
        "data.root": str(folder / "known"),
        "data.size": 32,
        "data.cache": str(folder / "cache"),
        "evaluation.resamplings": 50,
    }
    found = attacks.release(
        folder / "real",
        folder / "out",
        attackers=["training-free", "format"],
        options=settings,
        out=folder / "attack",
    )
    assert "finds whom 30 of 30 released files show" in found.verdict
    assert repr(found) == "Released(training-free finds 30 of 30)"
    assert len(found.frame) == 60
    assert ATTACKERS == DEFAULT


def test_the_method_is_read_from_the_release(a_release, tmp_path):
    folder, _ = a_release
    private = folder / "out-private"
    assert method_of(folder / "out", private, None) == "gaussian-blur:sigma=0.02"
    assert method_of(tmp_path, None, None) is None
    (tmp_path / "model.safetensors").touch()
    assert method_of(tmp_path, None, None, [tmp_path]) is None  # it teaches, and released nothing
    assert method_of(tmp_path, None, "dp-pix:b=4") == "dp-pix:b=4"
    with pytest.raises(ValueError, match="its options are in the private folder alone"):
        method_of(folder / "out", None, None)


# The figures


def test_equally_near_images_count_in_part_and_all_equal_ones_not_at_all():
    probes = Owners(np.arange(4), np.array([0, 1, 2, 9]), np.ones(4, bool))
    gallery = Owners(np.arange(4, 7), np.array([0, 1, 2]), np.ones(3, bool))
    scores = np.array([[3, 1, 0], [2, 2, 1], [1, 1, 1], [5, 4, 3]], float)
    columns = np.array([[0, 1, 2], [1, 2, 0], [0, 1, 2], [0, 1, 2]])
    found = _hits(scores, columns, probes, gallery)
    np.testing.assert_array_equal(found, [1, 0.5, 0, np.nan])


def test_a_coin_falls_on_what_a_probe_is_compared_with(found):
    """Two images a patient, 30 in all: with the originals 2 of 30, of the others 1 of 29."""
    first = found["attacks"][0]
    assert first["with_originals"]["chance"] == pytest.approx(2 / 30)
    assert first["others"]["chance"] == pytest.approx(1 / 29)


def test_the_interval_is_that_of_the_binomial_law():
    low, high = exact_interval(0.9, 20, 0.95)
    assert binom.sf(17, 20, low) == pytest.approx(0.025)
    assert binom.cdf(18, 20, high) == pytest.approx(0.025)
    assert exact_interval(0, 30, 0.95) == pytest.approx((0, 1 - 0.025 ** (1 / 30)))
    assert exact_interval(1, 30, 0.95) == pytest.approx((0.025 ** (1 / 30), 1))


# DICOM


def dicom(path, levels, patient, number, *, inverted):
    """A computed radiograph of 12 bits; ``levels`` are 8 bits."""
    made = DicomDataset()
    made.SOPClassUID, made.Modality = ComputedRadiographyImageStorage, "CR"
    made.PatientName, made.PatientID = f"Doe^{patient}", f"ID{patient:05d}"
    made.StudyInstanceUID, made.SeriesInstanceUID = f"1.2.{number}.1", f"1.2.{number}.2"
    made.SOPInstanceUID, made.ViewPosition = f"1.2.{number}.3", "PA"
    made.BodyPartExamined, made.PatientOrientation = "CHEST", ["L", "F"]
    made.PhotometricInterpretation = "MONOCHROME1" if inverted else "MONOCHROME2"
    made.SamplesPerPixel, made.PixelRepresentation = 1, 0
    made.BitsAllocated, made.BitsStored, made.HighBit = 16, 12, 11
    made.Rows, made.Columns = levels.shape
    stored = levels.astype(np.uint16) * 16
    made.PixelData = (4095 - stored if inverted else stored).tobytes()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.save_as(path, enforce_file_format=True)


@pytest.mark.processes
@pytest.mark.parametrize(("method", "hides"), [("gaussian-blur:sigma=0.02", False), (NOISE, True)])
def test_a_release_of_dicom_is_attacked_from_file_to_verdict(a_release, tmp_path, method, hides):
    real, out = tmp_path / "real", tmp_path / "out"
    real.mkdir()
    drawn = image_set(12, each=2, seed=8)
    rows = enumerate(zip(drawn.images, drawn.owners.patient, strict=True))
    for row, (pixels, patient) in rows:
        levels = resize(pixels[0].numpy(), SIZE)
        dicom(real / f"{row}.dcm", levels, patient, row, inverted=row % 2)
    apply(real, out, load(method))
    result = ask(a_release, real, out, "--out", tmp_path / "attack")
    found = found_in(tmp_path / "attack")
    assert found["released"] == len(list(out.rglob("*.dcm"))) == 24
    assert found["unread"] == {"released": {}, "real": {}}
    by = by_attacker(found)
    assert by["identical"] == 0
    assert (by["training-free"] < 8) == hides
    first = found["attacks"][0]
    assert first["found"]["patients"] == 12  # as the headers say
    assert first["others"] is not None
    assert ("people are found in this release" in result.stdout) != hides


@pytest.mark.parametrize(("p", "links"), [(0.004, False), (0.002, True)])
def test_many_readings_of_a_coin_are_no_link(found, p, links):
    """Ten readings, one of which has this p: 0.025 holds for all of them together."""
    whole = ReleaseResults.model_validate({k: v for k, v in found.items() if k != "verdict"})
    nobody = {"found": 0.0, "share": 0.0, "interval": (0.0, 0.2)}
    one = altered(whole.attacks[0], found=nobody)

    def attack(*ps):
        readings = [altered(one.with_originals, p_above_chance=q) for q in ps]
        return altered(one, with_originals=readings[0], others=readings[1])

    attacks = (attack(p, 0.5), *[attack(0.5, 0.5)] * 4)
    assert ("this release links" in verdict(altered(whole, attacks=attacks))) == links


def test_an_attack_says_how_likely_a_coin_is(found):
    p = {a["attacker"]: a["with_originals"]["p_above_chance"] for a in found["attacks"]}
    assert p["training-free"] < 0.001


def test_who_learns_nothing_is_not_given_training_images(a_release, tmp_path):
    """An attacker without training needs images only to be measured on; it takes those of one that
    learnt, where these were released before."""
    folder, _ = a_release

    def given(attackers):
        """Images that are released for the attackers, in all."""
        out = tmp_path / attackers
        words = (folder / "real", folder / "out", "--out", out, "--attackers", attackers)
        said = ask(a_release, *words, "--set", "evaluation.histogram_metric.cells=[4]").stderr
        said = said.split(" images of folder are released")[:-1]
        assert len(list(out.glob("released-*.npy"))) == len(said)
        return sum(int(text.split()[-1]) for text in said)

    every = len(read_table(folder / "known" / "list.csv"))
    assert given("training-free") < 0.4 * every
    assert given("histogram-metric,training-free") == every


def lines_of(found, release=None, people=PATIENTS, **demands):
    """The lines of a policy, by what they say they demand."""
    results = ReleaseResults.model_validate({k: v for k, v in found.items() if k != "verdict"})
    verdict = judged_release(results, people, Policy(title="ours", **demands), release, ())
    return {line.demand: line for line in verdict.lines}


def test_what_an_attack_on_files_does_not_look_at_cannot_be_certified(found):
    asked_for = {"utility": {"margin": 0.05}, "min_jacobian": 0, "checks": True, "guidelines": "A"}
    lines = lines_of(found, **asked_for, headers=True, text=True)
    assert len(lines) == 6
    assert {line.outcome for line in lines.values()} == {"cannot be certified"}


def test_every_attacker_has_to_keep_to_a_threshold_and_no_tail_is_fitted(found):
    [line] = lines_of(found, precision_at_1=0.01).values()
    assert line.outcome == "fail"
    assert "training-free" in line.said
    [line] = lines_of(found, precision_at_1=1).values()
    assert line.outcome == "pass"
    few, many = ({"people": n, "most": 0.01} for n in (PATIENTS, 10**6))
    assert [line.outcome for line in lines_of(found, r_s=few).values()] == ["fail"]
    held = lines_of(found, r_s=many | {"very_image": True})
    assert [line.outcome for line in held.values()] == ["cannot be certified"] * 2
    assert all("fits no tail" in line.said for line in held.values())


def test_the_manifest_says_whether_files_are_sound_and_folded(found):
    seen = ReleaseSeen(30, {}, "gaussian-blur", searched=29, moves=False)
    lines = lines_of(found, seen, headers=True, text=True, min_jacobian=0).values()
    assert [line.outcome for line in lines] == ["pass", "pass", "fail"]
    folded = ReleaseSeen(30, {"changed": 1}, min_jacobian=-0.1)
    lines = lines_of(found, folded, headers=True, text=True, min_jacobian=0).values()
    assert {line.outcome for line in lines} == {"fail"}


def test_a_policy_judges_the_files(a_release, tmp_path):
    folder, _ = a_release
    patients = ("--patients", folder / "patients.csv", "--out", tmp_path)
    result = ask(
        a_release, folder / "real", folder / "out", *patients, "--policy", "public", code=5
    )
    told = [line for line in result.stdout.splitlines() if "VERDICT, public release" in line]
    assert told == ["VERDICT, public release, gaussian-blur:sigma=0.02: fail"]
    [held] = found_in(tmp_path)["policy"]["verdict"]
    assert held["outcome"] == "fail"
    for line in held["lines"]:
        assert f"{line['outcome']}: {line['demand']}: {line['said']}" in result.stdout
    assert told[0] in (tmp_path / "release.md").read_text()
    assert (tmp_path / "answers.yaml").is_file()
