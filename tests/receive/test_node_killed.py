"""A node that is killed: what was acknowledged is released once, and forwarded at least once."""

import json
import subprocess
import sys
from collections import Counter

import dicom_specimens as dicom
import killing_node
import pytest
from archive_scp import scp
from killing_node import DEAD, POINTS
from receiving import PORT, attempt, made, released, running, send, spooled, until

from anonymize.release.verify import verify

OBJECTS = [made(number) for number in range(3)]
TWICE = "after it was forwarded"  # and before that was journalled


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Folders of nodes that were sent OBJECTS and killed, by point; and their archive."""
    base = tmp_path_factory.mktemp("killed")
    with scp() as archive:
        job = json.dumps({"base": str(base), "to": archive.to})
        for number in range(len(POINTS)):
            (base / str(number)).mkdir()
        command = [sys.executable, killing_node.__file__, job]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            points = list(POINTS)
            for line in program.stdout:
                point, said = json.loads(line)
                if said == DEAD:
                    points.remove(point)
                elif said.startswith("listening"):
                    for data_set in OBJECTS:
                        attempt(int(PORT.search(said)[1]), data_set)
        assert not points
        yield {p: base / str(n) for n, p in enumerate(POINTS)}, archive


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_and_nothing_doubled(killed, point):
    folders, archive = killed
    folder = folders[point]
    with running(folder, forward={"to": archive.to}) as node:
        assert send(node.port, *OBJECTS) == [0x0000] * 3  # as a sender that had no answer does
        until(lambda: not spooled(folder))
    outputs = released(folder)
    assert verify(folder / "out").sound
    lines = [json.loads(line) for line in (folder / "out-private/journal.jsonl").open()][1:]
    assert sorted(line["input"] for line in lines) == [f"{d.SOPInstanceUID}.dcm" for d in OBJECTS]
    assert sorted(line["output"] for line in lines) == outputs
    lines = [json.loads(line) for line in (folder / "out-private/forward.jsonl").open()]
    assert sorted(line["output"] for line in lines) == outputs
    assert not list((folder / "out-spool").glob(".anonymize-*"))
    sent = Counter(d.SOPInstanceUID for d in archive.stored)
    files = [dicom.opened((folder / "out" / name).read_bytes()) for name in outputs]
    times = sorted(sent[d.SOPInstanceUID] for d in files)
    assert times == ([1, 1, 2] if point == TWICE else [1, 1, 1])
