"""``anonymize verify`` finds whatever is done to a release, and knows neither inputs nor key."""

import errno
import hashlib
import json
import os
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
from release_specimens import KINDS, Wave, checked, command, fill, pillow, rows, scene, table_of
from skimage.metrics import structural_similarity

from anonymize.errors import UsageError
from anonymize.release import pipeline, verify
from anonymize.release.checking import verification
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason, Refused
from anonymize.release.verify import Flaw
from anonymize.release.workers import worker_pool

NAMES = ("gray8.png", "gray16.png", "rgb.jpg", "gray16.tif", "palette-colour.png")
FILES = {name: KINDS[name] for name in NAMES} | {"b/cmyk.tif": KINDS["cmyk.tif"], "bad.png": b"x"}
EXIF = pillow(scene(), "JPEG", comment=b"Jane Doe")


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    fill(folder / "in", FILES)
    pipeline.apply(folder / "in", folder / "out", Wave(), ReleaseOptions(names="keep"))
    return folder / "out"


@pytest.fixture
def out(released, tmp_path):
    """A copy of the release, far from its inputs and its private list."""
    return shutil.copytree(released, tmp_path / "out")


def flaws(out):
    return [(f.flaw.value, f.row) for f in verify.verify(out).findings]


def rewritten(out, change):
    """Changes the manifest's rows, a list of dicts."""
    path = out / "manifest.csv"
    found = rows(path.read_bytes())
    change(found)
    path.write_bytes(table_of(found))


def test_a_release_is_sound(out):
    report = verify.verify(out, workers=2)
    assert (report.files, report.findings, report.other_times) == (6, (), 0)
    assert report.sound


def test_folders_of_what_was_refused_after_it_was_written_are_not_left(release, monkeypatch):
    refuse = Mock(side_effect=Refused(Reason.VERIFICATION))
    monkeypatch.setattr(verification, "verify", refuse)
    done = release({"DOE_JANE/1957/gray8.png": KINDS["gray8.png"]})
    assert done.quarantine == {"DOE_JANE/1957/gray8.png": "verification"}
    assert [p.name for p in release.out.iterdir()] == ["manifest.csv"]
    assert "1 empty: no file in it: none was released" in checked(release.out).stdout


def test_what_the_manifest_does_not_say_of_text_is_no_saying_that_nobody_looked(release):
    """No figure that compares with the input is public of a differentially private method."""
    fill(release.source, FILES)
    assert command(release.source, release.out, model="dp-pix:b=4").exit_code == 3
    report = verify.verify(release.out)
    assert (report.sound, report.text_not_looked_for, report.text_not_told) == (True, 0, 6)
    assert "does not say of 6 of 6 files" in checked(release.out).stdout


def test_a_copy_is_sound_and_its_times_are_noted(out, tmp_path):
    shutil.copytree(out, tmp_path / "copy", copy_function=shutil.copyfile)
    report = verify.verify(tmp_path / "copy")
    assert report.sound
    assert report.other_times == 7


DONE_TO_IT = {
    "removed": (lambda out: (out / "gray8.png").unlink(), [("missing", 3)]),
    "one bit": (
        lambda out: (out / "rgb.jpg").write_bytes((out / "rgb.jpg").read_bytes()[:-1] + b"\xd8"),
        [("changed", 6)],
    ),
    "exchanged": (
        lambda out: os.replace(out / "gray16.png", out / "gray8.png"),
        [("missing", 1), ("changed", 3)],
    ),
    "added": (lambda out: fill(out, {"b/more.png": FILES["gray8.png"]}), [("foreign", 0)]),
    "a note": (lambda out: fill(out, {"readme.txt": b"Jane"}), [("foreign", 0)]),
    "a link": (lambda out: (out / "link").symlink_to("/etc/passwd"), [("link", 0)]),
    "a link for a file": (
        lambda out: (
            os.replace(out / "rgb.jpg", out.parent / "rgb.jpg"),
            (out / "rgb.jpg").symlink_to(out.parent / "rgb.jpg"),
        ),
        [("link", 6)],
    ),
    "a folder": (
        lambda out: (out / "DOE_JANE/1957").mkdir(parents=True),
        [("empty-folder", 0)] * 2,
    ),
    "a pipe": (lambda out: os.mkfifo(out / "pipe"), [("not-a-file", 0)]),
    "a key": (lambda out: fill(out, {"x/secret.key": bytes(32)}), [("private", 0)]),
    "a journal": (lambda out: fill(out, {"journal.jsonl": b"{}"}), [("private", 0)]),
    "unfinished": (lambda out: fill(out, {"b/.anonymize-1-2": b"x"}), [("unfinished", 0)]),
}


