"""How many images are computed at once, and in how many threads each."""

import threading

import pytest
import torch
from release_specimens import Wave, fill, png, threads, tree
from set_specimens import gray

from anonymize import flow
from anonymize.anonymizer import Anonymizer, load, method_class
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions

MANY = 6
LONG = 60  # seconds until somebody who waits for another gives up


class Watched(Wave):
    """Notes how many calls there are at once, and in how many threads each computes."""

    is_concurrent = False
    together = 1  # calls that wait for each other

    def __init__(self):
        super().__init__()
        self.lock, self.now, self.most, self.threads = threading.Lock(), 0, 0, set()
        self.meeting = threading.Barrier(self.together)

    def displacement(self, images):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.threads.add(torch.get_num_threads())
        self.meeting.wait(LONG)
        made = super().displacement(images)
        with self.lock:
            self.now -= 1
        return made


class Picture(Watched):
    """Does not deform."""

    def anonymize(self, images):
        return flow.warp(images, super().displacement(images))

    def displacement(self, images):
        return None


class Together(Watched):
    is_concurrent = True
    together = 2


@pytest.fixture
def source(tmp_path):
    fill(tmp_path / "in", {f"{n}.png": png(gray(n), 8, 0) for n in range(MANY)})
    return tmp_path / "in"


@threads(3)
@pytest.mark.parametrize("kind", [Watched, Picture])
def test_a_method_that_did_not_say_that_it_can_is_called_by_one_at_a_time(source, kind):
    """And in one thread: as many as there are cores would wait for those of the workers."""
    model = kind()
    done = pipeline.apply(source, source.parent / "out", model, ReleaseOptions(workers=3))
    assert (done.anonymized, model.most, model.threads) == (MANY, 1, {1})
    assert torch.get_num_threads() == 3


@threads(3)
def test_one_that_can_is_called_by_as_many_as_there_are_workers(source):
    model = Together()
    done = pipeline.apply(source, source.parent / "out", model, ReleaseOptions(workers=2))
    assert (done.anonymized, model.most, model.threads) == (MANY, 2, {1})
    assert torch.get_num_threads() == 3
    pipeline.apply(source, source.parent / "one", Wave(), ReleaseOptions(workers=1))
    assert tree(source.parent / "out") == tree(source.parent / "one")


@pytest.mark.parametrize(
    ("name", "can"),
    [
        *((n, True) for n in ("prichexy-net", "privacy-net", "dp-pix", "random-warp")),
        *(("gaussian-blur", True), ("down-sampling", True), ("k-same", False)),
    ],
)
def test_whose_calls_keep_nothing_say_so(name, can):
    assert method_class(name).is_concurrent is can
    assert not Anonymizer.is_concurrent


@pytest.mark.parametrize("spec", ["dp-pix:b=4", "random-warp:mu=0.05,size=32"])
def test_noise_is_the_same_however_many_compute(source, key, spec):
    for workers in (1, 3):
        options = ReleaseOptions(workers=workers, key_file=key)
        pipeline.apply(source, source.parent / f"by{workers}", load(spec), options)
    assert tree(source.parent / "by1") == tree(source.parent / "by3")
