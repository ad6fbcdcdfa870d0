"""Memory of a release does not grow with its files, of which 100,000 are made up here.

Each is measured in a process of its own, by what Linux says of it: the largest size that
``getrusage`` gives a process is at first that of the one that started it.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from functools import partialmethod
from pathlib import Path

import pytest
from release_specimens import Wave, fill, png, scene

from anonymize.release import pipeline, verify
from anonymize.release.archives import Found, Member
from anonymize.release.machines import merge
from anonymize.release.machines.shards import Shard
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.entries import Entries, Entry
from anonymize.release.records.listed import Listed
from anonymize.release.records.on_disk import OnDisk
from anonymize.release.records.tables import COUNTS, MANIFEST_COLUMNS
from anonymize.release.storage import StorageError

ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs /proc")
ROOT = Path(__file__).resolve().parents[2]
MIB = 40  # of growth that is allowed: what SQLite keeps, and the allocator's rest
# The journal of N files is read, looked up, and its tables are written, by a process of its own.
RUN = """
import json, sys
from pathlib import Path
from anonymize.release.archives import Found
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import Journal
from anonymize.release.labels.collect import Labels
from anonymize.release.records.listed import Listed
from anonymize.release.method import Method
from anonymize.release.places import Places
from anonymize.release.records.tables import Tables
from tests.benchmarks.memory import peak

folder, number = Path(sys.argv[1]), int(sys.argv[2])
places = Places(folder / "in", None, folder / "out", folder / "out-private")
header = json.loads((places.private / "journal.jsonl").open().readline())
before = peak()
files = Listed(Found(f"{i // 1000}/{i:07d}.png") for i in range(number))
files.by(lambda path: path[::-1])
journal = Journal(places, header)
journal.open()
journal.account_for_vanished(files)
done = sum(journal.entries.get(found.path) is not None for found in files)
told = Tables.of(journal, files, Labels(), Method("wave", "", 0.05, False, {}))
Facts(told, "", signed=False).publish(journal, None)
journal.close()
print(json.dumps([len(files), done, peak() - before]))
"""

# A release is looked at, but for what workers say of each file.
LOOK = """
import json, sys
from pathlib import Path
from anonymize.release import verify
from anonymize.release.workers import worker_pool
from tests.benchmarks.memory import peak

worker_pool.WorkerPool.call = lambda self, *asked: None
before = peak()
report = verify.verify(Path(sys.argv[1]))
print(json.dumps([report.files, len(report.findings), peak() - before]))
"""


def made_up(folder, number):
    """A journal of ``number`` released files, as a release writes it."""
    header = {"in": "", "names": "keep", "labels": [], "key": ""}
    words = ("out", "spare", "text", "dicom", "canonical", "shard", "strict", "review", "patients")
    header |= {"table": None} | dict.fromkeys((*words, "method", "options", "model_sha256"), "")
    figures = {"displacement_max_px": 1.5, "displacement_mean_px": 0.5, "ssim": 0.9}
    moved = {"columns": 8, "right": [12] * 64, "down": [-7] * 64}  # of 128 px or more
    (folder / "out").mkdir(parents=True)
    (folder / "out-private").mkdir()
    with (folder / "out-private" / "journal.jsonl").open("w") as stream:
        stream.write(json.dumps(header) + "\n")
        for i in range(number):
            path = f"{i // 1000}/{i:07d}.png"
            told = {"sha256": f"{i:064x}", "output": path, "output_sha256": f"{i:064x}"}
            entry = Entry(path, "", "", 1 << 20, i, **told, figures=figures, boxes=[], moved=moved)
            stream.write(json.dumps(asdict(entry)) + "\n")


def finished(folder, number):
    """A release of ``number`` small files in ``folder``, a thousand in each of its folders."""
    alike = dict.fromkeys(MANIFEST_COLUMNS, "") | {"method": "wave"}
    alike |= dict(zip(COUNTS, (str(number), str(number), "0", "0"), strict=True))
    rows = []
    for i in range(number):
        path, content = f"{i // 1000:04d}/{i:07d}.png", b"%d" % i
        fill(folder, {path: content})
        row = alike | {"output": path, "sha256": hashlib.sha256(content).hexdigest()}
        rows.append(tuple(row.values()))
    (folder / "manifest.csv").write_bytes(csv_bytes(MANIFEST_COLUMNS, rows))


def measured(program, *arguments):
    """What a program prints: two counts, and by how many KiB it grew."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def verify_growth(folder, number):
    finished(folder, number)
    files, findings, kib = measured(LOOK, folder)
    assert (files, findings) == (number, 0)
    return kib / 1024


def release_growth(folder, number):
    made_up(folder, number)
    files, found, kib = measured(RUN, folder, number)
    assert (files, found) == (number, number)
    with (folder / "out" / "manifest.csv").open() as stream:
        assert sum(1 for _ in stream) == number + 1
    return kib / 1024


