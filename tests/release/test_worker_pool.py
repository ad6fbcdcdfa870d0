"""Workers: what a file does to one is its own misfortune, and nobody else's."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import misbehaviour
import numpy as np
import pytest
from release_specimens import KINDS, InProcess, command, fill, quarantine, refused, tree
from waited import until

from anonymize.release import decode, encode
from anonymize.release.reasons import Reason, Refused
from anonymize.release.workers import plain, sandbox, wire, worker_pool
from anonymize.release.workers.worker_pool import Limits, WorkerPool, WorkerPoolError

no_process = Mock(side_effect=OSError(11, "Resource temporarily unavailable"))

pytestmark = pytest.mark.processes
LIMITS = Limits(seconds=1, memory=1 << 27)


@pytest.fixture(scope="module")
def workers():
    made = WorkerPool(1, LIMITS)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ([misbehaviour.spin], Reason.TIMEOUT),
        ([misbehaviour.devour], Reason.MEMORY),
        ([misbehaviour.answer_too_much], Reason.MEMORY),
        ([misbehaviour.killed], Reason.MEMORY),
        ([misbehaviour.overflow], Reason.CRASHED),
        ([misbehaviour.leave], Reason.CRASHED),
        ([misbehaviour.recurse], Reason.FAILED),
        ([misbehaviour.lie, 1 << 40], Reason.MEMORY),  # a long answer
        ([misbehaviour.lie, 20], Reason.CRASHED),  # that is none
    ],
)
def test_a_lost_worker_is_replaced_and_its_file_refused(workers, asked, reason):
    with refused(reason):
        workers.call(*asked)
    assert workers.call(misbehaviour.nothing) != os.getpid()


@pytest.mark.parametrize("function", [misbehaviour.hang, misbehaviour.hang_deaf])
def test_waiting_is_limited_by_the_clock(monkeypatch, function):
    monkeypatch.setattr(worker_pool, "GRACE_SECONDS", 0.5)
    with worker_pool.WorkerPool(1, Limits(seconds=0.1)) as made:
        with refused(Reason.TIMEOUT):
            made.call(function)
        assert not made._alive


def test_a_question_that_does_not_fit_is_refused(workers):
    with refused(Reason.MEMORY):
        workers.call(len, np.zeros(1 << 28, np.uint8))
    assert workers.call(len, np.zeros(1 << 20, np.uint8)) == 1 << 20


def test_workers_are_used_again_and_answer_as_the_function_does(workers):
    pids = {workers.call(misbehaviour.nothing) for _ in range(5)}
    assert len(pids) == 1
    radiograph = decode.decode("a.png", KINDS["gray16.png"]).radiograph
    assert workers.call(encode.encode, radiograph) == encode.encode(radiograph)
    with refused(Reason.UNSUPPORTED_FORMAT):
        workers.call(decode.decode, "a.gif", b"GIF8")
    with pytest.raises(Refused, match="failed") as refusal:
        workers.call(encode.encode, None)
    assert refusal.value.detail == "AttributeError"


def test_workers_write_nothing_and_say_nothing(workers, tmp_path, capfd):
    with pytest.raises(Refused) as refusal:
        workers.call(misbehaviour.write, str(tmp_path))
    assert refusal.value.detail in ("OSError", "PermissionError")
    assert all(path.stat().st_size == 0 for path in tmp_path.iterdir())
    workers.call(misbehaviour.shout)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
def test_workers_reach_nothing(workers, tmp_path):
    with ThreadPoolExecutor(1) as fresh:  # gives it up, and ends
        held = fresh.submit(sandbox.enter).result()
    if held != {"landlock", "seccomp"}:
        pytest.skip(f"this kernel offers {sorted(held)} only")
    (tmp_path / "there").write_bytes(b"x")
    assert workers.call(misbehaviour.forbidden, str(tmp_path)) == []
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_a_worker_answers_is_never_run(workers, tmp_path):
    dropped = tmp_path / "dropped"
    answer = workers.call(misbehaviour.Bomb, str(dropped))
    assert isinstance(answer, plain.Sealed)
    assert not dropped.exists()
    with pytest.raises(Refused):  # nor is it by the next worker, who can write nothing
        workers.call(type, answer)
    assert not dropped.exists()


def test_an_answer_without_room_here_is_not_the_next_ones(workers, monkeypatch):
    before = workers.call(misbehaviour.nothing)
    with monkeypatch.context() as patch, refused(Reason.MEMORY):
        patch.setattr(wire, "received", Mock(side_effect=MemoryError))
        workers.call(misbehaviour.nothing)
    assert workers.call(misbehaviour.nothing) != before


@pytest.mark.parametrize("heavy", ["torch", "kornia", "monai", "pandas"])
def test_workers_start_light(workers, heavy):
    assert not workers.call(misbehaviour.imported, heavy)


def test_closing_does_not_wait_and_leaves_no_process():
    made = WorkerPool(2, Limits(seconds=600))
    pid = made.call(misbehaviour.nothing)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(made.call, misbehaviour.hang)
        (worker,) = made._alive
        until(worker._busy.locked)
        made.close()
        assert isinstance(answer.exception(60), Refused)  # long before it would have answered
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(WorkerPoolError):
        made.call(misbehaviour.nothing)


def test_no_more_workers_than_asked_for():
    with worker_pool.WorkerPool(2, Limits()) as made, ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8)

        def ask(_):
            together.wait(60)
            return made.call(misbehaviour.nothing)

        assert len(set(pool.map(ask, range(8)))) <= 2


def test_an_orphan_ends_with_its_time(tmp_path):
    """Whatever becomes of the release, a worker in an endless loop does not stay."""
    made = WorkerPool(1, Limits(seconds=0.1))
    pid = made.call(misbehaviour.nothing)
    worker = next(iter(made._alive))
    wire.send(worker._channel, wire.question(misbehaviour.hang, ()))
    worker._channel.close()
    until(lambda: worker._process.poll() is not None)
    assert pid == worker._process.pid


def test_a_worker_that_does_not_start_is_tried_again(monkeypatch):
    """The machine may be exhausted for a while, or the kernel end a process to free memory."""
    real, tried = subprocess.Popen, []

    def stumbling(command, **options):
        tried.append(command)
        if len(tried) == 1:
            no_process()
        return real(["false"] if len(tried) == 2 else command, **options)

    monkeypatch.setattr(worker_pool, "START_PAUSES", (0, 0))
    monkeypatch.setattr(worker_pool.subprocess, "Popen", stumbling)
    with worker_pool.WorkerPool(1, LIMITS) as made:
        assert made.call(misbehaviour.nothing) != os.getpid()
    assert len(tried) == 3


def test_closing_ends_the_wait_for_a_worker_that_does_not_start(monkeypatch):
    monkeypatch.setattr(worker_pool, "START_PAUSES", (600,))
    monkeypatch.setattr(worker_pool.subprocess, "Popen", no_process)
    made = WorkerPool(1, LIMITS)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(made.call, misbehaviour.nothing)
        made.close()
        assert isinstance(answer.exception(60), WorkerPoolError)


def test_a_run_that_cannot_replace_a_worker_stops_and_resumes(release, tmp_path, monkeypatch):
    files = {f"{name}.png": KINDS["gray8.png"] for name in (*"abcdefgh", "leave", "z")}
    fill(release.source, files)
    real, started = subprocess.Popen, []

    def once(command, **options):
        started.append(command)
        return real(command, **options) if len(started) == 1 else no_process()

    with monkeypatch.context() as patch:
        patch.setattr(decode, "decode", misbehaviour.decode)
        patch.setattr(worker_pool, "START_PAUSES", (0,))
        patch.setattr(worker_pool.subprocess, "Popen", once)
        with pytest.raises(WorkerPoolError):
            release()
    assert {"a.png"} <= set(tree(release.out)) < set(files)
    monkeypatch.setattr(worker_pool, "WorkerPool", InProcess)
    done = release()
    assert done.quarantine == {}
    assert done.files == release.to(tmp_path / "whole")


def test_without_processes_the_run_stops_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(worker_pool, "START_PAUSES", ())
    monkeypatch.setattr(worker_pool.subprocess, "Popen", no_process)
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})
    result = command(tmp_path / "in", tmp_path / "out", code=4)
    assert "no worker process can be started" in result.stderr
    assert set(tree(tmp_path / "out")) == set()


def test_hostile_files_do_not_stop_the_run(release, monkeypatch):
    monkeypatch.setattr(decode, "decode", misbehaviour.decode)
    bad = {"spin": "timeout", "devour": "memory", "leave": "crashed"}
    files = {f"{name}.png": KINDS["gray8.png"] for name in (*bad, "a", "m", "z")}
    done = release(files, workers=2, limits=LIMITS)
    assert done.quarantine == {f"{name}.png": reason for name, reason in bad.items()}
    assert set(done.files) == {"a.png", "m.png", "z.png", "manifest.csv"}
    monkeypatch.undo()
    monkeypatch.setattr(worker_pool, "WorkerPool", InProcess)
    again = release()
    assert again.quarantine == {}
    assert (again.summary.anonymized, again.summary.already_done) == (3, 3)


def test_the_command_limits_time_and_memory(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        worker_pool,
        "WorkerPool",
        lambda workers, limits: seen.append((workers, limits)) or WorkerPool(1, limits),
    )
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"], "b.png": b"x"})
    options = ["--time-limit", "7", "--memory-limit", "512", "--workers", "3"]
    assert command(tmp_path / "in", tmp_path / "out", *options).exit_code == 3
    assert seen == [(3, Limits(seconds=7, memory=512 << 20))]
    assert quarantine(tmp_path / "out-private") == {"b.png": "damaged"}
