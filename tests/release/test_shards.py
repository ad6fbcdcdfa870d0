"""Shares of a release on several machines, and the one release that is made of them."""

import json
import os
import shutil
from functools import partial

import dicom_specimens as dicom
import pytest
from asked import ask
from hypothesis import given
from hypothesis import strategies as st
from killing import killed, nth
from release_specimens import KINDS, MIXED, Wave, checked, command, fill, rows, tree

from anonymize import whole_file
from anonymize.cli import main
from anonymize.errors import DataError, UsageError
from anonymize.release import pipeline, storage
from anonymize.release.machines import merge
from anonymize.release.machines.shards import Shard
from anonymize.release.options import ReleaseOptions
from anonymize.release.records import facts, journal
from anonymize.release.review import session

FILES = {**MIXED, **dict(list(KINDS.items())[::6])}
COUNT = 3


@given(st.integers(1, 40), st.text(min_size=1, max_size=20))
def test_every_path_is_of_one_shard_whatever_else_is_there(count, path):
    own = [i for i in range(1, count + 1) if Shard(i, count).takes(path)]
    assert len(own) == 1


def test_shares_are_alike():
    shares = [sum(Shard(i, 8).takes(f"a/{n}.png") for n in range(8000)) for i in range(1, 9)]
    assert sum(shares) == 8000
    assert max(shares) - min(shares) < 6 * 1000**0.5


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/0", "a/b", "1/3/4", "-1/3", "1/1000"])
def test_a_share_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="--shard must be I/N"):
        Shard.parse(text)


@pytest.fixture
def sharded(release, key, tmp_path):
    """``sharded(files)`` → the folder of three finished shards; ``.one(i)`` makes one (again)."""

    def one(number, out=None, count=COUNT, model=None, **options):
        wanted = {"names": "hashed", "key_file": key, "shard": Shard(number, count), **options}
        out = out or tmp_path / "shards" / str(number)
        return pipeline.apply(release.source, out, model or Wave(), ReleaseOptions(**wanted))

    def run(files=FILES, **options):
        whole = release(files, names=options.get("names", "hashed"), key_file=key)
        shards = [one(number, **options) for number in range(1, COUNT + 1)]
        assert sum(s.inputs for s in shards) == whole.summary.inputs
        run.whole = whole
        return tmp_path / "shards"

    run.one, run.key, run.out = one, key, tmp_path / "merged"
    return run


def told_by_another_shard():
    """Pictures in a folder that one header among them tells of, and one elsewhere."""
    pictures = {f"Mueller/{n}.png": FILES["4.png"] for n in range(9)}
    telling = dicom.file(dicom.changed(PatientName="Mueller^Eva"))
    return {**pictures, "x.png": FILES["4.png"], "Mueller/z.dcm": telling}


@pytest.mark.parametrize("names", ["keep", "hashed"])
def test_a_merged_release_is_that_of_one_machine(sharded, release, names):
    shards = sharded(names=names)
    for one in shards.glob("[0-9]"):
        assert not (one / "manifest.csv").exists()
    found = merge.merge([shards], sharded.out)
    assert tree(sharded.out) == sharded.whole.files
    private = sharded.out.with_name("merged-private")
    for name in ("map.csv", "quarantine.csv"):
        assert (private / name).read_bytes() == (release.private / name).read_bytes()
    summary = sharded.whole.summary
    counts = (summary.inputs, summary.anonymized, summary.quarantined, summary.left_out)
    assert (found.inputs, found.released, found.quarantined, found.left_out) == counts
    assert {oct(p.stat().st_mode & 0o777) for p in private.iterdir()} == {"0o600"}
    assert not [p for one in shards.glob("[0-9]") for p in one.rglob("*") if p.is_file()]
    assert checked(sharded.out).exit_code == 0


def test_one_machine_goes_on_with_what_was_merged(sharded, release):
    merge.merge([sharded()], sharded.out)
    again = release.to(sharded.out, names="hashed", key_file=sharded.key)
    assert again == sharded.whole.files


def test_what_was_merged_is_reviewed_and_a_shard_is_not(sharded):
    shards = sharded()
    with (
        pytest.raises(UsageError, match="OUT is shard 1/3 of a release"),
        session.opened(shards / "1"),
    ):
        pass
    merge.merge([shards], sharded.out)
    with session.opened(sharded.out) as work:
        first = work.entry(0)
        work.decide(0, session.QUARANTINED)
    whole = rows(sharded.whole.files["manifest.csv"])
    left = [row["output"] for row in rows((sharded.out / "manifest.csv").read_bytes())]
    assert left == [row["output"] for row in whole if row["output"] != first.output]
    assert checked(sharded.out).exit_code == 0
    for number in range(1, COUNT + 1):
        sharded.one(number)  # makes anew what is no longer there
    assert any((one / first.output).exists() for one in shards.glob("[0-9]"))
    again = merge.merge([shards], sharded.out)
    assert again.reasons["review"] == 1
    assert [r["output"] for r in rows((sharded.out / "manifest.csv").read_bytes())] == left
    assert tree(sharded.out).keys() == {"manifest.csv", *left}