@pytest.mark.parametrize("what", DONE_TO_IT)
def test_whatever_is_done_to_it_is_found(out, what):
    do, expected = DONE_TO_IT[what]
    listed = [row["output"] for row in rows((out / "manifest.csv").read_bytes())]
    assert listed == sorted(name for name in FILES if name != "bad.png")
    names = {1: "gray16.png", 3: "gray8.png", 6: "rgb.jpg"}
    expected = [(code, listed.index(names[row]) + 1 if row else 0) for code, row in expected]
    do(out)
    assert sorted(flaws(out)) == sorted(expected)


def test_a_second_name_is_found_where_no_file_has_extended_attributes(out, monkeypatch):
    none = Mock(side_effect=OSError(errno.ENOTSUP, "not supported"))
    monkeypatch.setattr(os, "listxattr", none, raising=False)
    assert flaws(out) == []
    os.link(out / "rgb.jpg", out.parent / "second")
    assert [code for code, _ in flaws(out)] == ["hard-link"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rgb.jpg", EXIF),
        ("gray8.png", pillow(scene(), "PNG") + b"Jane Doe"),
        ("gray8.png", KINDS["gray8.png"][:-20]),
        ("gray8.png", pillow(scene() * 0 + 7, "PNG")),
        ("gray16.tif", KINDS["gray16.tif"]),
        ("gray16.tif", b"Jane Doe"),
        ("rgb.jpg", b""),
    ],
)
def test_a_file_with_more_than_pixels_is_found_although_the_manifest_agrees(out, name, content):
    (out / name).write_bytes(content)

    def agree(rows):
        for row in rows:
            if row["output"] == name:
                row["sha256"] = hashlib.sha256(content).hexdigest()

    rewritten(out, agree)
    assert [code for code, _ in flaws(out)] == ["unfit"]


def setter(key, value):
    return lambda rows: rows[2].update({key: value})


@pytest.mark.parametrize(
    "change",
    [
        setter("output", "../climbed.png"),
        setter("output", "/etc/passwd"),
        setter("output", "b//x.png"),
        setter("output", ""),
        setter("sha256", "0" * 63),
        setter("sha256", "F" * 64),
        setter("method", "Jane Doe"),
        setter("method", "other"),
        setter("mu", "0.02"),
        setter("ssim", "nan"),
        setter("ssim", " 1"),
        setter("ssim", "Jane"),
        setter("model_sha256", "x"),
        setter("release_inputs", "6"),
        lambda rows: [row.update(release_quarantined="0") for row in rows],
        lambda rows: rows.pop(),
        lambda rows: rows.reverse(),
        lambda rows: rows.append(rows[-1]),
        lambda rows: [row.update(patient="Jane") for row in rows],
        lambda rows: [row.pop("ssim") for row in rows],
    ],
)
def test_a_manifest_that_no_release_writes_is_found(out, change):
    rewritten(out, change)
    found = flaws(out)
    assert "manifest" in [code for code, _ in found]


def test_a_manifest_that_is_no_table(out):
    for content in (b"", b"\xff\xfe", b'a"b\n"', b"output\n"):
        (out / "manifest.csv").write_bytes(content)
        assert [code for code, _ in flaws(out)] == ["manifest"]


