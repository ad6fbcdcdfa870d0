"""What comes out of the cache is what the files hold, whatever happened while it was written."""

import multiprocessing
import os
import pickle
import shutil
import stat
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from cache_trees import SIZE, expected, folder_table, make_folder, prepared
from PIL import Image

from anonymize.data.cache import cache_directory
from anonymize.data.cached_images import IN_MEMORY
from anonymize.data.sources.listing import ImageError


@pytest.mark.parametrize("limit", [0, IN_MEMORY])
@pytest.mark.parametrize("deep", [(), (2, 5), range(9)])
def test_images_in_any_order_with_repeats(tmp_path, limit, deep):
    table = folder_table(make_folder(tmp_path / "set", 9, deep))
    same, images = prepared(table, tmp_path)
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
    for wrong in ([9], [-1]):
        with pytest.raises(IndexError, match="rows must lie in 0 … 8"):
            images.array(wrong)


def test_second_call_reads_no_file(few, tmp_path):
    prepared(few, tmp_path)
    broken = replace(few, load=None)
    said = []
    _, images = prepared(broken, tmp_path, progress=lambda *done: said.append(done))
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))
    assert said == [(9, 9)]


def test_stale_caches_are_rebuilt(few, tmp_path):
    _, first = prepared(few, tmp_path)
    before = first.array(range(9))
    pixels = np.zeros((33, 33), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "set/4.png")
    changed = folder_table(tmp_path / "set")
    _, images = prepared(changed, tmp_path)
    assert images.array([4]).max() == 0
    np.testing.assert_array_equal(images.array([3]), before[[3]])
    _, other = prepared(changed, tmp_path, size=24)
    assert other.shape == (9, 24, 24)
    part = changed.with_frame(changed.frame.iloc[[4, 0]])
    _, two = prepared(part, tmp_path)
    np.testing.assert_array_equal(two.array([0, 1]), images.array([4, 0]))


def test_a_copied_data_set_is_the_same_one_and_a_changed_one_is_not(few, tmp_path):
    def fingerprint(root, **options):
        return prepared(folder_table(root), tmp_path, **options)[0].fingerprint

    root = tmp_path / "set"
    known = fingerprint(root)
    copied = shutil.copytree(root, tmp_path / "copied", copy_function=shutil.copyfile)
    assert folder_table(copied).fingerprint != few.fingerprint  # the files are others
    assert fingerprint(copied) == known
    assert fingerprint(root, size=24) != known
    listed = copied / "list.csv"
    listed.write_text(listed.read_text().replace("Mass", "Hernia"))
    assert fingerprint(copied) != known
    shutil.copyfile(root / "list.csv", listed)
    Image.open(root / "4.png").point(lambda gray: gray ^ 1).save(copied / "4.png")
    assert fingerprint(copied) != known


def test_processes_and_one_process_agree(tmp_path):
    table = folder_table(make_folder(tmp_path / "set", 80, deep=(7,)))
    said = []
    _, many = prepared(table, tmp_path / "a", lambda *done: said.append(done), workers=2)
    _, one = prepared(table, tmp_path / "b", workers=1)
    np.testing.assert_array_equal(many.array(range(80)), one.array(range(80)))
    np.testing.assert_array_equal(one.array(range(80)), expected(table, range(80)))
    assert said[0] == (0, 80)
    assert said[-1] == (80, 80)
    assert said == sorted(said)


def test_cache_may_be_pickled_and_used_after_a_fork(few, tmp_path):
    _, images = prepared(few, tmp_path)
    images = replace(images, limit=0)
    whole = images.array(range(9))
    copy = pickle.loads(pickle.dumps(images))
    np.testing.assert_array_equal(copy.array(range(9)), whole)
    assert len(pickle.dumps(images)) < 3000
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(images.array, ([3, 1],)), whole[[3, 1]])


def test_only_the_owner_may_read_it(few, tmp_path):
    _, images = prepared(few, tmp_path / "new")
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
        prepared(few, tmp_path)
    assert "3.png" not in str(e.value)
    assert [name for name, _ in e.value.images] == ["3.png", "6.png"]
    kept, images = prepared(few, tmp_path, on_missing="skip")
    assert kept.skipped == e.value.images
    assert len(kept) == len(images) == 7
    assert list(kept.frame.index) == list(range(7))
    rows = [0, 1, 2, 4, 5, 7, 8]
    assert list(kept.frame["image_id"]) == [f"{i}.png" for i in rows]
    np.testing.assert_array_equal(images.array(range(7)), expected(few, rows))
    with pytest.raises(ImageError, match="2 of 9"):
        prepared(few, tmp_path)


def test_what_could_not_be_read_is_tried_again(few, tmp_path):
    away = tmp_path / "away.png"
    (tmp_path / "set/3.png").rename(away)
    with pytest.raises(ImageError, match="1 of 9"):
        prepared(few, tmp_path)
    away.rename(tmp_path / "set/3.png")
    _, images = prepared(few, tmp_path)
    np.testing.assert_array_equal(images.array(range(9)), expected(few, range(9)))


def test_nothing_readable(few, tmp_path):
    for path in (tmp_path / "set").glob("*.png"):
        path.unlink()
    with pytest.raises(ImageError, match=r"9 of 9 images cannot be used .* give others"):
        prepared(few, tmp_path, on_missing="skip")
