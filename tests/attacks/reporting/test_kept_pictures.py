"""What a report is built from again: pictures that come back, for their owner alone, no pickle."""

import io
import stat
import struct
import zipfile

import numpy as np
import pytest
import torch
from changing import altered
from pictured import full, pictured

from anonymize.errors import DataError, UsageError
from attacks.evaluation.evaluate import Evaluation
from attacks.reporting.kept import DRAWS, PICTURES, harmless_evaluation, read_kept, write_kept
from attacks.results import Results, results_file


@pytest.fixture
def folder(tmp_path):
    evaluation = pictured()
    evaluation.results.write(tmp_path / "results.json")
    assert write_kept(evaluation, tmp_path) == [PICTURES, DRAWS]
    return tmp_path


def kept_in(folder):
    return read_kept(Results.read(folder / "results.json"), folder)


def same(one, other, tolerance):
    assert one.keys() == other.keys()
    for key, value in one.items():
        torch.testing.assert_close(
            value, other[key], atol=tolerance, rtol=tolerance, equal_nan=True
        )


def test_all_comes_back(folder):
    given = pictured()
    found = kept_in(folder)
    assert found.results == given.results
    same(found.images, given.images, 1 / 255)
    same(found.displacements, given.displacements, 1e-3)
    for title, pairs in given.pairs.items():
        back = found.pairs[title]
        assert (back.attacker, list(back.pairs)) == (pairs.attacker, list(pairs.pairs))
        assert list(back.guesses.guesses) == list(pairs.guesses.guesses)
        same({0: back.guesses.gallery}, {0: pairs.guesses.gallery}, 1 / 255)
    for title, by_attacker in given.runs.items():
        for name, runs in by_attacker.items():
            for run, back in zip(runs, found.runs[title][name], strict=True):
                assert run.keys() == back.keys()
                for key, one in run.items():
                    assert (back[key].value, back[key].patients) == (one.value, one.patients)
                    np.testing.assert_allclose(back[key].draws, one.draws, rtol=1e-6)


def test_radiographs_are_for_their_owner_alone(folder):
    assert stat.S_IMODE((folder / PICTURES).stat().st_mode) == 0o600


def test_the_same_pictures_give_the_same_bytes(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("again")
    write_kept(pictured(), other)
    for name in (PICTURES, DRAWS):
        assert (folder / name).read_bytes() == (other / name).read_bytes()


def test_without_them_there_are_the_results(folder):
    (folder / PICTURES).unlink()
    (folder / DRAWS).unlink()
    found = kept_in(folder)
    assert not any((found.images, found.pairs, found.runs))
    assert write_kept(Evaluation(full()), folder) == []


def test_large_pictures_are_made_smaller(tmp_path):
    given = full()
    write_kept(Evaluation(given, {t: torch.rand(1, 1, 600, 600) for t in given.titles()}), tmp_path)
    given.write(tmp_path / "results.json")
    found = kept_in(tmp_path)
    assert {tuple(images.shape) for images in found.images.values()} == {(1, 1, 512, 512)}


def broken(path, kind):
    if kind == "no archive":
        path.write_bytes(b"no archive")
    elif kind == "cut off":
        path.write_bytes(path.read_bytes()[:2000])
    elif kind == "pickle":
        buffer = io.BytesIO()
        np.save(buffer, np.array([{"a": 1}]), allow_pickle=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("0/images.npy", buffer.getvalue())
    elif kind == "deflated":
        with path.open("wb") as file:
            np.savez_compressed(file, **{"0/images": np.zeros((1, 1, 9, 8), np.uint8)})
        damaged = bytearray(path.read_bytes())
        damaged[30 + sum(struct.unpack("<HH", damaged[26:30]))] = 0xFF  # no block begins so
        path.write_bytes(damaged)
    elif kind == "small":
        with path.open("wb") as file:
            np.savez_compressed(file, **{"0/images": np.zeros((1, 1, 900, 800), np.uint8)})
    elif kind == "one array":
        with path.open("wb") as file:
            np.save(file, np.zeros((1, 1, 9, 8), np.uint8))
    elif kind == "endless":
        head = io.BytesIO()
        shape = {"descr": "|u1", "fortran_order": False, "shape": (1, 1, 10**8, 10**8)}
        np.lib.format.write_array_header_1_0(head, shape)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("0/images.npy", head.getvalue())
    elif kind == "no array":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("0/images", b"nothing")
    else:
        with path.open("wb") as file:
            np.savez(file, **{"0/images": np.zeros((1, 1, 9, 8), np.float32)})


KINDS = ("no archive", "cut off", "pickle", "deflated", "small", "one array", "endless", "no array")


@pytest.mark.parametrize("kind", [*KINDS, "floats"])
@pytest.mark.parametrize("name", [PICTURES, DRAWS])
def test_a_broken_file_is_one_line(folder, kind, name):
    broken(folder / name, kind)
    if kind in ("floats", "no array") and name == DRAWS:
        assert kept_in(folder).runs == {}  # nothing of ours is in it
        return
    with pytest.raises(DataError, match=r"beside results\.json") as error:
        kept_in(folder)
    assert "\n" not in str(error.value)


def test_pictures_of_other_results_are_refused(folder):
    fewer = altered(full(), methods=full().methods[:2])
    fewer.write(folder / "results.json")
    found = kept_in(folder)
    assert len(found.images) == 2  # of those that are there
    with np.load(folder / PICTURES) as kept:
        arrays = {**kept, "1/images": np.zeros((3, 1, 9, 8), np.uint8)}
    np.savez(folder / PICTURES, **arrays)
    with pytest.raises(DataError, match="of other results"):
        kept_in(folder)


def test_there_must_be_results(tmp_path):
    with pytest.raises(UsageError, match=r"RESULTS\.json must be a file"):
        results_file(tmp_path)


def test_harmless_names_keep_their_pictures():
    evaluation = pictured()
    renamed = altered(evaluation.results.methods[3], name="dp-pix\x1b[31m")
    methods = (*evaluation.results.methods[:3], renamed, *evaluation.results.methods[4:])
    results = altered(evaluation.results, methods=methods)
    old, new = evaluation.results.titles(), results.titles()
    images = {new[old.index(title)]: value for title, value in evaluation.images.items()}
    found = harmless_evaluation(Evaluation(results, images))
    assert list(found.images) == found.results.titles()
    assert "\x1b" not in "".join(found.images)
    assert harmless_evaluation(evaluation) is evaluation