def test_merging_again_changes_nothing(sharded):
    shards = sharded()
    first = merge.merge([shards], sharded.out)
    assert merge.merge(sorted(shards.glob("[0-9]")), sharded.out) == first
    assert tree(sharded.out) == sharded.whole.files


def test_a_copy_is_made_where_files_cannot_be_moved(sharded, monkeypatch):
    shards, replace = sharded(), os.replace

    def elsewhere(source, target):
        if ".anonymize-" not in str(source):
            raise OSError(18, "another file system")
        replace(source, target)

    monkeypatch.setattr(os, "replace", elsewhere)
    merge.merge([shards], sharded.out)
    assert tree(sharded.out) == sharded.whole.files
    assert not list(shards.glob("[0-9]/*"))


def changed_file(sharded, shards):
    file = next(p for p in (shards / "2").rglob("*") if p.is_file())
    file.write_bytes(file.read_bytes() + b"x")


def missing_file(sharded, shards):
    next(p for p in (shards / "2").rglob("*") if p.is_file()).unlink()


def other_key(sharded, shards):
    other = sharded.key.with_name("other.key")
    other.write_bytes(bytes(range(1, 33)))
    _anew(sharded, shards, key_file=other)


def other_inputs(sharded, shards):
    (shards.parent / "in" / "later.png").write_bytes(FILES["4.png"])
    sharded.one(2)


def unfinished(sharded, shards):
    (shards / "2-private" / "shard.json").unlink()


def damaged(sharded, shards):
    (shards / "2-private" / "shard.json").write_text("{}")


def of_another_version(sharded, shards):
    file = shards / "2-private" / "shard.json"
    said = json.loads(file.read_bytes())
    del said["precision"]
    file.write_text(json.dumps(said))


def other_count(sharded, shards):
    _anew(sharded, shards, count=4)


def gone(sharded, shards):
    shutil.rmtree(shards / "2")
    shutil.rmtree(shards / "2-private")


def twice(sharded, shards):
    sharded.one(2, out=shards / "again")


def strangers(sharded, shards):
    path = shards / "2-private" / "journal.jsonl"
    entry = json.loads(path.read_text().splitlines()[-1])
    name = next(n for n in map(str, range(99)) if not Shard(2, COUNT).takes(n))
    path.write_text(f"{path.read_text()}{json.dumps({**entry, 'input': name})}\n")


def _anew(sharded, shards, **options):
    gone(sharded, shards)
    sharded.one(2, **options)


