"""A set release that is killed at a named point: ``python set_killing.py BASE SPEC PEOPLE POINT…``
kills one a point, of the inputs of a :class:`set_specimens.Case` in BASE, whose workers are no
processes. A sign + behind a point makes another OUT."""

import sys
from functools import partial
from pathlib import Path

from killing import killed, nth
from release_specimens import InProcess
from set_specimens import Case, folder

from anonymize import load
from anonymize.release import storage
from anonymize.release.records import facts, journal
from anonymize.release.sets import pipeline, tables
from anonymize.release.sets.spool import Spool
from anonymize.release.sets.state import State
from anonymize.release.workers import worker_pool

POINTS = {
    "reading": lambda: nth(storage, "write_temporary", 5, after=True),
    "all-read": lambda: nth(pipeline, "known", 1, after=False),
    "mixed": lambda: nth(pipeline, "mixed", 1, after=True),
    "settling": lambda: nth(State, "write", 1, after=False),
    "settled": lambda: nth(State, "write", 1, after=True),
    "journalled": lambda: nth(journal.Journal, "_append", 3, after=True),
    "publishing": lambda: nth(pipeline, "publish", 2, after=True),
    "published": lambda: nth(tables.SetTables, "made", 1, after=False),
    "tables": lambda: nth(facts.Facts, "publish", 1, after=True),
    "whole": lambda: nth(Spool, "clear", 1, after=False),
    "cleared": lambda: nth(Spool, "clear", 1, after=True),
}


def main(base, spec, people, *points):
    worker_pool.WorkerPool = InProcess
    load(spec)  # imported once, before the forks
    case = Case(Path(base), spec, folder(int(people)))
    for point in points:
        assert killed(POINTS[point.rstrip("+")], partial(case.apply, point)), point
        print(point)


if __name__ == "__main__":
    main(*sys.argv[1:])
