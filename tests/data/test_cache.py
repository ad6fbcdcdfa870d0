"""What comes out of the cache is what the files hold, whatever happened while it was written."""

import multiprocessing
import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from anonymize.data import cache
from anonymize.data.cache import cache_directory, prepare
from anonymize.data.cached_images import IN_MEMORY
from anonymize.data.image_files import load_file
from anonymize.data.sources import read
from anonymize.data.sources.listing import ImageError
from anonymize.data.table import Table
from anonymize.errors import DataError
from anonymize.options import DataOptions

SIZE = 16


def make_folder(root, count, deep=()):
    """Images of noise, the rows in ``deep`` of 16 bits."""
    root.mkdir()
    rng = np.random.default_rng(5)
    for i in range(count):
        kind, high = (np.uint16, 65536) if i in deep else (np.uint8, 256)
        Image.fromarray(rng.integers(0, high, (20, 27), kind)).save(root / f"{i}.png")
    rows = [{"path": f"{i}.png", "patient_id": i // 2} for i in range(count)]
    pd.DataFrame(rows).to_csv(root / "list.csv", index=False)
    return root


def folder_table(root, **options):
    return read(DataOptions(source="folder", root=root, **options))


def expected(table, rows, size=SIZE):
    """The slow way: one file after the other."""
    images = [table.load(SimpleNamespace(path=table.frame["path"][row]), size) for row in rows]
    if any(image.dtype == np.uint16 for image in images):
        eight = [image.dtype == np.uint8 for image in images]
        scaled = [im.astype(int) * (257 if e else 1) for im, e in zip(images, eight, strict=True)]
        return np.array(scaled, np.uint16)
    return np.array(images, np.uint8)


@pytest.fixture
def few(tmp_path):
    return folder_table(make_folder(tmp_path / "set", 9))


@pytest.mark.parametrize("limit", [0, IN_MEMORY])
@pytest.mark.parametrize("deep", [(), (2, 5), range(9)])
def test_images_in_any_order_with_repeats(tmp_path, limit, deep):
    table = folder_table(make_folder(tmp_path / "set", 9, deep))
    same, images = prepare(table, size=SIZE, directory=tmp_path)
    pd.testing.assert_frame_equal(same.frame, table.frame)
    images = replace(images, limit=limit)
    whole = expected(table, range(9))
    assert images.shape == (9, SIZE, SIZE)
    assert len(images) == 9
    assert images.dtype == whole.dtype == (np.uint16 if deep else np.uint8)
    for rows in ([8, 0, 3, 3, 1], [2], [], np.arange(9), range(8, -1, -1)):
        rows = np.asarray(rows, int)
        found = images.array(rows)
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found, whole[rows])
        batch = images.batch(rows)
        assert batch.shape == (len(rows), 1, SIZE, SIZE)
        assert batch.dtype == torch.float32
        one = np.float32(65535 if deep else 255)
        np.testing.assert_array_equal(batch[:, 0].numpy(), whole[rows].astype(np.float32) / one)
        assert batch.numel() == 0 or (batch.min() >= 0 and batch.max() <= 1)
    for wrong in ([9], [-1]):
        with pytest.raises(IndexError, match="rows must lie in 0 … 8"):
            images.array(wrong)


def test_second_call_reads_no_file(few, tmp_path):
    prepare(few, size=SIZE, directory=tmp_path)
    broken = replace(few, load=None)
    said = []
    _, images = prepare(
        broken, size=SIZE, directory=tmp_path, progress=lambda *done: said.append(done)
    )
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))
    assert said == [(9, 9)]


def test_stale_caches_are_rebuilt(few, tmp_path):
    _, first = prepare(few, size=SIZE, directory=tmp_path)
    before = first.array(range(9))
    pixels = np.zeros((33, 33), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "set/4.png")
    changed = folder_table(tmp_path / "set")
    _, images = prepare(changed, size=SIZE, directory=tmp_path)
    assert images.array([4]).max() == 0
    np.testing.assert_array_equal(images.array([3]), before[[3]])
    _, other = prepare(changed, size=24, directory=tmp_path)
    assert other.shape == (9, 24, 24)
    part = changed.with_frame(changed.frame.iloc[[4, 0]])
    _, two = prepare(part, size=SIZE, directory=tmp_path)
    np.testing.assert_array_equal(two.array([0, 1]), images.array([4, 0]))


