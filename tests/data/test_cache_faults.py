"""A cache that was interrupted, damaged or killed is continued, and equal."""

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from cache_trees import expected, folder_table, make_folder, prepared
from waited import until

from anonymize.data import cache
from anonymize.data.image_files import load_file
from anonymize.data.sources.registry import read
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions


def interrupt_at(table, number, error=KeyboardInterrupt):
    """The table, its reading interrupted at one image."""

    def load(row, size):
        if row.path.endswith(f"/{number}.png"):
            raise error
        return load_file(row, size)

    return replace(table, load=load)


def count_reading(table):
    """The table and the list of what is read from it."""
    seen = []

    def load(row, size):
        seen.append(row.image_id)
        return load_file(row, size)

    return replace(table, load=load), seen


def begun(table, folder, number):
    """The file of a cache whose making was stopped at one image."""
    with pytest.raises(KeyboardInterrupt):
        prepared(interrupt_at(table, number), folder)
    (path,) = folder.glob("*.partial")
    return path


def assert_whole(images, table):
    """The cached images are all that the files hold."""
    rows = range(len(table))
    np.testing.assert_array_equal(images.array(rows), expected(table, rows))


def test_interrupted_work_is_continued(few, tmp_path):
    begun(few, tmp_path, 5)
    assert not list(tmp_path.glob("*.h5"))
    counted, seen = count_reading(few)
    _, images = prepared(counted, tmp_path)
    assert seen == [f"{i}.png" for i in range(5, 9)]
    assert_whole(images, few)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("seed", range(25))
def test_damaged_partial_file_breaks_nothing(few, tmp_path, seed):
    path = begun(few, tmp_path, 7)
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    if seed % 5 == 0:
        content = content[: rng.integers(len(content))]
    else:
        start = int(rng.integers(len(content) // 2 if seed % 2 else len(content)))
        for at in range(start, min(start + 2 ** int(rng.integers(12)), len(content))):
            content[at] = int(rng.integers(256))
    path.write_bytes(content)
    assert_whole(prepared(few, tmp_path)[1], few)


@pytest.mark.parametrize("name", ["state", "reason", "gray8"])
def test_what_damage_made_endless_is_not_read(few, tmp_path, name):
    path = begun(few, tmp_path, 7)
    with h5py.File(path, "r+") as file:
        kind = file[name].dtype
        del file[name]
        file.create_dataset(name, (2**50,), kind, chunks=(1024,))
    assert_whole(prepared(few, tmp_path)[1], few)


@pytest.mark.parametrize("content", [b"", b"no HDF5", None])
def test_damaged_complete_file_is_rebuilt(few, tmp_path, content):
    _, images = prepared(few, tmp_path)
    path = images.path
    path.write_bytes(path.read_bytes()[:3000] if content is None else content)
    assert_whole(prepared(few, tmp_path)[1], few)


def test_wrong_bytes_of_a_partial_file_are_read_again(few, tmp_path):
    path = begun(few, tmp_path, 7)
    with h5py.File(path, "r+") as file:
        file["gray8"][2, 3, 3] += 1
    counted, seen = count_reading(few)
    _, images = prepared(counted, tmp_path)
    assert seen == ["2.png", "7.png", "8.png"]
    assert_whole(images, few)


SLOW = """
import signal
import sys, time
from pathlib import Path

from anonymize.commands.interrupts import heard
from anonymize.data import cache
from anonymize.data.image_files import load_file
from anonymize.data.sources.registry import read
from anonymize.options import DataOptions
from dataclasses import replace


def load(row, size):
    time.sleep(PAUSE)
    while int(Path(row.path).stem) >= LAST and not Path(GO).exists():
        time.sleep(0.01)
    return load_file(row, size)


if __name__ == "__main__":
    # A shell's background jobs inherit an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    root, directory, workers = sys.argv[1:]
    cache._COMMIT_SECONDS = 0.02
    table = replace(read(DataOptions(source="folder", root=root)), load=load)
    options = DataOptions(size=16, cache=Path(directory), workers=int(workers))
    with heard():
        cache.prepare(table, options, lambda done, total: print(done, flush=True))
"""


def start_slowly(tmp_path, workers, pause=0.1, last=1000):
    """Another process that prepares ``tmp_path/set``, is somewhere in the middle, and reads no
    image from the ``last`` on before there is a file ``tmp_path/go``."""
    script = tmp_path / "slow.py"
    slow = textwrap.dedent(SLOW).replace("PAUSE", str(pause)).replace("LAST", str(last))
    script.write_text(slow.replace("GO", repr(str(tmp_path / "go"))))
    process = subprocess.Popen(
        [sys.executable, script, tmp_path / "set", tmp_path, str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    for line in process.stdout:
        if int(line) > 30:
            return process
    raise AssertionError("the other process ended early")


def alive(session):
    """Processes of the session, by /proc; zombies are not alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, belongs = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(belongs) == session and state != "Z":
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize(
    ("end", "number"), [(os.kill, signal.SIGKILL), (os.killpg, signal.SIGINT)], ids=["kill", "^C"]
)
def test_work_that_is_ended_ends_all_processes_and_is_continued(tmp_path, end, number):
    """The one that writes is killed; or Ctrl-C reaches it and those that read."""
    table = folder_table(make_folder(tmp_path / "set", 160))
    process = start_slowly(tmp_path, 2, pause=0.01, last=80)
    end(process.pid, number)
    (tmp_path / "go").touch()
    process.communicate(timeout=120)
    assert process.returncode != 0
    until(lambda: not alive(process.pid))
    assert not list(tmp_path.glob("*.h5"))
    counted, seen = count_reading(table)
    _, images = prepared(counted, tmp_path)
    assert 0 < len(seen) < 160 - 20
    assert_whole(images, table)


def test_a_second_process_waits_for_the_first(tmp_path):
    table = folder_table(make_folder(tmp_path / "set", 80))
    process = start_slowly(tmp_path, 1, pause=0.03)
    counted, seen = count_reading(table)
    _, images = prepared(counted, tmp_path)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert seen == []
    assert_whole(images, table)


def test_many_at_once(few, tmp_path):
    def run(_):
        return prepared(few, tmp_path)[1].array(range(9))

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(4)):
            np.testing.assert_array_equal(found, expected(few, range(9)))


def test_a_script_without_main_guard_is_told(tmp_path):
    make_folder(tmp_path / "set", 70)
    script = tmp_path / "careless.py"
    script.write_text(
        SLOW.replace('if __name__ == "__main__":', "if True:").replace(
            "import sys, time", "import sys, time; sys.stderr = sys.stdout"
        )
    )
    words = [sys.executable, script, tmp_path / "set", tmp_path, "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert 'if __name__ == "__main__":' in done.stdout.splitlines()[-1]


def test_a_full_disk_is_told(few, tmp_path, monkeypatch):
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(DataError, match=r"needs at least .* GB .*--cache"):
        prepared(few, tmp_path)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"cannot be written .*--cache"):
        prepared(interrupt_at(few, 3, OSError(28, "No space left")), tmp_path)


def test_a_file_where_the_folder_should_be(few, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match=r"cannot be written \((File exists|Not a directory)\)"):
        prepared(few, tmp_path / "taken")


def test_the_phantom_has_no_files(tmp_path):
    table = read(DataOptions(patients=10, images=10))
    assert isinstance(table, Table)
    _, images = prepared(table, tmp_path, size=32)
    rows = table.frame.itertuples()
    np.testing.assert_array_equal(images.array(range(10)), [table.load(row, 32) for row in rows])
