"""A review that is killed before each change that it makes to the disk, one after the other:
``python review_killing.py BASE`` with a release in BASE/out prints a line of JSON a kill.

A decision is made, and killed before its first, second, … change; then somebody looks at OUT, and
the same is done again.
"""

import contextlib
import itertools
import json
import shutil
import sys
from functools import partial
from pathlib import Path

from killing import killed, nth
from release_specimens import InProcess, rows

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


def before_change(n):
    """The ``n``-th change to the disk, whatever it is, is not made."""
    calls = itertools.count(1)
    for owner, name in ((journal.os, "fsync"), (whole_file.os, "replace"), (Path, "unlink")):
        nth(owner, name, n, after=False, calls=calls)


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
        died = killed(partial(before_change, change), partial(decide, out, name, verdict))
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