WRONG = {
    changed_file: "is missing or changed",
    missing_file: "is missing or changed",
    other_key: r"different releases \(key\)",
    (lambda sharded, shards: _anew(sharded, shards, model=Wave(0.04))): "different releases",
    (lambda sharded, shards: _anew(sharded, shards, strict=True)): r"releases \(strict\)",
    other_inputs: "saw different files",
    unfinished: "is not finished",
    damaged: "is damaged",
    of_another_version: "is damaged or of another version; give the same `anonymize apply --shard",
    other_count: "N must be the same",
    gone: "of shards 1 to 3, there is no 2;",
    twice: "is given twice",
    strangers: "a file of another shard",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_shards_that_do_not_fit_together_are_refused_and_nothing_is_changed(sharded, wrong):
    shards = sharded({f"{n}.png": FILES["4.png"] for n in ("a", 0, 3, 6, 7)})  # some in each
    wrong(sharded, shards)
    before = tree(shards)
    with pytest.raises(DataError, match=WRONG[wrong]):
        merge.merge([shards], sharded.out)
    assert tree(shards) == before
    assert not sharded.out.exists()


def test_an_out_of_something_else_is_refused(sharded, release, tmp_path):
    shards = sharded()
    release.to(tmp_path / "other", Wave(0.04), names="hashed", key_file=sharded.key)
    for out, said in (
        (tmp_path / "other", "belong to a release with"),
        (release.out, "the shards changed since"),
        (shards / "1" / "below", "must not lie in IN or a SHARD"),
        (tmp_path / "in" / "new", "must not lie in IN"),
    ):
        before = tree(tmp_path)
        with pytest.raises(UsageError, match=said):
            merge.merge([shards / "1", shards / "2", shards / "3"], out)
        assert tree(tmp_path) == before
    sharded.out.mkdir()
    (sharded.out / "own.png").write_bytes(b"mine")
    with pytest.raises(UsageError, match="OUT is not empty"):
        merge.merge([shards], sharded.out)
    assert tree(sharded.out) == {"own.png": b"mine"}


@pytest.mark.parametrize(
    ("owner", "name", "calls"),
    [
        (os, "replace", range(0, 24, 5)),
        (whole_file, "create", range(0, 8, 2)),
        (storage, "make_folders", range(0, 6, 2)),
        (facts.Facts, "publish", range(2)),
        (journal.Journal, "open", range(2)),
    ],
)
def test_a_killed_merge_goes_on(sharded, owner, name, calls):
    """Before or after the ``calls // 2``-th call of a function, from 0."""
    merged = partial(merge.merge, [sharded()], sharded.out)
    last = [partial(nth, owner, name, 1 + call // 2, after=call % 2 == 1) for call in calls]
    assert sum(killed(one, merged) for one in last) > 0
    merged()
    assert tree(sharded.out) == sharded.whole.files
    assert not [p for p in tree(sharded.out.with_name("merged-private")) if ".anonymize-" in p]


def test_what_a_file_of_another_shard_tells_of_a_folder_is_withdrawn(sharded):
    shards = sharded(told_by_another_shard(), names="keep")
    assert len(list(shards.glob("[0-9]/Mueller/*"))) > 0
    found = merge.merge([shards], sharded.out)
    assert (found.released, found.quarantined) == (1, 10)
    assert tree(sharded.out) == sharded.whole.files
    for number in range(1, COUNT + 1):
        sharded.one(number, names="keep")
    assert merge.merge([shards], sharded.out) == found
    assert tree(sharded.out) == sharded.whole.files


@pytest.mark.parametrize("after", [False, True])
def test_a_merge_that_was_killed_while_it_withdrew_goes_on(sharded, after):
    merged = partial(merge.merge, [sharded(told_by_another_shard(), names="keep")], sharded.out)
    assert killed(partial(nth, journal.Journal, "record", 3, after=after), merged)
    assert not list(sharded.out.glob("Mueller/*"))
    assert merged().quarantined == 10
    assert tree(sharded.out) == sharded.whole.files


def test_a_shard_is_not_called_released(sharded, release, tmp_path):
    fill(release.source, {"a.png": FILES["4.png"]})
    words = ("--shard", "1/1", "--key-file", sharded.key)
    said = command(release.source, tmp_path / "shards/1", *words).stdout
    assert f"written    {tmp_path / 'shards/1'}" in said
    assert "released   " not in said
    assert "anonymize merge SHARD... OUT" in said


def test_what_shards_say_of_their_images_is_said_of_all(sharded):
    """Sizes that the method does not fit, and pictures that lost much with their text."""
    shards = sharded()
    for private in shards.glob("*-private"):
        lines = (private / "journal.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines[1:]]
        for entry in entries:
            if not entry["reason"]:
                entry["unfit"] = "too small"
                entry["figures"] |= {"text_regions": 2, "text_filled": 0.2}
        written = "".join(f"{json.dumps(e, sort_keys=True)}\n" for e in entries)
        (private / "journal.jsonl").write_text(f"{lines[0]}\n{written}")
    found = merge.merge([shards], sharded.out)
    assert found.unfit == {"too small": found.released}
    assert found.cleaned == found.much_filled == found.released > 1


def test_commands(sharded, release, tmp_path):
    fill(release.source, FILES)
    options = ("--names", "hashed", "--key-file", sharded.key, "--text", "keep", "--json")
    noisy = f"random-warp:mu=0.05,size=64,key_file={sharded.key}"
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", *options)
        done = command(release.source, tmp_path / "two" / str(number), *shard, model=noisy)
        assert done.exit_code in (0, 3), done.output
        assert json.loads(done.stdout)["shard"] == f"{number}/2"
    out = tmp_path / "of two"
    signed = ("--sign", "--key-file", sharded.key)
    merged = ask(main, "merge", tmp_path / "two", out, *signed, code=3)
    assert "2 shards" in merged.output
    shard = json.loads(done.stdout)
    for said in (
        f"protection NOT SHOWN: {shard['evidence']}",
        "text       NOT LOOKED FOR",
        f"attacks release {release.source} '{out}'",
    ):
        assert said in merged.output
    anew = ("merge", tmp_path / "two", out, "--json")
    assert "needs --key-file" in ask(main, *anew, code=2).stderr  # what is signed stays so
    sharded.key.chmod(0o640)
    again = ask(main, *anew, *signed[1:], code=3)
    assert "others may read --key-file" in again.stderr
    sharded.key.chmod(0o600)
    found = json.loads(again.stdout)
    assert (found["evidence"], found["text"], found["cleaned"]) == (shard["evidence"], "keep", 0)
    assert checked(out, "--public-key", sharded.key.with_name("secret.key.pub")).exit_code == 0
    assert len(rows((out / "manifest.csv").read_bytes())) > 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "--shard needs --key-file"),
        ("--key-file missing.key", "--shard needs --key-file"),
        ("--key-file KEY --sign", "--sign is for the whole release"),
        ("--key-file KEY --require-review", "--require-review is for a whole release"),
        ("--key-file KEY --labels IN", "--labels are of the whole release"),
        ("--key-file KEY --canonical 64 --model k-same:k=5", "puts people of all files together"),
    ],
)
def test_what_shards_cannot_do_is_said(sharded, release, tmp_path, options, said):
    fill(release.source, {"a.png": FILES["4.png"]})
    words = {"KEY": sharded.key, "IN": release.source}
    given = ["--model=dp-pix:b=4", *(words.get(word, word) for word in options.split())]
    found = command(release.source, tmp_path / "s", "--shard", "1/2", *given, model=None, code=2)
    assert said in found.output