def test_processes_and_one_process_agree(tmp_path):
    table = folder_table(make_folder(tmp_path / "set", 80, deep=(7,)))
    said = []
    _, many = prepare(
        table,
        size=SIZE,
        directory=tmp_path / "a",
        workers=2,
        progress=lambda *d: said.append(d),
    )
    _, one = prepare(table, size=SIZE, directory=tmp_path / "b", workers=1)
    np.testing.assert_array_equal(many.array(range(80)), one.array(range(80)))
    np.testing.assert_array_equal(one.array(range(80)), expected(table, range(80)))
    assert said[0] == (0, 80)
    assert said[-1] == (80, 80)
    assert said == sorted(said)


def test_cache_may_be_pickled_and_used_after_a_fork(few, tmp_path):
    _, images = prepare(few, size=SIZE, directory=tmp_path)
    images = replace(images, limit=0)
    whole = images.array(range(9))
    copy = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(copy.array(range(9)), whole)
    assert len(pickle.dumps(images)) < 3000
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(images.array, ([3, 1],)), whole[[3, 1]])


def test_only_the_owner_may_read_it(few, tmp_path):
    _, images = prepare(few, size=SIZE, directory=tmp_path / "new")
    assert stat.S_IMODE(os.stat(images.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(images.path.parent).st_mode) == 0o700


def test_directory_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "anonymize-cxr"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache/anonymize-cxr"


def test_unreadable_images(few, tmp_path):
    (tmp_path / "set/3.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "set/6.png").unlink()
    with pytest.raises(ImageError, match=r"^source folder: 2 of 9 .* cannot be used .*1 × ") as e:
        prepare(few, size=SIZE, directory=tmp_path)
    assert "3.png" not in str(e.value)
    assert [name for name, _ in e.value.images] == ["3.png", "6.png"]
    kept, images = prepare(few, size=SIZE, directory=tmp_path, on_missing="skip")
    assert kept.skipped == e.value.images
    assert len(kept) == len(images) == 7
    assert list(kept.frame.index) == list(range(7))
    rows = [0, 1, 2, 4, 5, 7, 8]
    assert list(kept.frame["image_id"]) == [f"{i}.png" for i in rows]
    np.testing.assert_array_equal(images.array(range(7)), expected(few, rows))
    with pytest.raises(ImageError, match="2 of 9"):
        prepare(few, size=SIZE, directory=tmp_path)


def test_what_could_not_be_read_is_tried_again(few, tmp_path):
    away = tmp_path / "away.png"
    (tmp_path / "set/3.png").rename(away)
    with pytest.raises(ImageError, match="1 of 9"):
        prepare(few, size=SIZE, directory=tmp_path)
    away.rename(tmp_path / "set/3.png")
    _, images = prepare(few, size=SIZE, directory=tmp_path)
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))


def test_nothing_readable(few, tmp_path):
    for path in (tmp_path / "set").glob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match=r"none of 9 image\(s\) can be read"):
        prepare(few, size=SIZE, directory=tmp_path, on_missing="skip")


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


def test_interrupted_work_is_continued(few, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        prepare(interrupt_at(few, 5), size=SIZE, directory=tmp_path)
    assert not list(tmp_path.glob("*.h5"))
    counted, seen = count_reading(few)
    _, images = prepare(counted, size=SIZE, directory=tmp_path)
    assert seen == [f"{i}.png" for i in range(5, 9)]
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("seed", range(25))
def test_damaged_partial_file_breaks_nothing(few, tmp_path, seed):
    with pytest.raises(KeyboardInterrupt):
        prepare(interrupt_at(few, 7), size=SIZE, directory=tmp_path)
    (path,) = tmp_path.glob("*.partial")
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    if seed % 5 == 0:
        content = content[: rng.integers(len(content))]
    else:
        start = int(rng.integers(len(content) // 2 if seed % 2 else len(content)))
        for at in range(start, min(start + 2 ** int(rng.integers(12)), len(content))):
            content[at] = int(rng.integers(256))
    path.write_bytes(content)
    _, images = prepare(few, size=SIZE, directory=tmp_path)
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))


@pytest.mark.parametrize("content", [b"", b"no HDF5", None])
def test_damaged_complete_file_is_rebuilt(few, tmp_path, content):
    _, images = prepare(few, size=SIZE, directory=tmp_path)
    path = images.path
    path.write_bytes(path.read_bytes()[:3000] if content is None else content)
    _, images = prepare(few, size=SIZE, directory=tmp_path)
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))


