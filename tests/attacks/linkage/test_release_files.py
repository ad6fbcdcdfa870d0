"""`attacks release`: which files are attacked, what released them, and which are refused."""

import os
import shutil
from pathlib import Path

import asked
import numpy as np
import pytest
from dicom_specimens import cr, file, with_pixels
from files_attacked import ask, by_attacker, found_in, write_noise
from identities import image_set
from overlapping import read_table
from PIL import Image

from anonymize.anonymizer import load
from anonymize.cli import main as apply_main
from anonymize.data.image_files import resize
from anonymize.errors import UsageError
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.pipeline import apply
from attacks.linkage.album import unlisted
from attacks.linkage.released_by import method_of

pytestmark = pytest.mark.whole

SIZE = 96
NOISE = "dp-pix:b=2,epsilon=0.01"


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


def test_files_beside_the_manifest_are_attacked_too(a_release, tmp_path):
    """A real film that slipped in, under any name; junk that may be an image is counted."""
    folder, released = a_release[0], tmp_path / "out"
    shutil.copytree(folder / "out", released)
    (released / "labels").mkdir()
    for name in ("stray.png", "deep/.hidden.png", "labels/odd.png"):
        shutil.copy(folder / "real" / "04.png", released / name)
    (released / "junk.dcm").write_bytes(b"\0" * 999)
    (released / "notes.txt").write_text("no image")
    private = ("--private", folder / "out-private")
    result = ask(a_release, folder / "real", released, *private, "--out", tmp_path / "attack")
    assert "VERDICT: real images are in this release. 3 released files have" in result.stdout
    assert "the manifest does not name 4 files of the release" in result.stdout
    assert "of them are nobody says" not in result.stdout  # what is read is known by its pixels
    assert "not read: 1 released file" in result.stdout
    assert "not counted" not in result.stdout
    found = found_in(tmp_path / "attack")
    assert (found["released"], found["untouched"], found["unlisted"]) == (34, 3, 4)
    assert by_attacker(found)["identical"] == 3
    lines = read_table(tmp_path / "attack" / "found.csv")
    stray = {r["released"]: r for r in lines if r["attacker"] == "identical"}["stray.png"]
    assert (stray["original"], stray["found"]) == ("04.png", "1")


def copied(a_release, tmp_path):
    """The release, to be spoilt, and how it is attacked."""
    folder, released = a_release[0], tmp_path / "out"
    shutil.copytree(folder / "out", released)
    private = ("--private", folder / "out-private")
    asked = (a_release, folder / "real", released, *private, "--out", tmp_path / "attack")
    return released, lambda: ask(*asked)


def test_a_film_saved_again_is_nobodys_and_improves_no_figure(a_release, tmp_path):
    """As another format its pixels differ: it counts in no figure, and the verdict names it."""
    released, attack = copied(a_release, tmp_path)
    attack()
    before = found_in(tmp_path / "attack")["attacks"]
    shutil.rmtree(tmp_path / "attack")
    for row in range(0, 10, 2):
        film = Image.open(a_release[0] / "real" / f"{row:02d}.png")
        film.save(released / f"again{row}.jpg", quality=80)
    (released / "link").symlink_to(a_release[0] / "real")
    result = attack()
    assert "VERDICT: nobody knows what is in this release. Its manifest does not name 6 files" in (
        result.stdout
    )
    assert "Whose 5 of them are nobody says" in result.stdout
    assert "not read: 1 released file" in result.stdout  # a link to a folder
    assert "not counted" not in result.stdout
    found = found_in(tmp_path / "attack")
    assert (found["unlisted"], found["foreign"]) == (6, 5)
    for one, other in zip(found["attacks"], before, strict=True):
        reached = [a["with_originals"]["auc"]["mean"] for a in (one, other)]
        assert reached[0] == pytest.approx(reached[1], abs=1e-3)
    lines = read_table(tmp_path / "attack" / "found.csv")
    taken = {r["released"]: r["taken_for"] for r in lines if r["attacker"] == "training-free"}
    assert taken["again4.jpg"] == "04.png"


