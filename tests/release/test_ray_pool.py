"""Workers on other machines: what Ray sees, and what a node that is lost costs. The first tests
have a stand-in for Ray; the slow ones have clusters of one and of two nodes, a raylet each."""

import json
import os
from contextlib import suppress
from pathlib import Path

import misbehaviour
import numpy as np
import pytest
from ray_stand_in import joined
from release_specimens import KINDS, MIXED, Wave, command, fill, quarantine, refused, tree

from anonymize import ray_cluster
from anonymize.errors import UsageError
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.reasons import Reason
from anonymize.release.workers import carrier
from anonymize.release.workers.private_line import LineError, Offer
from anonymize.release.workers.ray_pool import NODES, RayPool
from anonymize.release.workers.worker_pool import Limits, LocalWorker, WorkerPoolError

pytestmark = pytest.mark.processes
LIMITS = Limits(seconds=5, memory=1 << 28)


@pytest.fixture
def line():
    asks, answers = Offer(), Offer()
    return asks.line(answers.public, asks=True), answers.line(asks.public, asks=False)


@pytest.mark.parametrize("parts", [[], [b""], [b"a", b"", bytes(3000), memoryview(b"xyz")]])
def test_a_message_comes_as_it_went(line, parts, monkeypatch):
    monkeypatch.setattr("anonymize.release.workers.private_line.PIECE", 1000)
    for sender, receiver in (line, line[::-1], line):
        assert receiver.unlocked(sender.locked(parts)) == [bytes(part) for part in parts]
    assert line[0].locked(parts) != line[0].locked(parts)


def test_nobody_on_the_way_reads_changes_or_repeats_a_message(line):
    here, there = line
    secret, other = b"the secret of the names" * 100, b"another"
    first, second = here.locked([secret, other]), here.locked([other])
    assert not any(b"secret" in piece for piece in first)
    flipped = first[1][:-1] + bytes([first[1][-1] ^ 1])
    for wrong in (second, first[:-1], first[1:], [], [first[0], flipped, first[2]], first + second):
        with pytest.raises(LineError):
            there.unlocked(wrong)
    assert there.unlocked(first) == [secret, other]
    with pytest.raises(LineError):
        there.unlocked(first)
    with pytest.raises(LineError):  # a third end
        Offer().line(Offer().public, asks=False).unlocked(second)
    with pytest.raises(LineError):
        Offer().line(b"short", asks=True)


@pytest.fixture
def crew(monkeypatch):
    """``crew(loses)`` → a pool of two workers, and the Ray that carries for it."""
    made = []

    def start(*given, **more):
        ray = joined(monkeypatch, *given, **more)
        made.append(RayPool(2, LIMITS, None))
        return made[-1], ray

    yield start
    for pool in made:
        pool.close()


def test_it_answers_as_a_pool_here_does(crew):
    pool, ray = crew(kind=LocalWorker)
    assert pool.call(len, np.zeros(3)) == 3
    assert pool.call(misbehaviour.nothing) != os.getpid()
    with refused(Reason.CRASHED):
        pool.call(misbehaviour.leave)
    assert ray.actors[0].dead  # with its worker
    assert pool.call(len, b"ab") == 2
    assert not any(b"anonymize" in piece for pieces in ray.seen for piece in pieces)


def test_a_file_goes_from_a_lost_node_to_another(crew):
    pool, ray = crew(lambda number: number < NODES - 1)
    assert pool.call(len, b"abc") == 3
    assert [actor.dead for actor in ray.actors] == [True] * (NODES - 1) + [False]


def test_a_file_that_loses_every_node_is_refused(crew):
    pool, _ = crew(lambda number: number < NODES)
    with refused(Reason.CRASHED):
        pool.call(len, b"abc")
    assert pool.call(len, b"abc") == 3


def test_a_node_that_answers_nothing_or_something_else_is_lost(crew, monkeypatch):
    pool, ray = crew()
    assert pool.call(len, b"") == 0
    honest, lies = ray.asked, iter([None, [b"x"], [], [b"x"] * 3])
    monkeypatch.setattr(ray, "asked", lambda *given: next(lies))
    with refused(Reason.CRASHED):
        pool.call(len, b"abc")
    assert next(lies) == [b"x"] * 3  # each was asked once
    monkeypatch.setattr(ray, "asked", honest)
    assert pool.call(len, b"abc") == 3