def test_no_release_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"holds no manifest\.csv"):
        verify.verify(tmp_path)


def test_the_manifest_says_what_became_of_every_input(out):
    found = rows((out / "manifest.csv").read_bytes())
    keys = ("release_inputs", "release_ok", "release_quarantined", "release_skipped")
    assert {tuple(row[key] for key in keys) for row in found} == {("7", "6", "1", "0")}


def test_the_command_counts_and_names_no_file(out):
    sound = checked(out, code=0)
    assert "6 files in the manifest, 0 findings" in sound.stdout
    *_, text, last = sound.stdout.splitlines()
    assert last.startswith("sound: every file is as the manifest says")
    assert "says nothing about who can be recognised in it" in last
    assert last.endswith("in which nobody looked for it")
    assert "NOT LOOKED FOR in 6 of 6 files" in text
    found = json.loads(checked(out, "--json").stdout)
    assert (found["text_not_looked_for"], found["text_not_told"]) == (6, 0)
    (out / "rgb.jpg").unlink()
    fill(out, {"Jane-Doe.txt": b"x"})
    result = checked(out, code=1)
    assert "1 missing: a file of the manifest is not there; manifest.csv, row 6" in result.stdout
    assert "1 foreign" in result.stdout
    assert "Jane" not in result.output
    assert "rgb.jpg" not in result.output
    data = json.loads(checked(out, "--json").stdout)
    assert data["counts"] == {"foreign": 1, "missing": 1}
    assert not data["sound"]
    assert checked(out / "b").exit_code == 2


def test_it_changes_nothing(out):
    before = {p: (p.lstat().st_mtime_ns, p.lstat().st_mode) for p in out.rglob("*")}
    verify.verify(out)
    assert {p: (p.lstat().st_mtime_ns, p.lstat().st_mode) for p in out.rglob("*")} == before


@pytest.mark.processes
def test_a_release_that_hurts_its_reader(out, monkeypatch):
    import misbehaviour

    monkeypatch.setattr(verify.inspection, "image", misbehaviour.inspect)
    report = verify.verify(out, workers=2, limits=worker_pool.Limits(seconds=1, memory=1 << 28))
    assert {f.detail for f in report.findings} == {"memory"}
    assert len(report.findings) == 6


def test_every_flaw_says_what_it_means():
    assert all(f.meaning and f.value == f.name.lower().replace("_", "-") for f in Flaw)


def test_what_was_signed_stays_signed(release):
    signature = release({"a.png": KINDS["gray8.png"]}, sign=True).files["manifest.sig"]
    assert release().files["manifest.sig"] == signature
    again = release({"b.png": KINDS["gray16.png"]})
    assert again.files["manifest.sig"] != signature
    public = release.private / "secret.key.pub"
    assert verify.verify(release.out, public_key=public).sound


def test_a_release_that_is_not_signed_is_called_so(release, tmp_path):
    release({"a.png": KINDS["gray8.png"]}, sign=True)
    public = release.private / "secret.key.pub"
    (release.out / "manifest.sig").unlink()
    [finding] = verify.verify(release.out, public_key=public).findings
    assert (finding.flaw, finding.detail) == (Flaw.SIGNATURE, "it is not signed")
    with pytest.raises(UsageError, match="cannot be read"):
        verify.verify(release.out, public_key=tmp_path / "nowhere.pub")


@pytest.mark.parametrize("size", [(7, 7), (40, 61), (530, 70)])
def test_similarity_is_that_of_scikit_image(size):
    rng = np.random.default_rng(0)
    one = rng.random(size, np.float32)
    other = (one + rng.normal(0, 0.1, size)).clip(0, 1).astype(np.float32)
    local = structural_similarity(one, other, data_range=1.0, full=True)[1][3:-3, 3:-3]
    assert verification.similarity(one, other) == pytest.approx(local.mean(), abs=1e-5)
    assert verification.similarity(one, one) == pytest.approx(1, abs=1e-6)
