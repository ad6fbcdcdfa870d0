"""What several tests share: where the real data are, small images, small networks."""

import functools
import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# Threads that wait for each other make small networks slow, on a loaded machine by a hundred times.
os.environ.setdefault("OMP_NUM_THREADS", "1")

SHARED = Path(__file__).resolve().parents[2] / "shared"
PARITY = Path(__file__).resolve().parent / "parity"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported stays, and is not searched for garbage: that was a 25th of all time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.parent.name != "training")  # longest; the rest as it is
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture(scope="session")
def shared():
    """Folder of real radiographs and of the published protocol, beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("needs real radiographs: the folder shared/ beside the repository is absent")
    return SHARED


@pytest.fixture(scope="session")
def parity():
    """Folder of numbers that the published program computed; its README says which."""
    return PARITY


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Folder of prepared images instead of the user's; the processes of a session share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    fonts = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matplotlib"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("MPLCONFIGDIR", os.environ.get("MPLCONFIGDIR") or str(fonts))
        yield folder / "cache"


@pytest.fixture(scope="session", autouse=True)
def _drawn_once():
    """Phantoms of a patient at a follow-up are the same in the data sets of all tests."""
    from anonymize.data import phantom

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phantom, "draw", functools.cache(phantom.draw))
        yield


@pytest.fixture(scope="session", autouse=True)
def _unsynced():
    """No machine loses its power in the middle of a test: what is written need not reach the disk,
    which was a third of a release's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


class Clock:
    """Seconds that a test lets pass."""

    time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ocr():
    """Tests that look for burned-in text; all others do without."""
    from anonymize.release.burned_in import reader

    if not reader.available():
        pytest.skip("needs the extra ocr: pip install 'anonymize-cxr[ocr]'")


@pytest.fixture(scope="module")
def quick_readers():
    """Networks that read outputs learn for a moment; in the next module they learn as users have
    them, and as a release in another process does."""
    from baselines import readers

    with pytest.MonkeyPatch.context() as patch:
        short = readers.NETWORK.model_copy(update={"epochs": 1, "width": 4})
        patch.setattr(readers, "NETWORK", short)
        patch.setattr(readers, "READERS", 1)
        yield


@pytest.fixture(autouse=True)
def _without_ocr(request, monkeypatch):
    if "ocr" not in request.fixturenames:
        monkeypatch.setattr("anonymize.release.burned_in.reader.available", lambda: False)


@pytest.fixture(scope="session", autouse=True)
def _in_process():
    """Workers of a release start at once; they are processes in tests marked ``processes``."""
    from release_specimens import InProcess

    from anonymize.release.workers import worker_pool

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "WorkerPool", InProcess)
        yield


@pytest.fixture(autouse=True)
def _processes(request, monkeypatch):
    if request.node.get_closest_marker("processes"):
        from anonymize.release.workers import worker_pool

        monkeypatch.setattr(worker_pool, "WorkerPool", worker_pool.WorkerPool.__base__)


@pytest.fixture
def undrawn():
    """Empty files in the place of pictures."""
    from pictures import unsaved

    with unsaved():
        yield


@pytest.fixture
def images():
    """Three images (3, 1, 32, 32) without any symmetry."""
    import torch

    y, x = torch.meshgrid(torch.linspace(0, 1, 32), torch.linspace(0, 1, 32), indexing="ij")
    scale = torch.tensor([1.0, 0.7, 0.4]).view(3, 1, 1)
    ripple = torch.sin(9 * x + 17 * y * y)
    return (scale * (0.6 * x + 0.3 * y * y) + 0.1 * ripple.abs()).clamp(0, 1).unsqueeze(1)


class SecondNode:
    """Of a Ray cluster on this machine."""

    def __init__(self, address, raylet):
        self.address, self._raylet = address, raylet

    def works(self, command):
        """Whether a process there has this in its command line."""
        return any(command in _read(f"/proc/{pid}/cmdline") for pid in self._processes())

    def lose(self):
        """Kills all its processes at once; how many."""
        pids = self._processes()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    def _processes(self):
        found, parents = [self._raylet], {}
        for folder in Path("/proc").glob("[0-9]*"):
            fields = _read(folder / "stat").rpartition(b")")[2].split()
            parents[int(folder.name)] = int(fields[1]) if fields else None
        for process in found:
            found += [child for child, parent in parents.items() if parent == process]
        return found


def _read(path):
    try:
        return Path(path).read_bytes()
    except OSError:  # it ended
        return b""


@pytest.fixture
def second_node(monkeypatch):
    """One of two nodes of a cluster, with a core each, that can be lost."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    settings = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 << 20}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=settings)
    second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster.wait_for_nodes()
    yield SecondNode(cluster.address, second.all_processes["raylet"][0].process.pid)
    cluster.shutdown()
