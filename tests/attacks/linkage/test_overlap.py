"""`attacks overlap`: patients in two collections, found, ranked, and what it refuses."""

import json
import shutil
import stat
from types import SimpleNamespace

import numpy as np
import pytest
from film_folders import folder_of
from overlapping import SHARED, read_table
from PIL import Image

from anonymize.options import DataOptions
from attacks.linkage.album import open_album
from attacks.linkage.overlap import find_overlap
from attacks.measuring.calibration import Calibration, posterior


@pytest.fixture(scope="module")
def found(world):
    return world.ask("overlap", world.a, world.b, "--shared", SHARED)


@pytest.mark.whole
def test_shared_patients_stand_first(world, found):
    lines = read_table(world.out / "overlap.csv")
    same = [world.owner["A", line["a"]] == world.owner["B", line["b"]] for line in lines]
    assert np.mean(same[:10]) >= 0.8
    patients = {world.owner["A", lines[n]["a"]] for n in np.flatnonzero(same[:60])}
    assert len(patients) >= 0.75 * SHARED
    probabilities = [float(line["probability"]) for line in lines]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(0 <= p <= 1 for p in probabilities)


def test_what_is_printed_names_nobody_and_what_is_written_is_private(world, found):
    out = world.out
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    for name in ("overlap.csv", "overlap.json", "overlap.png"):
        assert stat.S_IMODE((out / name).stat().st_mode) == 0o600
    assert not [name for _, name in world.owner if name in found.output]
    assert "AUC 0." in found.output
    with Image.open(out / "overlap.png") as sheet:
        assert min(sheet.size) > 300
        assert not sheet.info.get("Software")


@pytest.mark.usefixtures("undrawn")
def test_a_second_call_teaches_nothing_again(world, found):
    out = world.out
    before = {p: p.stat().st_mtime_ns for p in out.glob("attacker-*/*")}
    assert before
    refused = world.ask("overlap", world.a, world.b, "--json", code=2)
    assert "holds results of something else (shared); choose another --out" in refused.output
    (out / "overlap.json").unlink()
    result = world.ask("overlap", world.a, world.b, "--json")
    assert {p: p.stat().st_mtime_ns for p in out.glob("attacker-*/*")} == before
    assert json.loads(result.stdout)["patients"][0] > SHARED


@pytest.mark.usefixtures("undrawn")
def test_identical_files_and_pixels_come_first(world, tmp_path):
    for name in "AB":
        shutil.copytree(world.folder / name, tmp_path / name)
    files = sorted((tmp_path / "A").iterdir())
    shutil.copy(files[0], tmp_path / "B" / "copy.png")
    with Image.open(files[1]) as image:
        image.save(tmp_path / "B" / "pixels.png", compress_level=1)
    for name in "AB":
        Image.new("L", (64, 64)).save(tmp_path / name / f"{name}-black.png")
    world.ask("overlap", tmp_path / "A", tmp_path / "B", "--out", tmp_path / "out")
    lines = read_table(tmp_path / "out" / "overlap.csv")
    kinds = [(line["identical"], line["a"], line["b"]) for line in lines]
    assert kinds[0] == ("file", files[0].name, "copy.png")
    assert kinds[1] == ("pixels", files[1].name, "pixels.png")
    assert not any(kind for kind, *_ in kinds[2:])