def test_files_that_changed_places_are_said_to_be_nobodys(a_release, tmp_path):
    """The map says whose the names are, which is no longer true of what they hold."""
    released, attack = copied(a_release, tmp_path)
    (released / "04.png").rename(released / "was04.png")
    (released / "06.png").rename(released / "04.png")
    (released / "was04.png").rename(released / "06.png")
    result = attack()
    assert (
        "VERDICT: nobody knows whom this release shows. Its manifest says another content of 2"
        in (result.stdout)
    )
    assert found_in(tmp_path / "attack")["changed"] == 2


def test_a_release_among_the_real_files_is_none_of_them(a_release, tmp_path):
    """As --files-from allows; nor are the pictures in its private folder."""
    folder, real = a_release[0], tmp_path / "real"
    shutil.copytree(folder / "real", real)
    for name in ("out", "out-private"):
        shutil.copytree(folder / name, real / "done" / name)
    shutil.copy(folder / "real" / "04.png", real / "done" / "out-private" / "sheet.png")
    result = ask(a_release, real, real / "done" / "out", "--out", tmp_path / "attack")
    assert "VERDICT: people are found in this release" in result.stdout
    found = found_in(tmp_path / "attack")
    assert (found["real"], found["untouched"], by_attacker(found)["identical"]) == (30, 0, 0)


@pytest.mark.parametrize("text", [None, "", "output,sha256\na.png,0\n"])
def test_a_release_whose_manifest_is_gone_or_wrong_is_one_all_the_same(a_release, tmp_path, text):
    released, attack = copied(a_release, tmp_path)
    (tmp_path / "out-private").mkdir()
    shutil.copy(a_release[0] / "out-private" / "map.csv", tmp_path / "out-private")
    (released / "manifest.csv").unlink()
    if text is not None:
        (released / "manifest.csv").write_text(text)
    (released / ".hidden").mkdir()
    shutil.copy(a_release[0] / "real" / "04.png", released / ".hidden" / "a.png")
    result = attack()
    assert "VERDICT: real images are in this release. 1 released file has" in result.stdout
    assert "warning: the manifest cannot be read" in result.stdout
    assert found_in(tmp_path / "attack")["unlisted"] is None
    (released / ".hidden" / "a.png").unlink()
    shutil.rmtree(tmp_path / "attack")
    assert "VERDICT: nobody knows what belongs to this release" in attack().stdout


def test_a_release_of_sets_has_a_manifest_too(a_release, tmp_path):
    shutil.copytree(a_release[0] / "real", tmp_path / "in")
    people = read_table(a_release[0] / "patients.csv")
    rows = [f"{row['path']},{row['patient_id']}" for row in people]
    (tmp_path / "who.csv").write_text("\n".join(["path,patient_id", *rows]))
    command = (tmp_path / "in", tmp_path / "out", "--canonical", "64", "--text", "keep")
    made = asked.ask(
        apply_main, "apply", *command, "--patients", tmp_path / "who.csv", "--model", "k-same:k=3"
    )
    assert made.exit_code == 0
    assert unlisted(tmp_path / "out") == []
    shutil.copy(a_release[0] / "real" / "04.png", tmp_path / "out" / ".a.png")
    assert [path.name for path in unlisted(tmp_path / "out")] == [".a.png"]


def test_one_film_cannot_be_told_from_itself(a_release, tmp_path):
    for name in ("real", "released"):
        (tmp_path / name).mkdir()
        write_noise(tmp_path / name / "0.png", 0)
    write_noise(tmp_path / "released" / "1.png", 1)
    wrong = ask(
        a_release, tmp_path / "real", tmp_path / "released", "--out", tmp_path / "a", code=2
    )
    assert "hold no two files of one person, or none of different ones" in wrong.stderr
    assert len(wrong.stderr.strip().splitlines()[-1]) < 300
    (tmp_path / "released" / "1.png").unlink()
    alone = ask(
        a_release, tmp_path / "real", tmp_path / "released", "--out", tmp_path / "b", code=2
    )
    assert (
        "of 1 released file a real one has the pixels; REAL and RELEASED show one" in alone.stderr
    )


