"""What a method makes of training images at the size of the files that are attacked."""

import numpy as np
import pytest
import torch
from film_folders import folder_of

from anonymize.anonymizer import load
from anonymize.data.dataset import Dataset
from anonymize.data.image_files import resize
from anonymize.options import DataOptions, TrainOptions
from anonymize.training.compute import Compute
from attacks.evaluation.processes.work import Silent
from attacks.linkage.at_file_size import released_as_files, sets_as_files
from attacks.linkage.prepared import Wanted, _released
from attacks.registry import choose

QUIETLY = {"progress": lambda done, total: None}


def test_training_images_are_released_at_the_size_of_the_files(tmp_path):
    """Derived by hand: the phantom's picture enlarged, pixelized there, and reduced."""
    options = DataOptions(patients=10, images=12, size=32, cache=tmp_path, workers=1)
    data = Dataset.open(options)
    model = load("dp-pix:b=8,epsilon=0.5,seed=3")
    kept = tmp_path / "kept.npy"
    found = released_as_files(model, data, [(128, 96)], kept, **QUIETLY)
    picture = resize(data.images.array(np.array([4]))[0], (128, 96))
    level = model(torch.from_numpy(picture.astype(np.float32) / 255)[None, None])[0, 0].numpy()
    expected = resize((level * 255).round().astype(np.uint8), 32)
    np.testing.assert_array_equal(found.pixels[4, 0].numpy(), expected)
    same_size = released_as_files(model, data, [(32, 32)], tmp_path / "other.npy", **QUIETLY)
    assert (same_size.pixels != found.pixels).float().mean() > 0.5
    some = {"rows": np.array([4, 2]), **QUIETLY}
    few = released_as_files(model, data, [(128, 96)], tmp_path / "few.npy", **some)
    np.testing.assert_array_equal(few.pixels[4, 0].numpy(), expected)
    assert sorted(np.flatnonzero(few.pixels.flatten(1).any(1))) == [2, 4]
    again = released_as_files(load("dp-pix:b=8"), data, [(128, 96)], kept, **QUIETLY)
    np.testing.assert_array_equal(again.pixels, found.pixels)
    assert kept.stat().st_mode & 0o777 == 0o600  # also where others may read the folder


def opened(folder):
    """The data set of the reader `folder` that lies there, at 16 pixels."""
    options = {"root": folder, "size": 16, "cache": folder / "cache", "workers": 1}
    return Dataset.open(DataOptions(source="folder", **options))


def test_the_files_of_a_data_set_are_read_at_their_own_size(tmp_path):
    """A chessboard of pixels is gray once it was reduced, and is not where a method meets it."""
    board = np.indices((64, 64)).sum(0) % 2 * 255
    folder_of(tmp_path, [board.astype(np.uint8)] * 12, range(12))
    data = opened(tmp_path)

    def darker(images):
        return images.square()

    found = released_as_files(darker, data, [(64, 64)], tmp_path / "kept.npy", **QUIETLY)
    at_16 = released_as_files(darker, data, [(16, 16)], tmp_path / "other.npy", **QUIETLY)
    assert found.pixels.float().mean() == pytest.approx(127.5, abs=2)
    assert at_16.pixels.float().mean() == pytest.approx(64, abs=2)


def test_sets_are_mixed_at_the_size_of_the_files_once(tmp_path):
    """A mean of the fine picture, reduced, and the same for who asks again with another lot."""
    options = DataOptions(patients=40, images=40, size=16, cache=tmp_path, workers=1)
    data, large = (Dataset.open(options.model_copy(update={"size": size})) for size in (16, 48))
    kept = tmp_path / "out" / "kept.npz"
    sizes = [(48, 40)] * 3 + [(200, 10)]  # a stray one changes nothing
    found = sets_as_files(load("k-same:k=3,seed=1"), data, sizes, kept, display=Silent())
    assert found.pixels.shape == (40, 1, 16, 16)
    row = int(np.flatnonzero(found.there)[0])
    people = found.contributors.image[row]
    mean = large.images.batch(people[people >= 0]).mean(dim=0)[0]
    expected = resize((mean.numpy() * 255).round().astype(np.uint8), 16)
    np.testing.assert_array_equal(found.pixels[row, 0].numpy(), expected)
    again = sets_as_files(load("k-same:k=3,seed=2"), data, [(48, 40)], kept, display=Silent())
    np.testing.assert_array_equal(again.pixels, found.pixels)
    np.testing.assert_array_equal(again.contributors.image, found.contributors.image)
    assert kept.stat().st_mode & 0o777 == 0o600  # it says who is in which output
    assert [*kept.parent.iterdir()] == [kept]


@pytest.mark.parametrize("method", ["gaussian-blur:sigma=0.02", "k-same:k=2,seed=0"])
def test_another_split_is_released_anew(method, tmp_path):
    """What was kept lies in the order of the parts, and of sets depends on them."""

    def made(folder, seed):
        drawn = {"patients": 24, "images": 60, "size": 16, "cache": tmp_path, "workers": 1}
        options = TrainOptions(data={**drawn, "split_seed": seed})
        data = Dataset.open(options.data)
        wanted = Wanted(choose("histogram-metric"), options, method)
        return _released(wanted, tmp_path / folder, data, Compute(), Silent())[0].pixels

    made("one", 0)
    np.testing.assert_array_equal(made("one", 1), made("another", 1))


def test_sets_of_16_bits_keep_their_gray_levels(tmp_path):
    drawn = np.random.default_rng(0).integers(0, 65536, (40, 32, 32)).astype(np.uint16)
    folder_of(tmp_path, drawn, range(40))
    data = opened(tmp_path)
    assert data.images.dtype == np.uint16
    model, kept = load("k-same:k=2,seed=1"), tmp_path / "kept.npz"
    found = sets_as_files(model, data, [(32, 32)], kept, display=Silent())
    shown = found.pixels[found.there]
    assert shown.dtype == torch.float32
    assert shown.mean() == pytest.approx(0.5, abs=0.02)
    assert len(shown.unique()) > 1000