def test_a_node_with_another_program_starts_no_worker(crew, monkeypatch):
    pool, ray = crew()
    programs = iter(["another", "this"])
    monkeypatch.setattr(carrier, "program", lambda: next(programs))
    with pytest.raises(WorkerPoolError, match="another program") as error:
        pool.call(len, b"abc")
    assert "same versions" in error.value.way_out
    assert ray.actors[0].dead


def test_a_worker_that_cannot_start_is_told(crew, monkeypatch):
    pool, _ = crew()
    monkeypatch.setattr(carrier.Carrier, "begin", lambda self, public: None)
    with pytest.raises(WorkerPoolError):
        pool.call(len, b"abc")


def test_what_is_missing_is_said_in_one_line(tmp_path, monkeypatch):
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    said = command(tmp_path / "in", tmp_path / "out", "--engine", "ray")
    assert (said.exit_code, said.output) == (2, f"Error: {ray_cluster.MISSING}\n")
    said = command(tmp_path / "in", tmp_path / "out", "--address", "auto", code=2)
    assert "--engine ray" in said.output
    with pytest.raises(UsageError, match="--engine must be local or ray"):
        ReleaseOptions(engine="dask")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_node_killed_in_the_middle_loses_and_doubles_nothing(second_node, release, key, tmp_path):
    kinds = {f"{n}/{name}": data for n in range(4) for name, data in {**MIXED, **KINDS}.items()}
    undisturbed = release(kinds, names="hashed", key_file=key)
    journal = tmp_path / "far-private" / "journal.jsonl"
    killed = []

    def progress(done, total):
        if not killed and done > total // 3 and second_node.works(b"release.worker"):
            killed.append((done, total, second_node.lose()))

    wanted = ReleaseOptions(
        names="hashed", key_file=key, workers=4, engine="ray", address=second_node.address
    )
    summary = pipeline.apply(release.source, tmp_path / "far", Wave(), wanted, progress=progress)
    ((done, total, processes),) = killed
    assert done < total
    assert processes >= 3  # the raylet, a carrier and its worker
    assert tree(tmp_path / "far") == undisturbed.files
    assert quarantine(journal.parent) == undisturbed.quarantine
    assert summary.inputs == summary.anonymized + summary.quarantined + summary.left_out
    inputs = [json.loads(line)["input"] for line in journal.read_text().splitlines()[1:]]
    assert sorted(inputs) == sorted(set(inputs))
    for name in ("map.csv", "quarantine.csv"):
        assert (journal.parent / name).read_bytes() == (release.private / name).read_bytes()


@pytest.mark.slow
def test_ray_keeps_nothing_that_it_can_read():
    ray = pytest.importorskip("ray")
    ours, theirs = os.urandom(64), os.urandom(64)
    with RayPool(1, LIMITS, None) as pool:
        assert pool.call(bytes, ours * 10_000) == ours * 10_000
        kept = ray.put(theirs * 10_000)
        folder = Path(ray._private.worker._global_node.get_session_dir_path())
        (raylet,) = ray._private.worker._global_node.all_processes["raylet"]
        seen = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        seen += b"".join(map(written, Path(f"/proc/{raylet.process.pid}/fd").iterdir()))
        assert theirs in seen  # so it would be found
        assert ours not in seen
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
        del kept
    assert not folder.exists()
    assert not ray.is_initialized()


def written(handle):
    """What was ever written into a file of shared memory."""
    if "/dev/shm" not in os.readlink(handle):
        return b""
    found = b""
    with handle.open("rb") as stream:
        end = 0
        with suppress(OSError):  # no further data
            while True:
                start = os.lseek(stream.fileno(), end, os.SEEK_DATA)
                end = os.lseek(stream.fileno(), start, os.SEEK_HOLE)
                found += os.pread(stream.fileno(), end - start, start)
    return found
