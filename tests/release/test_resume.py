"""The account: resuming after any kill, one run at a time, nothing that is not ours."""

import fcntl
import hashlib
import os

import pytest
from release_specimens import KINDS, Wave, fill, png, rows, scene, tree
from release_specimens import MIXED as FILES

from anonymize.errors import UsageError
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions

RELEASED = {"a/1.png", "a/2.jpg", "b/3.tif", "4.png", "manifest.csv"}


def test_manifest_and_map_account_for_every_output(release):
    done = release(FILES)
    manifest = rows(done.files["manifest.csv"])
    assert [r["output"] for r in manifest] == sorted(RELEASED - {"manifest.csv"})
    for row in manifest:
        assert row["sha256"] == hashlib.sha256(done.files[row["output"]]).hexdigest()
        assert (row["method"], row["model_sha256"], row["mu"]) == ("wave", Wave.fingerprint, "0.05")
        assert 0 < float(row["displacement_mean_px"]) < float(row["displacement_max_px"]) < 3
        assert row["displacement_max_mm"] == row["displacement_mean_mm"] == ""
        assert 0 < float(row["min_jacobian"]) < 1
        assert 0 < float(row["ssim"]) < 1
    mapped = rows((release.private / "map.csv").read_bytes())
    assert {r["input"]: r["output"] for r in mapped} == {r["output"]: r["output"] for r in manifest}
    assert oct(release.private.stat().st_mode & 0o777) == "0o700"
    assert {oct(p.stat().st_mode & 0o777) for p in release.private.iterdir()} == {"0o600"}
    assert "broken" not in done.files["manifest.csv"].decode()


def test_workers_batches_and_order_change_nothing(release, tmp_path):
    sizes = {f"{i}.png": png(scene(size=(40 + i // 3, 52)), 8, 0) for i in range(5, 12)}
    files = {**FILES, **dict(list(KINDS.items())[::6]), **sizes}
    one, names = release(files).files, sorted(files)
    ways = [{"workers": n} for n in (2, 8)] + [{"batch_size": 3}]
    ways += [{"listed": names}, {"listed": names[::-1], "workers": 2}]
    for number, options in enumerate(ways):
        assert release.to(tmp_path / str(number), **options) == one, options


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
    with pytest.raises(UsageError, match="1 file changed after the release"):
        release()
    (release.out / "a/1.png").unlink()
    assert release().quarantine["a/1.png"] == "vanished"


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
        pipeline.apply(tmp_path / "more", release.out, Wave(), ReleaseOptions())
    with pytest.raises(UsageError, match="another OUT"):
        release.to(tmp_path / "new", private=release.private)


def test_files_that_no_release_wrote_are_refused(release, tmp_path):
    release(FILES)
    (release.out / "copied.png").write_bytes(FILES["4.png"])
    with pytest.raises(UsageError, match="1 file that this release did not write"):
        release()
    fill(tmp_path / "full", {"a.png": b"x"})
    with pytest.raises(UsageError, match="OUT is not empty"):
        release.to(tmp_path / "full")
    assert not (tmp_path / "full-private").exists()
    with pytest.raises(UsageError, match="private folder is not empty"):
        release.to(tmp_path / "new", private=tmp_path / "full")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("out", ["in", "in/out", ".", "in/../in"])
def test_folders_in_one_another_are_refused(release, tmp_path, out):
    fill(release.source, FILES)
    with pytest.raises(UsageError, match="lie in one another"):
        release.to(tmp_path / out)
    for private in ("in", "in/p", "o/p", "o"):
        with pytest.raises(UsageError, match="lie in one another"):
            release.to(tmp_path / "o", private=tmp_path / private)
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
    assert release.to(tmp_path / "o2", names="hashed", key_file=key) == done.files
    other = release.to(tmp_path / "o3", names="hashed", key_file=tmp_path / "k")
    assert not set(names) & set(other)
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


def test_names_of_any_bytes(release):
    name = os.fsdecode(b'a name \xff=1,".png')
    first = release({name: KINDS["gray8.png"]})
    assert first.summary.complete
    assert release().summary.already_done == 1
    assert rows(first.files["manifest.csv"])[0]["output"] == name
