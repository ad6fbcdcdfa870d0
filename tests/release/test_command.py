"""``anonymize apply`` as a user meets it."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image
from release_specimens import KINDS, Wave, called, checked, command, fill, quarantine, rows, tree

import anonymize
from anonymize.commands import apply_report, progress
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason
from baselines.dp_pix import DPPix

GOOD = {"a.png": KINDS["gray8.png"], "b/c.jpg": KINDS["gray.jpg"]}
PLAIN = "--model dp-pix:b=4 --text keep --workers 1"
WHOLE = pytest.mark.whole  # three seconds, of which all but a moment is the start of a process


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "in", GOOD)

    return partial(command, "in", "out")


def test_all_done_is_0_and_says_where_things_are(run, tmp_path):
    result = run(code=0)
    for words in ("2 files: 2 anonymized", "manifest.csv", "quarantine.csv", "never hand it on"):
        assert words in result.stdout
    assert "names are kept" in result.stderr
    assert "a.png" not in result.output
    assert set(tree(tmp_path / "out")) == {*GOOD, "manifest.csv"}


def test_quarantine_is_3_and_names_no_file(run, tmp_path):
    fill(tmp_path / "in", {"Jane.png": b"no image"})
    result = run(code=3)
    assert "1 damaged" in result.stdout
    assert "Jane" not in result.output
    assert quarantine(tmp_path / "out-private") == {"Jane.png": "damaged"}


def test_closed_standard_streams_end_nothing(run, tmp_path):
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "anonymize"]
    given = f"apply in out {PLAIN}".split()
    assert subprocess.run([*closed, *given], cwd=tmp_path).returncode == 0
    assert set(tree(tmp_path / "out")) == {*GOOD, "manifest.csv"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    ("lost", "given", "status"),
    [
        pytest.param("2", f"apply in out {PLAIN}", 0, marks=WHOLE),
        ("2", f"apply bad out {PLAIN}", 3),
        ("2", "verify in", 2),
        ("2", "apply", 2),
        pytest.param("1", f"apply in out {PLAIN}", 4, marks=WHOLE),
        ("1", "verify done --workers 1", 4),
        ("1", "apply --help", 4),
        ("1", "--help", 4),
        ("1", "--version", 4),
    ],
)
def test_words_that_cannot_be_written_change_no_status(run, tmp_path, lost, given, status):
    """On standard error; those on standard output are the result, and missed."""
    fill(tmp_path / "bad", {"a.png": b"no image"})
    if "done" in given:
        assert command("in", "done").exit_code == 0
    called = ["sh", "-c", f'exec "$@" {lost}>/dev/full', "sh", sys.executable, "-m", "anonymize"]
    done = subprocess.run([*called, *given.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status
    if lost == "1":
        assert "standard output cannot be used" in done.stderr
        assert "Traceback" not in done.stderr


def test_outputs_of_removed_inputs_are_announced(run, tmp_path):
    assert "no longer in IN" not in run().stdout
    (tmp_path / "in" / "a.png").unlink()
    assert "1 released file whose input is no longer in IN" in run(code=0).stdout
    assert json.loads(run("--json").stdout)["input_gone"] == 1


def test_json_is_the_summary(run):
    result = run("--json")
    summary = json.loads(result.stdout)
    assert (summary["inputs"], summary["anonymized"], summary["quarantined"]) == (2, 2, 0)
    assert summary["method"] == "dp-pix"


@pytest.mark.parametrize(("model", "compared"), [(DPPix(b=4), False), (Wave(), True)])
def test_noise_that_is_a_guarantee_is_not_undone_by_the_manifest(release, model, compared):
    release(GOOD, model)
    manifest = rows((release.out / "manifest.csv").read_bytes())
    assert [bool(row["ssim"]) for row in manifest] == [compared] * 2
    lines = (release.private / "journal.jsonl").read_text().splitlines()[1:]
    assert all(json.loads(line)["figures"]["ssim"] for line in lines)


def test_a_key_that_others_may_read_is_warned_of(run, key):
    key.chmod(0o640)
    assert "others may read --key-file" in run("--key-file", str(key)).stderr
    key.chmod(0o600)
    assert "others may read" not in run("--key-file", str(key)).stderr


@pytest.mark.parametrize("spec", ["identity", "wave:mu=0"])
def test_models_that_change_nothing_are_refused(run, tmp_path, monkeypatch, spec):
    if spec.startswith("wave"):
        monkeypatch.setattr(anonymize, "load", lambda spec, device: Wave(mu=0), raising=False)
        monkeypatch.setattr("anonymize.specs.check", lambda spec: None)
    assert "changes nothing" in run(model=spec, code=2).stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_without_model_the_newest_run_or_advice(run, tmp_path, monkeypatch):
    assert "anonymize train --mu 0.01" in run(model=None, code=2).stderr
    for name in ("old", "new"):
        fill(tmp_path / "runs" / name, {"model.safetensors": b"x"})
    seen = []
    monkeypatch.setattr("anonymize.specs.check", lambda spec: None)
    monkeypatch.setattr(
        anonymize, "load", lambda spec, device: seen.append(spec) or Wave(), raising=False
    )
    assert run(model=None).exit_code == 0
    assert list(map(str, seen)) == ["runs/new"]


def test_plan_writes_nothing_and_tells_every_file(run, tmp_path):
    before = tree(tmp_path)
    assert "2 anonymize" in run("--plan", code=0).stdout
    fill(tmp_path / "in", {"bad.png": b"x", "notes.txt": b"x"})
    assert "quarantine  damaged             bad.png" in run("--plan").stdout
    result = run("--plan", "--names", "hashed", "--json", code=3)
    files = {f["input"]: (f["action"], f["reason"]) for f in json.loads(result.stdout)["files"]}
    assert files == {
        "a.png": ("anonymize", ""),
        "b/c.jpg": ("anonymize", ""),
        "bad.png": ("quarantine", "damaged"),
        "notes.txt": ("leave out", "not-an-image"),
    }
    assert tree(tmp_path) == {**before, "in/bad.png": b"x", "in/notes.txt": b"x"}
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert run().exit_code == 3
    done = tree(tmp_path)
    assert "2 done" in run("--plan").stdout
    assert tree(tmp_path) == done


def test_one_file_is_enough(run, tmp_path):
    assert "1 file: 1 anonymized" in command("in/b/c.jpg", "one").stdout
    assert set(tree(tmp_path / "one")) == {"c.jpg", "manifest.csv"}
    assert "1 file in the manifest, 0 findings" in checked("one").stdout


def test_full_disk_is_4_with_one_line(run, monkeypatch):
    full = Mock(side_effect=OSError(28, "No space left on device", "/secret/Jane"))
    monkeypatch.setattr(pipeline.storage, "write_temporary", full)
    result = run(code=4)
    assert "No space left" in result.stderr
    assert "Jane" not in result.output
    assert len([line for line in result.stderr.splitlines() if line.startswith("Error")]) == 1


def test_help_lists_every_reason_code():
    text = called("apply", "--help").stdout
    assert all(reason.value in text for reason in Reason)


def kind_of(path):
    """What the name says, and what the file is."""
    with Image.open(path) as image:
        return path.suffix, image.format, image.mode


@pytest.mark.parametrize("key", [kind_of, pytest.param(Path, marks=pytest.mark.slow)])
def test_originals(shared, tmp_path, key):
    """The smallest of each kind, or every file."""
    originals, source = shared / "data" / "originals", tmp_path / "in"
    if not originals.is_dir():
        pytest.skip(f"needs the untouched radiographs at {originals}")
    largest_first = sorted(originals.iterdir(), key=lambda p: -p.stat().st_size)
    fill(source, {p.name: p.read_bytes() for p in {key(p): p for p in largest_first}.values()})
    names = {p.name: p for p in source.iterdir()}
    assert len(names) > 4
    before = {n: hashlib.sha256(p.read_bytes()).hexdigest() for n, p in names.items()}
    summary = pipeline.apply(source, tmp_path / "out", Wave(0.01), ReleaseOptions(workers=2))
    assert summary.inputs == len(names) == summary.anonymized
    assert {n: hashlib.sha256(p.read_bytes()).hexdigest() for n, p in names.items()} == before
    for name, path in names.items():
        old, new = Image.open(path), Image.open(tmp_path / "out" / name)
        assert (new.format, new.mode, new.size) == (old.format, old.mode, old.size)
        a, b = np.asarray(old), np.asarray(new)
        assert not np.array_equal(a, b)
        if a.ndim == 3 and (a[..., :1] == a[..., :3]).all():
            assert (b[..., :1] == b[..., :3]).all()
        assert set(new.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
        assert 0.4 < (tmp_path / "out" / name).stat().st_size / path.stat().st_size < 1.7


def test_a_redirected_log_hears_that_the_work_goes_on(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with progress.progress_bar("anonymizing") as report:
        heard = ""
        while "anonymizing (" not in heard:
            heard += capsys.readouterr().err
        report(1, 3)
        while "anonymizing: 1 of 3 (" not in heard:
            heard += capsys.readouterr().err
    assert "anonymizing: 1 of 3\n" in heard
    assert capsys.readouterr().out == ""


class Halved(anonymize.Anonymizer):
    """Gives images of another size, which no release takes."""

    name = "halved"

    def anonymize(self, images):
        return images[..., ::2, ::2]


def test_a_method_that_fails_is_to_be_mended_and_not_the_files(tmp_path):
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})
    summary = pipeline.apply(tmp_path / "in", tmp_path / "out", Halved(), ReleaseOptions())
    said = apply_report.describe(summary, 1.0)
    assert summary.reasons == {"invalid-result": 1}
    assert "mend the method" in said
    assert "mend these files" not in said
    assert "released   nothing" in said
    assert "attacks release" not in said


def test_the_next_step_is_a_command_that_attacks_these_files(tmp_path, monkeypatch):
    from attacks.linkage.released_by import method_of

    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "my in", {"a.png": KINDS["gray8.png"]})
    spec = "dp-pix:b=8,epsilon=0.1"
    summary = pipeline.apply(Path("my in"), Path("out"), anonymize.load(spec), ReleaseOptions())
    said = apply_report.describe(summary, 1.0, spec, "my in").splitlines()[-1]
    assert said.endswith(f"attacks release 'my in' {summary.out}")
    assert method_of(tmp_path / "out", tmp_path / "out-private", None) == f"{spec},m=1"
    some = replace(summary, quarantined=1, reasons={"unreadable": 1})
    assert apply_report.describe(some, 1.0, spec, "my in").splitlines()[-1] == said
    other = replace(summary, private=str(tmp_path / "p"), model_sha256="0" * 64)
    assert apply_report.describe(other, 1.0, "runs/x", "in").endswith(
        f" --private {tmp_path}/p --method runs/x"
    )
