"""The account: resuming after any kill, one run at a time, nothing that is not ours."""

import csv
import errno
import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from release_specimens import KINDS, Wave, fill, quarantine, tree

from anonymize.errors import UsageError
from anonymize.release import pipeline, storage
from anonymize.release.ledger import Ledger
from anonymize.release.storage import StorageError

FILES = {
    "a/1.png": KINDS["gray8.png"],
    "a/2.jpg": KINDS["rgb.jpg"],
    "b/3.tif": KINDS["gray16.tif"],
    "4.png": KINDS["rgb.png"],
    "broken.png": b"x",
    "notes.txt": b"x",
}
RELEASED = {"a/1.png", "a/2.jpg", "b/3.tif", "4.png", "manifest.csv"}


def test_manifest_and_map_account_for_every_output(release):
    done = release(FILES)
    rows = list(csv.DictReader(io.StringIO(done.files["manifest.csv"].decode())))
    assert [r["output"] for r in rows] == sorted(RELEASED - {"manifest.csv"})
    for row in rows:
        assert row["sha256"] == hashlib.sha256(done.files[row["output"]]).hexdigest()
        assert (row["method"], row["model_sha256"], row["mu"]) == ("wave", Wave.fingerprint, "0.05")
        assert 0 < float(row["displacement_mean_px"]) < float(row["displacement_max_px"]) < 3
        assert row["displacement_max_mm"] == row["displacement_mean_mm"] == ""
        assert 0 < float(row["min_jacobian"]) < 1
        assert 0 < float(row["ssim"]) < 1
    mapped = list(csv.DictReader((release.private / "map.csv").open()))
    assert {r["input"]: r["output"] for r in mapped} == {r["output"]: r["output"] for r in rows}
    assert oct(release.private.stat().st_mode & 0o777) == "0o700"
    assert {oct(p.stat().st_mode & 0o777) for p in release.private.iterdir()} == {"0o600"}
    assert "broken" not in done.files["manifest.csv"].decode()


def test_number_of_workers_changes_nothing(release, tmp_path):
    one = release({**FILES, **dict(list(KINDS.items())[::2])}).files
    for workers in (2, 4, 8):
        pipeline.apply(release.source, tmp_path / str(workers), Wave(), workers=workers)
        assert tree(tmp_path / str(workers)) == one


def test_a_damaged_journal_is_refused(release):
    release(FILES)
    journal = release.private / "journal.jsonl"
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    for broken in (whole.replace(b'"input"', b'"inp"', 1), lines[0] + b"x" + lines[1]):
        journal.write_bytes(broken)
        with pytest.raises(UsageError, match="journal in the private folder is damaged"):
            release()


def test_second_call_does_nothing_and_tries_the_quarantined_again(release):
    first = release(FILES)
    journal = (release.private / "journal.jsonl").read_bytes()
    second = release()
    assert second.files == first.files
    s = second.summary
    assert (s.anonymized, s.already_done, s.quarantined, s.left_out) == (0, 4, 1, 1)
    assert (release.private / "journal.jsonl").read_bytes() == journal
    third = release({"broken.png": KINDS["gray8.png"]})
    assert third.summary.anonymized == 1
    assert third.summary.complete
    assert third.quarantine == {"notes.txt": "not-an-image"}


def test_outputs_that_were_changed_or_removed_are_made_again(release):
    first = release(FILES).files
    (release.out / "a/1.png").unlink()
    (release.out / "4.png").write_bytes(FILES["4.png"])
    again = release()
    assert again.summary.anonymized == 2
    assert again.files == first


def test_outputs_of_vanished_inputs_stay(release):
    first = release(FILES).files
    (release.source / "a/1.png").unlink()
    again = release()
    assert again.files == first
    assert again.summary.inputs == len(FILES) - 1
    (release.out / "a/1.png").write_bytes(b"changed")
    with pytest.raises(UsageError, match="1 files under OUT were changed"):
        release()
    (release.out / "a/1.png").unlink()
    assert release().quarantine["a/1.png"] == "vanished"


