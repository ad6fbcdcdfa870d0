"""Nodes that are killed at a named point: run as a program, so that what forks has no threads.

``python killing_node.py '{"base": …, "to": …}'`` starts a node at each point, below ``base``, and
prints the point and its port; the node dies by SIGKILL when it gets there.
"""

import json
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

from killing import killed, nth
from receiving import options
from release_specimens import InProcess, Wave

from anonymize.receive import deliveries, desk, outbox, spool
from anonymize.receive.service import receive
from anonymize.receive.store_archive import StoreArchive
from anonymize.release.options import ReleaseOptions
from anonymize.release.workers import worker_pool

DEAD = "killed"  # said of a point once its node is


def delivered(journal, delivery):
    return delivery.state == deliveries.DELIVERED


POINTS = {
    "before it is on the disk": lambda: nth(spool.Spool, "put", 2, after=False),
    "before its sender is told": lambda: nth(spool.Spool, "put", 2, after=True),
    "before the release": lambda: nth(desk.pipeline, "release_files", 1, after=False),
    "after the release": lambda: nth(desk.pipeline, "release_files", 1, after=True),
    "before it is forwarded": lambda: nth(StoreArchive, "send", 2, after=False),
    "after it was forwarded": lambda: nth(StoreArchive, "send", 2, after=True),
    "after that is journalled": lambda: nth(
        outbox.Deliveries, "record", 2, after=True, when=delivered
    ),
    "after the original is gone": lambda: nth(spool.Spool, "settled", 2, after=True),
}


def say(point, what):
    print(json.dumps([point, what]), flush=True)


def main(job):
    worker_pool.WorkerPool = InProcess
    for number, (point, prepare) in enumerate(POINTS.items()):
        work = partial(
            receive,
            Path(job["base"], str(number), "out"),
            Wave(),
            ReleaseOptions(names="hashed"),
            options(forward={"to": job["to"]}),
            stopping=lambda: False,
            say=partial(say, point),
        )
        assert killed(prepare, work), point
        say(point, DEAD)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