def test_masks_of_a_release_are_no_images(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "masks").mkdir()
    write_noise(tmp_path / "in" / "a.png", 0)
    Image.new("L", (40, 40), 255).save(tmp_path / "masks" / "a_mask.png")
    moved = ReleaseOptions(labels=LabelOptions((tmp_path / "masks",)))
    apply(tmp_path / "in", tmp_path / "out", load("random-warp:mu=0.05"), moved)
    assert [path.name for path in (tmp_path / "out" / "labels").rglob("*.png")] == ["a_mask.png"]
    assert unlisted(tmp_path / "out") == []
    write_noise(tmp_path / "out" / "labels" / "b.png", 1)
    assert [path.name for path in unlisted(tmp_path / "out")] == ["b.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("out", "real"), "RELEASED holds none: give the real images first"),
        (("out", "out"), "REAL must not be RELEASED, or lie in it"),
        (("out/deep", "out"), "REAL must not be RELEASED, or lie in it"),
        (("known", "out"), "nobody says which real file, or patient, any released file shows"),
        (("real", "out", "--method", "dp-pix:b=8"), "the manifest of RELEASED says gaussian-blur"),
        (("real", "out", "--private", "known"), "its options are in the private folder alone"),
        (("real", "out", "--patients", "strangers.csv"), "lists no file of REAL or RELEASED"),
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
    apply(real, tmp_path / "out", load("gaussian-blur:sigma=0.02"), ReleaseOptions())
    given = (real, tmp_path / "out", "--attackers", "format,identical", "--out", tmp_path / "found")
    ask(a_release, *given)
    assert name in (tmp_path / "found" / "found.csv").read_bytes()
    assert found_in(tmp_path / "found")["method"] == "gaussian-blur:sigma=0.02"


def test_a_manifest_that_cannot_be_read_is_not_taken_for_none(tmp_path):
    assert method_of(tmp_path, None, None) is None
    (tmp_path / "manifest.csv").mkdir()
    with pytest.raises(UsageError, match="says what released the files, cannot be read"):
        method_of(tmp_path, None, None)


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


# DICOM


def dicom(levels, patient, number, *, inverted):
    """A computed radiograph of 12 bits; ``levels`` are 8 bits."""
    stored = levels.astype(np.uint16) * 16
    shown = "MONOCHROME1" if inverted else "MONOCHROME2"
    made = with_pixels(cr(), 4095 - stored if inverted else stored, bits=12, photometric=shown)
    made.PatientName, made.PatientID = f"Doe^{patient}", f"ID{patient:05d}"
    made.StudyInstanceUID, made.SeriesInstanceUID = f"1.2.{number}.1", f"1.2.{number}.2"
    made.SOPInstanceUID = f"1.2.{number}.3"
    return file(made)


@pytest.mark.processes
@pytest.mark.parametrize(("method", "hides"), [("gaussian-blur:sigma=0.02", False), (NOISE, True)])
def test_a_release_of_dicom_is_attacked_from_file_to_verdict(a_release, tmp_path, method, hides):
    real, out = tmp_path / "real", tmp_path / "out"
    real.mkdir()
    drawn = image_set(12, each=2, seed=8)
    for row, (pixels, patient) in enumerate(zip(drawn.images, drawn.owners.patient, strict=True)):
        made = dicom(resize(pixels[0].numpy(), SIZE), patient, row, inverted=row % 2)
        (real / f"{row}.dcm").write_bytes(made)
    apply(real, out, load(method), ReleaseOptions())
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


def test_files_whose_person_nobody_says_are_counted(a_release, tmp_path):
    """A table that names few of them, for instance by a misspelt folder, is not taken silently."""
    folder, _ = a_release
    few = (folder / "patients.csv").read_text().splitlines()[:5]
    (tmp_path / "few.csv").write_text("\n".join(few))
    given = ("--patients", tmp_path / "few.csv", "--out", tmp_path / "attack")
    result = ask(a_release, folder / "real", folder / "out", *given)
    assert "note: whom 26 of 30 real files show nobody says" in result.stdout
    assert found_in(tmp_path / "attack")["nobodys"] == 26