KILL = """
    import itertools, os, signal, sys
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from release_specimens import Wave
    from anonymize.release import ledger, pipeline, preparation, publication, storage

    def die(*args, **kwargs):
        os.kill(os.getpid(), signal.SIGKILL)

    def nth(owner, name, n, *, after):
        real, calls = getattr(owner, name), itertools.count(1)
        def patched(*args, **kwargs):
            call = next(calls)  # several threads come here
            if call == n and not after:
                die()
            result = real(*args, **kwargs)
            if call == n:
                die()
            return result
        setattr(owner, name, patched)

    def half(self, content):
        import json
        line = json.dumps(content).encode()
        self._stream.write(line[: len(line) // 2])
        die()

    def half_line():
        real, calls = ledger.Ledger._append, []
        def patched(self, content):
            calls.append(1)
            (half if len(calls) == 3 else real)(self, content)
        ledger.Ledger._append = patched

    def half_temporary():
        real, calls = os.fdopen, itertools.count(1)
        def patched(descriptor, mode, **options):
            stream = real(descriptor, mode, **options)
            if mode == "wb" and next(calls) == 3:
                stream.write(b"half"); stream.flush(); die()
            return stream
        os.fdopen = patched

    points = {{
        "half-temporary": half_temporary,
        "temporary": lambda: nth(storage, "write_temporary", 2, after=True),
        "header": lambda: nth(ledger.Ledger, "_append", 1, after=False),
        "half-line": half_line,
        "journal-before": lambda: nth(ledger.Ledger, "_append", 3, after=False),
        "journal-after": lambda: nth(ledger.Ledger, "_append", 3, after=True),
        "rename-after": lambda: nth(os, "replace", 2, after=True),
        "folders": lambda: nth(storage, "make_folders", 2, after=False),
        "key": lambda: nth(preparation.Naming, "with_secret", 1, after=True),
        "tables-before": lambda: nth(ledger.Ledger, "write_tables", 1, after=False),
        "manifest-after": lambda: nth(storage, "write_whole", 1, after=True),
    }}
    for point in {points!r}:
        child = os.fork()
        if child == 0:
            points[point]()
            pipeline.apply(Path({source!r}), Path({base!r}, point), Wave(), **{options!r})
            os._exit(7)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (point, status)
        print(point)
"""


POINTS = {
    "keep": (
        *("half-temporary", "temporary", "header", "half-line", "journal-before", "journal-after"),
        *("rename-after", "folders", "tables-before", "manifest-after"),
    ),
    "hashed": ("key", "journal-after"),
}


@pytest.mark.parametrize("names", POINTS)
def test_killed_anywhere_the_same_call_ends_as_if_uninterrupted(tmp_path, names):
    source, base = tmp_path / "in", tmp_path / "killed"
    fill(source, FILES)
    base.mkdir()
    key = tmp_path / "key"
    options = {"names": names, "workers": 2}
    if names == "hashed":
        key.write_bytes(bytes(range(32)))
        options["key_file"] = key
    pipeline.apply(source, tmp_path / "whole", Wave(), **options)
    whole = tree(tmp_path / "whole")
    script = textwrap.dedent(KILL).format(
        tests=str(Path(__file__).parent),
        source=str(source),
        base=str(base),
        options=options,
        points=POINTS[names],
    )
    script = "from pathlib import PosixPath\n" + script
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert killed.returncode == 0, killed.stderr
    points = killed.stdout.split()
    assert points == [*POINTS[names]]
    for point in points:
        before = {n for n in tree(base / point) if ".anonymize-" not in n}
        assert before <= set(whole), point
        summary = pipeline.apply(source, base / point, Wave(), **options)
        assert tree(base / point) == whole, point
        private = base / f"{point}-private"
        assert not [n for n in tree(private) if ".anonymize-" in n], point
        assert summary.anonymized + summary.already_done == 4
        assert quarantine(private) == {"broken.png": "damaged", "notes.txt": "not-an-image"}
        lines = (private / "journal.jsonl").read_text().splitlines()
        inputs = [json.loads(line)["input"] for line in lines[1:]]
        finished = [i for i in inputs if i in FILES]
        assert len(finished) <= len(FILES) + 1, point  # at most the one under way came twice


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: setattr(m, "fingerprint", "f" * 64), "another model"),
        (lambda m: m.options.update(mu=0.1), "other options"),
        (lambda m: setattr(m, "name", "wind"), "another method"),
    ],
)
def test_another_model_is_refused(release, change, words):
    first = release(FILES).files
    model = Wave()
    change(model)
    with pytest.raises(UsageError, match=words):
        release(model=model)
    assert tree(release.out) == first


