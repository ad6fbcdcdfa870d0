"""Nodes that are killed at a named point: run as a program, so that what forks has no threads.

``python killing_node.py '{"base": …, "to": …}'`` starts a node at each point, below ``base``, and
prints the point and its port; the node dies by SIGKILL when it gets there.
"""

import itertools
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

from receiving import options
from release_specimens import LONGEST, InProcess, Wave

from anonymize.receive import deliveries, desk, outbox, spool
from anonymize.receive.service import receive
from anonymize.receive.store_archive import StoreArchive
from anonymize.release.options import ReleaseOptions
from anonymize.release.workers import worker_pool


def dying(owner, name, *, after, when=lambda *args: True, calls=2):
    """The process ends at so many calls of a function, before or after it did its work."""
    real, counted = getattr(owner, name), itertools.count(1)

    def patched(*args, **kwargs):
        last = when(*args) and next(counted) == calls
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, patched)


def delivered(journal, delivery):
    return delivery.state == deliveries.DELIVERED


POINTS = {
    "before it is on the disk": lambda: dying(spool.Spool, "put", after=False),
    "before its sender is told": lambda: dying(spool.Spool, "put", after=True),
    "before the release": lambda: dying(desk.pipeline, "release_files", after=False, calls=1),
    "after the release": lambda: dying(desk.pipeline, "release_files", after=True, calls=1),
    "before it is forwarded": lambda: dying(StoreArchive, "send", after=False),
    "after it was forwarded": lambda: dying(StoreArchive, "send", after=True),
    "after that is journalled": lambda: dying(
        outbox.Deliveries, "record", after=True, when=delivered
    ),
    "after the original is gone": lambda: dying(spool.Spool, "settled", after=True),
}


def say(point, what):
    print(json.dumps([point, what]), flush=True)


def main(job):
    worker_pool.WorkerPool = InProcess
    for number, (point, prepare) in enumerate(POINTS.items()):
        child = os.fork()
        if child == 0:
            signal.alarm(LONGEST)
            prepare()
            receive(
                Path(job["base"], str(number), "out"),
                Wave(),
                ReleaseOptions(names="hashed"),
                options(forward={"to": job["to"]}),
                stopping=lambda: False,
                say=partial(say, point),
            )
            os._exit(7)
        status = os.waitpid(child, 0)[1]
        say(point, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
