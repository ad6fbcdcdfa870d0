"""``anonymize apply --engine ray`` to its exit status, with a stand-in for Ray."""

from functools import partial
from itertools import count

import pytest
from ray_stand_in import joined
from release_specimens import KINDS, InProcess, command, fill, tree

from anonymize.release.workers import carrier, worker_pool

pytestmark = pytest.mark.processes


@pytest.fixture
def cluster(monkeypatch):
    """``cluster(loses)`` → the Ray that carries for every pool from then on."""
    return partial(joined, monkeypatch)


@pytest.mark.parametrize(
    ("loses", "files", "status"),
    [
        (lambda number: False, {"a.png": KINDS["gray8.png"]}, 0),
        (lambda number: number == 1, {"a.png": KINDS["gray8.png"]}, 0),
        (lambda number: False, {"a.png": KINDS["gray8.png"], "broken.png": b"x"}, 3),
        (lambda number: True, {"a.png": KINDS["gray8.png"]}, 3),
    ],
)
def test_a_command_ends_as_it_does_here(cluster, tmp_path, monkeypatch, loses, files, status):
    """With 3 where a file is in quarantine, as one is that every node is lost with."""
    fill(tmp_path / "in", files)
    ray = cluster(loses)
    said = command(tmp_path / "in", tmp_path / "out", "--engine", "ray", "--text", "keep")
    assert said.exit_code == status, said.output
    assert ray.actors
    lost = loses(0)
    found = tree(tmp_path / "out")
    assert ("a.png" in found, "manifest.csv" in found) == (not lost, True)
    monkeypatch.setattr(worker_pool, "WorkerPool", InProcess)
    here = command(tmp_path / "in", tmp_path / "here", "--text", "keep")
    assert lost or (here.exit_code, tree(tmp_path / "here").keys()) == (status, found.keys())


def test_a_command_stops_where_no_node_can_work(cluster, tmp_path, monkeypatch):
    fill(tmp_path / "in", {"a.png": KINDS["gray8.png"]})
    cluster()
    programs = count()
    monkeypatch.setattr(carrier, "program", lambda: str(next(programs)))
    said = command(tmp_path / "in", tmp_path / "out", "--engine", "ray", "--text", "keep", code=4)
    assert "no worker process can be started" in said.output
    assert "same versions" in said.output