class Fixed:
    """A matcher with given scores."""

    def __init__(self, scores):
        self._scores = np.array(scores, np.float32)

    def nearest(self, probes, gallery, k, report=None):
        columns = np.argsort(-self._scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(self._scores, columns, 1), columns


def album_of(tmp_path, name, patients):
    """Random images in a folder with a CSV."""
    rng = np.random.default_rng(len(name) + ord(name[0]))
    folder_of(tmp_path / name, rng.integers(0, 255, (len(patients), 32, 32), np.uint8), patients)
    options = DataOptions(size=32, cache=tmp_path / "cache", workers=1)
    return open_album(f"folder:{tmp_path / name}", options, argument=name)


def test_evidence_is_the_mean_ratio_of_all_images_of_two_patients(tmp_path):
    first, second = (album_of(tmp_path, n, p) for n, p in (("a", "xxy"), ("b", "uvv")))
    scores = [[1.0, -1.0, 0.5], [0.0, 2.0, -0.5], [3.0, 0.25, 0.75]]
    calibration = Calibration(1.5, -1.0, genuine=1000, impostors=1000)
    learnt = SimpleNamespace(calibration=calibration)
    prepared = SimpleNamespace(matcher=Fixed(scores), learnt=learnt)
    found = find_overlap(prepared, first, second, shared=1)
    ratios = np.exp(calibration.log_ratios(scores))
    expected = {
        "xu": ratios[:2, 0].mean(),
        "xv": ratios[:2, 1:].mean(),
        "yu": ratios[2, 0],
        "yv": ratios[2, 1:].mean(),
    }
    lines = {line["a_patient"] + line["b_patient"]: line for line in found.lines()}
    assert set(lines) == set(expected)
    for pair, ratio in expected.items():
        assert 10 ** lines[pair]["log10_likelihood_ratio"] == pytest.approx(ratio)
        assert lines[pair]["probability"] == pytest.approx(posterior(np.log(ratio), 1 / 4))
    assert lines["yu"]["rank"] == 1
    assert (lines["xv"]["a"], lines["xv"]["b"]) == ("1.png", "1.png")
    assert (lines["xv"]["a_images"], lines["xv"]["b_images"]) == (2, 2)


def test_the_expected_errors_are_those_of_strangers(tmp_path):
    """Strangers and shared patients with scores of known densities: of the pairs called probable
    about as many are two persons as expected."""
    rng = np.random.default_rng(0)
    patients = [f"p{n}" for n in range(60)]
    first, second = (album_of(tmp_path, name, patients) for name in "ab")
    learnt = SimpleNamespace(calibration=Calibration(4.0, -8.0, 10**6, 10**6))
    wrong = expected = probable = 0
    for _ in range(40):
        scores = rng.normal(0, 1, (60, 60))
        scores[np.arange(20), np.arange(20)] += 4
        prepared = SimpleNamespace(matcher=Fixed(scores), learnt=learnt)
        found = find_overlap(prepared, first, second, shared=20)
        rows = found.rows[found.probable]
        wrong += int(((rows[:, 0] != rows[:, 1]) | (rows[:, 0] >= 20)).sum())
        expected += found.expected_false
        probable += len(rows)
    assert probable > 200
    assert wrong == pytest.approx(expected, abs=4 * np.sqrt(expected))


# Hostile input


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("A", "A/inside", "must not be the same or lie in one another"),
        ("empty", "B", "A holds no image; give a folder with DICOM, PNG"),
        ("broken", "B", "other image); mend them, or give others; listed in"),
        ("A", "broken", "B: 1 of 1 image cannot be used (1 × truncated"),
        ("nan", "B", "cannot be used (1 × float, 32-bit"),
        ("folder:empty", "B", "must hold exactly one CSV"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    world, tmp_path, monkeypatch, first, second, message
):
    for name in "AB":
        shutil.copytree(world.folder / name, tmp_path / name)
    for name in ("empty", "broken", "nan", "A/inside"):
        (tmp_path / name).mkdir()
    whole = sorted((tmp_path / "B").iterdir())[0].read_bytes()
    (tmp_path / "broken" / "secret-name.png").write_bytes(whole[: len(whole) // 2])
    Image.fromarray(np.full((64, 64), np.nan, np.float32)).save(tmp_path / "nan" / "x.tiff")
    monkeypatch.chdir(tmp_path)
    output = world.ask("overlap", first, second, "--out", tmp_path / "out", code=2).output
    assert message in output.strip().splitlines()[-1]
    assert "secret-name" not in output


@pytest.mark.usefixtures("undrawn")
def test_one_image_each_is_enough(world, tmp_path):
    for name in "AB":
        (tmp_path / name).mkdir()
        shutil.copy(sorted((world.folder / name).iterdir())[0], tmp_path / name)
    world.ask("overlap", tmp_path / "A", tmp_path / "B", "--out", tmp_path / "out")
    assert len(read_table(tmp_path / "out" / "overlap.csv")) == 1


@pytest.mark.parametrize("shared", [0, -3, 10**6])
def test_no_more_patients_are_shared_than_there_are(world, tmp_path, shared):
    out = ("--out", tmp_path / "out")
    result = world.ask("overlap", world.a, world.b, "--shared", shared, *out, code=2)
    assert "--shared must lie above 0 and be at most" in result.output