@ON_LINUX
@pytest.mark.parametrize("growth", [release_growth, verify_growth])
def test_memory_is_flat(tmp_path, growth):
    assert growth(tmp_path / "few", 1000) < MIB


@ON_LINUX
@pytest.mark.slow
@pytest.mark.parametrize("growth", [release_growth, verify_growth])
def test_memory_is_flat_over_100_000_files(tmp_path, growth):
    few, many = growth(tmp_path / "few", 4000), growth(tmp_path / "many", 100_000)
    assert many - few < MIB


def test_what_goes_through_all_files_is_done_as_often_for_many_as_for_few(
    release, key, tmp_path, monkeypatch
):
    """So that a file takes as long: of a million files, all were once counted for each."""
    counted = Counter()

    def watched(table, statement, values=(), *, real):
        plan = table._db.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
        counted[statement] += any("SCAN" in step[-1] for step in plan)
        return real(table, statement, values)

    for name in ("one", "run"):
        monkeypatch.setattr(OnDisk, name, partialmethod(watched, real=getattr(OnDisk, name)))
    options = {"names": "hashed", "key_file": key, "shard": Shard(1, 1)}
    found = []
    for files in (3, 12):
        fill(release.source, {f"{n}.png": png(scene(100 + n), 8, 0) for n in range(files)})
        shard, out = tmp_path / f"shard {files}", tmp_path / f"out {files}"
        counted.clear()
        pipeline.apply(release.source, shard, Wave(), ReleaseOptions(**options))
        merge.merge([shard], out)
        assert verify.verify(out).files == files
        found.append(+counted)
    assert found[0] == found[1]
    assert found[0]["SELECT count(*) FROM named"]


def test_a_listing_keeps_what_was_found_in_the_order_of_paths():
    names = [f"{random.Random(i).randrange(9)}/ä{i}\udce4.png" for i in range(1200)]
    member = Member("x.zip", 1, 2, 3, 4, 5, True, (1, 2, 3))
    files = [Found(n, None, "d", member, "1.2") for n in names]
    files.append(Found("link", Reason.SYMLINK))
    listed = Listed(files)
    assert list(listed) == sorted(files, key=lambda found: os.fsencode(found.path))
    assert list(listed.paths()) == [found.path for found in listed]
    assert [f.path for f in listed.by(lambda path: path[::-1])] == sorted(
        (f.path for f in files), key=lambda path: os.fsencode(path[::-1])
    )
    assert names[5] in listed
    assert "other" not in listed
    few = listed.only(lambda path: path.startswith("1/"))
    assert {f.path for f in few} == {n for n in names if n.startswith("1/")}
    assert len(few) == len(list(few))


@pytest.mark.parametrize(
    ("paths", "collided"),
    [
        (["a.png", "A.png", "b.png"], {"a.png", "A.png"}),
        (["é.png", "e\u0301.png"], {"é.png", "e\u0301.png"}),
        (["x", "X/y/z.png", "X/w.png", "q/X/x.png"], {"x"}),
        (["a/b", "a/b/c", "a/c"], {"a/b"}),
        (["ours", "other"], {"ours"}),
        (["a.png", "a.png"], set()),
    ],
)
def test_what_cannot_stand_beside_another_is_told(paths, collided):
    listed = Listed(map(Found, paths), lambda path: path == "ours")
    assert {f.path for f in listed if f.refusal is Reason.NAME_COLLISION} == collided


def test_entries_are_the_last_of_each_input():
    entries, known = Entries(), {}
    rng = random.Random(0)
    for number in range(1500):
        path = f"{rng.randrange(600)}.png"
        masks = {"files": {f"labels/{path}": "b"}} if rng.random() < 0.3 else None
        refused = rng.random() < 0.4
        output = "" if refused else f"{rng.randrange(3)}-{path}"
        entry = Entry(path, "damaged" if refused else "", "", number, output=output, labels=masks)
        entries.put(entry)
        known[path] = entry
    assert len([*entries]) == len(known)
    assert {e.input: e for e in entries} == known
    assert all(entries.get(path) == entry for path, entry in known.items())
    released = [e for e in known.values() if e.released]
    assert list(entries.released()) == sorted(released, key=lambda e: e.output)
    assert {e.input for e in entries.refused()} == {e.input for e in known.values() if e.reason}
    assert entries.any_of("damaged")
    assert not entries.any_of("review")
    outputs = {path: e.input for e in released for path in e.files}
    assert all(entries.source_of(path) == source for path, source in outputs.items())
    assert entries.source_of("0-none.png") is None


def test_a_full_disk_stops_the_release():
    table = OnDisk("CREATE TABLE words (word TEXT)", "PRAGMA max_page_count = 4")
    with pytest.raises(StorageError, match="no room for temporary files"):
        table.fill("INSERT INTO words VALUES (?)", (("x" * 500,) for _ in range(500)))
