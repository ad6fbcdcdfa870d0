"""A release that is killed: at a named point of its work, or whenever it happens to be.

Run as a program, so that the process that forks has no threads:
``python killing.py '{"source": …, "base": …, "options": {…}, "points": […]}'`` kills one release a
point, below ``base``, whose workers are no processes; with ``"random": N`` instead of points,
releases as users have them, at N random moments; with "in_process", without worker processes.
Several jobs are done one after the other.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from release_specimens import LONGEST, InProcess, Wave, quarantine, tree

from anonymize import whole_file
from anonymize.release import intake, pipeline, preparation, storage
from anonymize.release.options import ReleaseOptions
from anonymize.release.records import journal, tables
from anonymize.release.workers import worker_pool


def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


def nth(owner, name, n, *, after, calls=None, when=lambda *args: True):
    """The ``n``-th call of a function is the last, before or after it did its work; ``calls``:
    counts those of several functions together; ``when``: only those with such arguments."""
    real, calls = getattr(owner, name), calls or itertools.count(1)

    def patched(*args, **kwargs):
        call = next(calls) if when(*args) else 0  # several threads come here
        if call == n and not after:
            die()
        result = real(*args, **kwargs)
        if call == n:
            die()
        return result

    setattr(owner, name, patched)


def half_line():
    real, calls = journal.Journal._append, itertools.count(1)

    def patched(self, content):
        if next(calls) == 3:
            line = json.dumps(content).encode()
            self._stream.write(line[: len(line) // 2])
            die()
        real(self, content)

    journal.Journal._append = patched


def half_temporary():
    real, calls = os.fdopen, itertools.count(1)

    def patched(descriptor, mode, **options):
        stream = real(descriptor, mode, **options)
        if mode == "wb" and next(calls) == 3:
            stream.write(b"half")
            stream.flush()
            die()
        return stream

    os.fdopen = patched


POINTS = {
    "folders": lambda: nth(storage, "make_folders", 2, after=False),
    "key": lambda: nth(preparation.Naming, "with_secret", 1, after=True),
    "header": lambda: nth(journal.Journal, "_append", 1, after=False),
    "read": lambda: nth(intake, "_file", 3, after=True),
    "encoded": lambda: nth(storage, "write_temporary", 2, after=False),
    "half-temporary": half_temporary,
    "temporary": lambda: nth(storage, "write_temporary", 2, after=True),
    "checked": lambda: nth(pipeline, "stage", 2, after=True),
    "journal-before": lambda: nth(journal.Journal, "_append", 3, after=False),
    "half-line": half_line,
    "journal-after": lambda: nth(journal.Journal, "_append", 3, after=True),
    "rename-after": lambda: nth(os, "replace", 2, after=True),
    "folder-before-sync": lambda: nth(whole_file, "sync_folder", 4, after=False),
    "tables-before": lambda: nth(tables.Tables, "made", 1, after=False),
    "manifest-after": lambda: nth(storage, "write_whole", 1, after=True),
    "map-after": lambda: nth(storage, "write_whole", 2, after=True),
}


def forked(work):
    """The process id of a copy of this process, which does ``work`` and ends."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        status = 7
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def killed(prepare, work):
    """Whether ``work`` was killed, in a process of its own that ``prepare`` was called in."""
    child = forked(lambda: (prepare(), work()))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def printed(program, *arguments):
    """What a program of these, given as its module, prints until it has done all."""
    command = [sys.executable, program.__file__, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def release(job, out):
    """A release of ``job`` to ``out``."""
    key = {"key_file": Path(job["key"])} if job.get("key") else {}
    pipeline.apply(Path(job["source"]), out, Wave(), ReleaseOptions(**job["options"], **key))


def at_points(job):
    """Kills a release at each point; gives the points."""
    worker_pool.WorkerPool = InProcess
    for point in job["points"]:
        work = partial(release, job, Path(job["base"], point))
        assert killed(POINTS[point], work), point
        yield point


def at_random(job, *, kills, whole, longest):
    """Kills releases at random moments until ``kills``, each until it is done; gives figures.

    After every kill, whatever has a name must be whole, else it is ``wrong``; at its end each
    release must be ``whole``, a tree of an uninterrupted one, else they ``differ``. ``longest``:
    seconds in which a kill may come.
    """
    rng, started = random.Random(0), time.monotonic()
    done, number, wrong, differ, moments = 0, 0, 0, 0, []
    while done < kills:
        out = Path(job["base"], str(number))
        child = forked(partial(release, job, out))
        delay = rng.uniform(0, longest)
        limit = time.monotonic() + delay
        ended = 0
        while not ended and time.monotonic() < limit:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.002)
        if not ended:
            os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            done += 1
            wrong += failed(check_begun, out, whole)
            moments.append(len(tree(out)) if out.exists() else 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, status
            differ += failed(check_done, out, whole)
            number += 1
    out = Path(job["base"], str(number))
    assert os.waitpid(forked(partial(release, job, out)), 0)[1] == 0
    differ += failed(check_done, out, whole)
    seconds = round(time.monotonic() - started, 1)
    figures = {"kills": done, "releases": number + 1, "seconds": seconds, "released": moments}
    return {**figures, "wrong": wrong, "differ": differ}


def failed(check, out, whole):
    """Whether a check found something; it says what."""
    try:
        check(out, whole)
    except AssertionError as error:
        print(f"{check.__name__} of {out.name}: {str(error)[:200]}", file=sys.stderr, flush=True)
        return True
    return False


def check_begun(out, whole):
    """After a kill: what has a name is whole, and journalled; gives what is there."""
    if not out.exists():
        return {}
    there = {n: c for n, c in tree(out).items() if ".anonymize-" not in n}
    for name, content in there.items():
        assert whole.get(name) == content, "a partial or a foreign file"
    journal = out.with_name(f"{out.name}-private") / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
    entries = [json.loads(line) for line in lines]
    accounted = {e["output"] for e in entries if not e["reason"]}
    assert there.keys() - {"manifest.csv"} <= accounted, "a file without an entry"
    return there


def check_done(out, whole):
    """At the end: the same tree as without a kill, each input once, nothing unfinished."""
    assert tree(out) == whole
    private = out.with_name(f"{out.name}-private")
    assert not [n for n in tree(private) if ".anonymize-" in n]
    lines = (private / "journal.jsonl").read_text().splitlines()[1:]
    outputs = [e["output"] for e in map(json.loads, lines) if not e["reason"]]
    assert len(outputs) - len(set(outputs)) == 0, "an output that was made twice"
    assert len(set(outputs)) == len(whole) - 1
    quarantine(private)


def main(text):
    job = json.loads(text)
    if "random" in job:
        whole = tree(Path(job["whole"]))
        if job.get("in_process"):
            worker_pool.WorkerPool = InProcess
        figures = at_random(job, kills=job["random"], whole=whole, longest=job["longest"])
        print(json.dumps(figures))
    else:
        for point in at_points(job):
            print(point)


if __name__ == "__main__":
    for job in sys.argv[1:]:
        main(job)