def test_another_in_or_naming_is_refused(release, tmp_path):
    release(FILES)
    with pytest.raises(UsageError, match="other --names"):
        release(names="hashed")
    fill(tmp_path / "more", FILES)
    with pytest.raises(UsageError, match="another IN"):
        pipeline.apply(tmp_path / "more", release.out, Wave())
    with pytest.raises(UsageError, match="another OUT"):
        pipeline.apply(release.source, tmp_path / "new", Wave(), private=release.private)


def test_files_that_no_release_wrote_are_refused(release, tmp_path):
    release(FILES)
    (release.out / "copied.png").write_bytes(FILES["4.png"])
    with pytest.raises(UsageError, match="1 files that this release did not write"):
        release()
    fill(tmp_path / "full", {"a.png": b"x"})
    with pytest.raises(UsageError, match="OUT is not empty"):
        pipeline.apply(release.source, tmp_path / "full", Wave())
    assert not (tmp_path / "full-private").exists()
    with pytest.raises(UsageError, match="private folder is not empty"):
        pipeline.apply(release.source, tmp_path / "new", Wave(), private=tmp_path / "full")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("out", ["in", "in/out", ".", "in/../in"])
def test_folders_in_one_another_are_refused(release, tmp_path, out):
    fill(release.source, FILES)
    with pytest.raises(UsageError, match="lie in one another"):
        pipeline.apply(release.source, tmp_path / out, Wave())
    for private in ("in", "in/p", "o/p", "o"):
        with pytest.raises(UsageError, match="lie in one another"):
            pipeline.apply(release.source, tmp_path / "o", Wave(), private=tmp_path / private)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_two_runs_at_once_are_refused(release):
    release(FILES)
    folder = os.open(release.out, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        with pytest.raises(UsageError, match="another `anonymize apply`"):
            release()
    finally:
        os.close(folder)


def test_hashed_names_tell_nothing_and_repeat(release, tmp_path):
    files = {"Doe^Jane/1970.PNG": KINDS["gray8.png"], "Doe^Jane/scan.Jane": KINDS["gray.jpg"]}
    done = release(files, names="hashed")
    names = sorted(n for n in done.files if n != "manifest.csv")
    assert sorted(n.rpartition(".")[2] for n in names) == ["jpg", "png"]
    assert all(len(n.split(".")[0]) == 64 and "/" not in n for n in names)
    key = release.private / "secret.key"
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    pipeline.apply(release.source, tmp_path / "o2", Wave(), names="hashed", key_file=key)
    assert tree(tmp_path / "o2") == done.files
    pipeline.apply(release.source, tmp_path / "o3", Wave(), names="hashed", key_file=tmp_path / "k")
    assert not set(names) & set(tree(tmp_path / "o3"))
    with pytest.raises(UsageError, match="another --key-file"):
        release(names="hashed", key_file=tmp_path / "k")


@pytest.mark.parametrize("where", ["in/k", "out/k"])
def test_keys_where_others_read_them_are_refused(release, tmp_path, where):
    fill(release.source, FILES)
    with pytest.raises(UsageError, match="must not lie in"):
        release(names="hashed", key_file=tmp_path / where)
    (tmp_path / "short").write_bytes(b"x")
    with pytest.raises(UsageError, match="at least 32 bytes"):
        release(names="hashed", key_file=tmp_path / "short")
    with pytest.raises(UsageError, match="at least 32 bytes"):
        release(key_file=tmp_path / "short")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize(
    ("owner", "name"), [(storage, "write_temporary"), (os, "replace"), (Ledger, "_append")]
)
def test_a_full_or_read_only_disk_stops_the_run_and_it_resumes(
    release, tmp_path, monkeypatch, owner, name, code
):
    fill(release.source, FILES)
    pipeline.apply(release.source, tmp_path / "whole", Wave())
    real, calls = getattr(owner, name), []

    def full(*args, **kwargs):
        calls.append(1)
        if len(calls) >= 3:
            raise OSError(code, os.strerror(code), "/secret/Jane")
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, full)
    with pytest.raises(StorageError, match=os.strerror(code)) as error:
        release()
    assert "Jane" not in str(error.value)
    monkeypatch.undo()
    assert not [n for n in tree(release.out) if ".anonymize-" in n]
    assert release().files == tree(tmp_path / "whole")


def test_names_of_any_bytes(release):
    name = os.fsdecode(b'line\nbreak \xff=1,".png')
    first = release({name: KINDS["gray8.png"]})
    assert first.summary.complete
    assert release().summary.already_done == 1
    rows = list(csv.reader(io.StringIO(os.fsdecode(first.files["manifest.csv"]))))
    assert rows[1][0] == name