def test_wrong_bytes_of_a_partial_file_are_read_again(few, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        prepare(interrupt_at(few, 7), size=SIZE, directory=tmp_path)
    (path,) = tmp_path.glob("*.partial")
    with h5py.File(path, "r+") as file:
        file["gray8"][2, 3, 3] += 1
    counted, seen = count_reading(few)
    _, images = prepare(counted, size=SIZE, directory=tmp_path)
    assert seen == ["2.png", "7.png", "8.png"]
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))


SLOW = """
import signal
import sys, time
from pathlib import Path

from anonymize.data import cache
from anonymize.data.image_files import load_file
from anonymize.data.sources import read
from anonymize.options import DataOptions
from dataclasses import replace


def load(row, size):
    time.sleep(0.01)
    return load_file(row, size)


if __name__ == "__main__":
    # A shell's background jobs inherit an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    root, directory, workers = sys.argv[1:]
    cache._COMMIT_SECONDS = 0.02
    table = replace(read(DataOptions(source="folder", root=root)), load=load)
    cache.prepare(
        table, size=16, directory=Path(directory), workers=int(workers),
        progress=lambda done, total: print(done, flush=True),
    )
"""


def start_slowly(tmp_path, workers):
    """Another process that prepares ``tmp_path/set``, and is somewhere in the middle."""
    script = tmp_path / "slow.py"
    script.write_text(textwrap.dedent(SLOW))
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


def assert_all_end(session):
    deadline = time.monotonic() + 10
    while alive(session) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(session)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_work_is_continued_and_equal(tmp_path, workers):
    table = folder_table(make_folder(tmp_path / "set", 160))
    process = start_slowly(tmp_path, workers)
    process.kill()
    process.wait()
    process.stdout.close()
    assert not list(tmp_path.glob("*.h5"))
    counted, seen = count_reading(table)
    _, images = prepare(counted, size=SIZE, directory=tmp_path)
    assert 0 < len(seen) < 160 - 20
    np.testing.assert_array_equal(images.array(range(160)), expected(table, range(160)))
    assert_all_end(process.pid)


def test_control_c_ends_all_processes_and_keeps_the_work(tmp_path):
    table = folder_table(make_folder(tmp_path / "set", 160))
    process = start_slowly(tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode != 0
    assert_all_end(process.pid)
    counted, seen = count_reading(table)
    prepare(counted, size=SIZE, directory=tmp_path)
    assert 0 < len(seen) < 160 - 20


def test_a_second_process_waits_for_the_first(tmp_path):
    table = folder_table(make_folder(tmp_path / "set", 160))
    process = start_slowly(tmp_path, 1)
    counted, seen = count_reading(table)
    _, images = prepare(counted, size=SIZE, directory=tmp_path)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert seen == []
    np.testing.assert_array_equal(images.array(range(160)), expected(table, range(160)))


def test_many_at_once(few, tmp_path):
    def run(_):
        return prepare(few, size=SIZE, directory=tmp_path)[1].array(range(9))

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
    done = subprocess.run(
        [sys.executable, script, tmp_path / "set", tmp_path, "2"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert 'if __name__ == "__main__":' in done.stdout.splitlines()[-1]


def test_a_full_disk_is_told(few, tmp_path, monkeypatch):
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(DataError, match=r"needs at least .* GB .*--cache"):
        prepare(few, size=SIZE, directory=tmp_path)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"cannot be written .*--cache"):
        prepare(interrupt_at(few, 3, OSError(28, "No space left")), size=SIZE, directory=tmp_path)


def test_a_file_where_the_folder_should_be(few, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match=r"cannot be written \((File exists|Not a directory)\)"):
        prepare(few, size=SIZE, directory=tmp_path / "taken")


def test_the_phantom_has_no_files(tmp_path):
    table = read(DataOptions(patients=10, images=12))
    assert isinstance(table, Table)
    _, images = prepare(table, size=32, directory=tmp_path)
    rows = table.frame.itertuples()
    np.testing.assert_array_equal(images.array(range(12)), [table.load(row, 32) for row in rows])
