"""A release is computed in one precision, whichever processors it goes on on."""

import copy
import json

import pytest
import torch
from release_specimens import KINDS, Wave, fill, tree

from anonymize import trained
from anonymize.errors import DataError, UsageError
from anonymize.generator_options import FlowOptions
from anonymize.prichexy_net import FlowGenerator, PriCheXyNet
from anonymize.release import pipeline, precision
from anonymize.release.machines import merge
from anonymize.release.machines.shards import Shard
from anonymize.release.options import ReleaseOptions

GRAY = KINDS["gray8.png"]
FILES = {f"{n}.png": GRAY for n in ("a", 0, 3, 6, 7)}  # some in each of three shards


class Quick(Wave):
    """A little different where a processor makes it faster."""

    faster = True

    def accelerated(self):
        made = copy.copy(self)
        made.options, made.mu_here = self.options, 0.06
        return made if self.faster else self

    def displacement(self, images):
        return super().displacement(images) * getattr(self, "mu_here", self.mu) / self.mu


@pytest.fixture
def processor(monkeypatch):
    """``processor(faster)``: the next release is on one of these."""
    return lambda faster: monkeypatch.setattr(Quick, "faster", faster)


def journal(private):
    return (private / "journal.jsonl").read_text().splitlines()


def unsaid(private):
    """As an earlier version left it."""
    header, *entries = journal(private)
    said = {k: v for k, v in json.loads(header).items() if k != "precision"}
    lines = [json.dumps(said, sort_keys=True), *entries]
    (private / "journal.jsonl").write_text("\n".join(lines) + "\n")


def test_one_begun_in_float32_goes_on_so_on_a_faster_processor(release, processor):
    processor(False)
    first = release(FILES, Quick()).files
    (release.out / "a.png").unlink()
    processor(True)
    assert release((), Quick()).files == first
    assert json.loads(journal(release.private)[0])["precision"] == "float32"
    faster = release.to(release.out.with_name("faster"), Quick(), names="keep")
    assert faster["a.png"] != first["a.png"]  # so it would have shown


def test_one_begun_faster_is_refused_where_it_cannot_go_on(release, processor):
    first = release(FILES, Quick()).files
    (release.out / "a.png").unlink()
    before = tree(release.out.parent)
    processor(False)
    for begin in (pipeline.apply, pipeline.plan):
        with pytest.raises(
            UsageError, match=r"another precision .*; go on on .* or choose"
        ) as error:
            begin(release.source, release.out, Quick(), ReleaseOptions(names="keep"))
        assert "\n" not in str(error.value)
    assert tree(release.out.parent) == before
    processor(True)
    assert release((), Quick()).files == first


def test_another_method_is_told_before_its_precision(release, processor):
    release(FILES, Quick())
    other = Wave(0.04)
    other.name = "wind"
    with pytest.raises(UsageError, match="another method, other options"):
        release((), other)


@pytest.mark.parametrize("faster", [False, True])
def test_a_journal_that_does_not_say_goes_on_as_before(release, processor, faster):
    release(FILES, Quick())
    unsaid(release.private)
    begun = journal(release.private)[0]
    processor(faster)
    fill(release.source, {"later.png": GRAY})
    assert release((), Quick()).summary.complete
    assert journal(release.private)[0] == begun


@pytest.fixture
def shards(release, key, processor, tmp_path):
    """``shards(*faster)`` → the folder of as many, each made on such a processor."""

    def run(*faster):
        fill(release.source, FILES)
        for number, quick in enumerate(faster, 1):
            processor(quick)
            wanted = {"names": "hashed", "key_file": key, "shard": Shard(number, len(faster))}
            out = tmp_path / "shards" / str(number)
            pipeline.apply(release.source, out, Quick(), ReleaseOptions(**wanted))
        return tmp_path / "shards"

    return run


def test_shards_of_two_precisions_are_not_merged(shards, tmp_path):
    folder = shards(True, True, False)
    before = tree(folder)
    said = r"shards 1/3 and 3/3 .*\(accelerated, float32\); remove one of them"
    with pytest.raises(DataError, match=said) as error:
        merge.merge([folder], tmp_path / "merged")
    assert "\n" not in str(error.value)
    assert tree(folder) == before
    assert not (tmp_path / "merged").exists()


def test_a_merged_release_goes_on_in_the_precision_of_its_shards(
    shards, release, key, processor, tmp_path
):
    merge.merge([shards(False, False, False)], tmp_path / "merged")
    processor(True)
    whole = tree(tmp_path / "merged")
    next((tmp_path / "merged").rglob("*.png")).unlink()
    assert release.to(tmp_path / "merged", Quick(), names="hashed", key_file=key) == whole
    assert json.loads(journal(tmp_path / "merged-private")[0])["precision"] == "float32"


@pytest.mark.parametrize("units", [True, False])
def test_a_trained_model_says_what_it_takes(tmp_path, monkeypatch, units):
    torch.manual_seed(0)
    options = FlowOptions(features=4, levels=2, mu=0.01)
    model = PriCheXyNet(FlowGenerator(options).eval(), size=32)
    monkeypatch.setattr(trained, "computes_bfloat16", lambda device: units)
    found, word = precision.chosen(model, "cpu", tmp_path)
    assert (found.inference.half, word) == (units, "accelerated" if units else "float32")
    (tmp_path / "journal.jsonl").write_text('{"precision": "float32"}\n')
    found, word = precision.chosen(model, "cpu", tmp_path)
    assert (found.inference.half, word) == (False, "float32")
