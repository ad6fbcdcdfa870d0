"""One size and one format: what is shown, what is refused, who belongs together."""

import numpy as np
import pydicom
import pytest
from dicom_specimens import dx, file, picture, rules, with_pixels
from PIL import Image
from release_specimens import KINDS, checked, command, fill, pillow, png, rows, scene
from set_specimens import chest

from anonymize.errors import UsageError
from anonymize.release import decode, uniform, verify
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.uniform import Uniform
from attacks.attackers.format import facts

PNG = Uniform(32)
DICOM = Uniform(32, "dicom")


FILES = {"a.png": KINDS["gray16.png"], "b.jpg": KINDS["rgb420.jpg"], "c.tif": KINDS["cmyk.tif"]}


def test_files_link_to_nobody_by_size_or_format(release):
    done = release({**FILES, "d.dcm": chest(1, "P1")}, uniform=PNG, names="hashed")
    assert not done.quarantine
    paths = list(release.out.glob("*.png"))
    assert len(paths) == 4
    assert {facts(str(path)) for path in paths} == {((32, 32), "PNG", "L", 0)}
    assert verify.verify(release.out).sound
    assert {row["note"] for row in rows((release.private / "map.csv").read_bytes())} == {""}


@pytest.mark.parametrize("wanted", [PNG, DICOM])
def test_what_is_shown_stays(release, wanted):
    pixels = scene(size=(128, 192))
    data = png(pixels, 8, 0)
    radiograph = decode.decode("a.png", data, rules(), uniform=wanted).radiograph
    assert radiograph.pixels.shape == (32, 32, 1)
    blocks = pixels.reshape(32, 4, 32, 6).mean((1, 3))
    assert np.abs(radiograph.pixels[..., 0] - blocks).mean() < 3
    assert radiograph.spacing is None
    np.testing.assert_allclose(radiograph.gray(), radiograph.pixels[..., 0] / 255, atol=1e-6)


def test_dicom_keeps_who_belongs_together(release):
    chests = {f"{n}.dcm": chest(n, patient) for n, patient in ((1, "P1"), (2, "P1"), (3, "P2"))}
    done = release({**chests, **FILES}, uniform=DICOM, names="hashed")
    assert not done.quarantine
    mapped = rows((release.private / "map.csv").read_bytes())
    made = {r["input"]: pydicom.dcmread(release.out / r["output"]) for r in mapped}
    patients = {name: one.PatientID for name, one in made.items()}
    assert patients["1.dcm"] == patients["2.dcm"]
    assert len(set(patients.values())) == 5
    assert len({one.SOPInstanceUID for one in made.values()}) == 6
    assert {one.SOPClassUID.name for one in made.values()} == {"Secondary Capture Image Storage"}
    assert verify.verify(release.out).sound


def test_a_smaller_file_would_be_known_by_its_blur(release):
    files = {"small.png": png(scene(size=(31, 64)), 8, 0), **FILES}
    done = release(files, uniform=PNG, names="hashed")
    assert done.quarantine == {"small.png": "too-small"}


def test_text_that_must_be_looked_for_is_still_asked_about(release):
    made = with_pixels(dx(), picture(size=(64, 80)), bits=12)
    made.BurnedInAnnotation = "YES"
    done = release({"a.dcm": file(made), **FILES}, uniform=PNG, names="hashed")
    assert done.quarantine == {"a.dcm": "burned-in-annotation"}


def test_it_resumes_as_it_began(release):
    release(FILES, uniform=PNG, names="hashed")
    again = release(uniform=PNG, names="hashed")
    assert (again.summary.already_done, again.summary.anonymized) == (3, 0)
    with pytest.raises(UsageError, match="another --canonical"):
        release(uniform=Uniform(33), names="hashed")


@pytest.mark.parametrize("text", ["", "big", "15", "8001", "256,jpg", "-5", "1e3", "256,PNG", "0"])
def test_other_words_are_refused_and_repeated(text):
    with pytest.raises(UsageError, match=f"--canonical must be SIZE.*got {text}$"):
        uniform.parse(text)


def test_the_usual_format_is_png():
    assert uniform.parse("256") == uniform.parse("256,png") == Uniform(256)


def test_kept_names_and_labels_are_refused(tmp_path):
    with pytest.raises(UsageError, match="--names hashed"):
        ReleaseOptions(uniform=PNG, names="keep")
    with pytest.raises(UsageError, match="no place for labels"):
        ReleaseOptions(uniform=PNG, names="hashed", labels=LabelOptions((tmp_path,)))


def test_the_command(tmp_path):
    fill(tmp_path / "in", {"a.jpg": pillow(scene(), "JPEG"), "b.png": KINDS["gray16.png"]})
    args = ["--canonical", "24,png", "--names", "hashed", "--text", "keep", "--sign"]
    command(tmp_path / "in", tmp_path / "out", *args, model="random-warp:mu=0.05", code=0)
    made = sorted((tmp_path / "out").glob("*.png"))
    assert {Image.open(path).size for path in made} == {(24, 24)}
    key = tmp_path / "out-private/secret.key.pub"
    seen = checked(tmp_path / "out", "--public-key", key, code=0)
    assert "without --public-key" not in seen.stdout
    made[0].write_bytes(made[1].read_bytes())
    assert "without --public-key, nobody knows" in checked(tmp_path / "out").stdout
    wrong = checked(tmp_path / "out", "--public-key", made[0], code=2)
    assert wrong.output.startswith("Error: --public-key must be")
