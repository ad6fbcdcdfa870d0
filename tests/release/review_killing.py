"""A review that is killed before each change that it makes to the disk, one after the other:
``python review_killing.py BASE`` with a release in BASE/out prints a line of JSON a kill.

A decision is made, and killed before its first, second, … change; then somebody looks at OUT, and
the same is done again.
"""

import contextlib
import itertools
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from release_specimens import LONGEST, InProcess, rows

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.release import verify
from anonymize.release.records import journal
from anonymize.release.review import session
from anonymize.release.workers import worker_pool


def decide(out, name, verdict):
    """Opens the release and decides about one output."""
    with session.opened(out) as work:
        [number] = (n for n, entry in enumerate(work.entries) if entry.output == name)
        work.decide(number, verdict)


def killed_before(change, work):
    """True where ``work`` in a process of its own was killed before that many changes."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        counted = itertools.count(1)
        for owner, name in ((journal.os, "fsync"), (whole_file.os, "replace"), (Path, "unlink")):
            setattr(owner, name, _dying(getattr(owner, name), counted, change))
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _dying(real, counted, change):
    def patched(*args, **options):
        if next(counted) == change:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)

    return patched


def listed(out):
    """The outputs of the manifest, where there is one; each as it says."""
    if not (out / "manifest.csv").exists():
        return None
    found = rows((out / "manifest.csv").read_bytes())
    assert all(sha256_file(out / row["output"]) == row["sha256"] for row in found)
    assert len(found) == len(list(out.glob("*.png")))
    return [row["output"] for row in found]


def looked_at(out):
    """What somebody finds who has OUT alone: the outputs of a sound release; None where it is none;
    and all pictures that lie there."""
    there = sorted(path.name for path in out.glob("*.png"))
    with contextlib.suppress(UsageError):
        if verify.verify(out).sound:
            return listed(out), there
    return None, there


def main(base, name, verdict):
    worker_pool.WorkerPool = InProcess
    out, kept = base / "out", base / "kept"
    for folder in ("out", "out-private"):
        shutil.copytree(base / folder, kept / folder)
    for change in itertools.count(1):
        for folder in ("out", "out-private"):
            shutil.rmtree(base / folder)
            shutil.copytree(kept / folder, base / folder)
        died = killed_before(change, lambda: decide(out, name, verdict))
        released, there = looked_at(out)
        with session.opened(out) as work:
            decided = {entry.output: session.state(entry) for entry in work.entries}
        between = listed(out)
        decide(out, name, verdict)
        told = {"released": released, "there": there, "decided": decided, "between": between}
        print(json.dumps({**told, "end": listed(out)}), flush=True)
        if not died:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
