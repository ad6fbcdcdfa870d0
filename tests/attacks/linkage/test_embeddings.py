"""Embeddings on the disk, and the streamed figures against `metrics` on whole score matrices."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from anonymize.errors import DataError, UsageError
from attacks.linkage import embeddings
from attacks.measuring import binned, drawn_pairs, metrics, retrieval, search, similarity, streamed
from attacks.measuring.metrics import Owners
from attacks.measuring.search import Related
from attacks.measuring.statistics import measure_identification


def world(seed=0, *, images=60, patients=15, width=3, levels=2):
    """Embeddings of few distinct whole numbers, so that scores are exact and tie often."""
    rng = np.random.default_rng(seed)
    owners = Owners(np.arange(images), rng.integers(0, patients, images), rng.random(images) >= 0.2)
    centre = rng.integers(-levels, levels + 1, (patients, width))[owners.patient]
    features = (centre + rng.integers(-1, 2, (images, width))).astype(np.float32)
    chosen = rng.permutation(images)[: images // 2]
    released = features[chosen] + rng.integers(-1, 2, (len(chosen), width)).astype(np.float32)
    return released, features, owners[chosen], owners


# The ranking and the counts are those of `metrics`


@pytest.mark.parametrize("seed", range(8))
def test_ranks_are_those_of_the_whole_matrix(seed):
    asked, known, probes, gallery = world(seed)
    whole = retrieval.retrieve(asked @ known.T, probes, gallery)
    for depth in (1, 5, 100):
        found = search.search(asked, known, probes, gallery, depth=depth)
        assert np.array_equal(found.patient, whole.patient)
        for ranks, expected in zip(found.ranks, whole.ranks, strict=True):
            near = expected <= max(depth, len(expected))
            assert ranks[near].tolist() == expected[near].tolist()
            assert (ranks[~near] > max(depth, len(expected))).all()


def test_ranks_where_everything_ties():
    """The order of equal scores is known only when all of them were seen."""
    _, known, probes, gallery = world(1, images=300, patients=20)
    asked = np.zeros((len(probes), known.shape[1]), np.float32)
    found = search.search(asked, known, probes, gallery)
    whole = retrieval.retrieve(asked @ known.T, probes, gallery)
    assert all((a == b).all() for a, b in zip(found.ranks, whole.ranks, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_exact_where_no_two_scores_share_a_bin(seed):
    asked, known, probes, gallery = world(seed)
    whole = metrics.count_matrix(asked @ known.T, probes, gallery)
    found = binned.count_scores(asked, known, probes, gallery)
    counts = found.counts()
    assert counts.impostors == whole.impostors
    assert np.array_equal(counts.below, whole.below)
    assert np.array_equal(counts.tied, whole.tied)
    assert found.wins().mean() == pytest.approx(whole.auc, abs=1e-12)


@pytest.mark.parametrize("bins", [4, 64, 4096])
def test_the_auc_is_within_its_bound(bins):
    rng = np.random.default_rng(3)
    _, _, probes, gallery = world(3, images=200)
    centre = rng.standard_normal((200, 8))[gallery.patient]
    known = (centre + rng.standard_normal((200, 8))).astype(np.float32)
    asked = known[probes.image]
    found = binned.count_scores(asked, known, probes, gallery, bins=bins)
    true = metrics.pair_auc(asked @ known.T, probes, gallery)
    assert abs(found.counts().auc - true) <= found.error + 1e-12
    assert 0 < found.error <= 0.5


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_every_figure_is_that_of_a_score_matrix(distance):
    rng = np.random.default_rng(5)
    _, _, probes, gallery = world(5, images=240, patients=60)
    centre = rng.standard_normal((60, 16))[gallery.patient]
    known = (centre + 0.8 * rng.standard_normal((240, 16)) + 3).astype(np.float32)
    asked = known[probes.image] + 0.3 * rng.standard_normal((120, 16)).astype(np.float32)
    a, b = asked - asked.mean(0), known - known.mean(0)
    scores = -cdist(a, b, distance)
    expected = measure_identification(scores, probes, gallery, resamplings=20)
    vectors = similarity.comparable(asked, known, distance)
    found = streamed.measure_vectors(*vectors, probes, gallery, resamplings=20)
    assert set(found) == {*expected, "auc_error"}
    assert found["auc_error"].value < 1e-4
    binned = ("auc", "auc_patient", "equal_error_rate")
    for name, measured in expected.items():
        at_a_rate = name.startswith(("fnmr", "tmr"))  # a bin more or less is a pair more or less
        within = 1e-2 if at_a_rate else 1e-4 if name in binned else 1e-12
        assert found[name].value == pytest.approx(measured.value, abs=within), name
        if name not in binned and not at_a_rate:
            np.testing.assert_allclose(found[name].draws, measured.draws)


def test_draws_are_those_of_a_score_matrix_of_many_patients(monkeypatch):
    monkeypatch.setattr(drawn_pairs, "MANY", 1)
    asked, known, probes, gallery = world(2, images=160)
    expected = measure_identification(asked @ known.T, probes, gallery, resamplings=20)
    found = streamed.measure_vectors(asked, known, probes, gallery, resamplings=20)
    for name in ("auc", "auc_patient", "fnmr|0.01", "fnmr|0.0001"):
        np.testing.assert_allclose(found[name].draws, expected[name].draws, atol=1e-4)
        assert found[name].patients == expected[name].patients


def test_blocks_and_queries_change_nothing(monkeypatch):
    data = world(2, images=120)
    whole = binned.count_scores(*data), search.search(*data)
    monkeypatch.setattr(binned, "BLOCK", 500)
    monkeypatch.setattr(search, "QUERIES", 7)
    parts = binned.count_scores(*data), search.search(*data)
    assert np.array_equal(whole[0].impostors, parts[0].impostors)
    assert np.array_equal(whole[0].genuine, parts[0].genuine)
    assert all((a == b).all() for a, b in zip(whole[1].ranks, parts[1].ranks, strict=True))


def test_related_pairs_are_all_that_are_no_impostors():
    _, _, probes, gallery = world(6)
    related = Related(probes, gallery)
    row, column, genuine = related.pairs(slice(5, 25))
    kinds = np.full((len(probes), len(gallery)), "impostor")
    kinds[row, column] = np.where(genuine, "genuine", "excluded")
    inside = slice(5, 25)
    expected = metrics.genuine_pairs(probes, gallery)
    assert np.array_equal((kinds == "genuine")[inside], expected[inside])
    assert np.array_equal(
        (kinds == "impostor")[inside], metrics.impostor_pairs(probes, gallery)[inside]
    )
    assert np.array_equal(related.tally()[0], expected.sum(1))


def test_without_genuine_pairs_nothing_is_measured():
    features = np.eye(3, dtype=np.float32)
    alone = Owners(np.arange(3), np.arange(3), np.ones(3, bool))
    with pytest.raises(ValueError, match="genuine and impostor pairs, got 0 and 6"):
        streamed.measure_vectors(features, features, alone, alone)
    with pytest.raises(ValueError, match="no identified probe has another image"):
        search.search(features, features, alone, alone)
    same = Owners(np.arange(3, 6), np.zeros(3, int), np.ones(3, bool))  # no impostor of theirs
    for find in (search.search, lambda a, b, *o: retrieval.retrieve(a @ b.T, *o)):
        with pytest.raises(ValueError, match="no identified probe has another image"):
            find(features, features, alone, same)
    with pytest.raises(DataError, match="3 of 3 probe images are not finite"):
        similarity.comparable(np.full((3, 2), np.nan, np.float32), features, "cosine")


# On the disk


class Source:
    """Embeddings that are known beforehand; counts, and stops where it is told to."""

    def __init__(self, *, stop=None):
        self.features = np.random.default_rng(0).random((50, 4)).astype(np.float32)
        self.asked, self.stop = [], stop

    def __call__(self, rows):
        if self.stop is not None and rows[0] >= self.stop:
            raise KeyboardInterrupt
        self.asked += rows.tolist()
        return self.features[rows]


def stored(path, source, made_from="network and images", *, images=50, features=4, batch=8):
    return embeddings.stored_embeddings(
        path, source, shape=(images, features), made_from=made_from, batch=batch
    )


def test_a_stop_costs_one_batch(tmp_path):
    path, first = tmp_path / "a" / "embeddings.npy", Source(stop=24)
    with pytest.raises(KeyboardInterrupt):
        stored(path, first)
    assert not path.exists()
    second = Source()
    found = stored(path, second)
    assert (first.asked, second.asked) == (list(range(24)), list(range(24, 50)))
    assert np.array_equal(found, second.features)
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable
    assert np.array_equal(stored(path, Source(stop=0)), second.features)


@pytest.mark.parametrize("change", [{"made_from": "another"}, {"images": 40}, {"features": 3}])
def test_embeddings_of_something_else_are_made_anew(tmp_path, change):
    path = tmp_path / "embeddings.npy"
    stored(path, Source())
    other = Source()
    other.features = 1 - other.features[:, : change.get("features", 4)]
    assert np.array_equal(stored(path, other, **change), other.features[: change.get("images", 50)])
    assert len(other.asked) == change.get("images", 50)


def test_a_stop_while_embeddings_are_replaced_never_gives_the_old_ones(tmp_path):
    path = tmp_path / "embeddings.npy"
    stored(path, Source())
    with pytest.raises(KeyboardInterrupt):
        stored(path, Source(stop=48), made_from="another")
    assert not path.exists()


@pytest.mark.parametrize("damage", ["{", '{"rows": 50}', "[]", '{"made_from": 1, "rows": "x"}'])
def test_a_damaged_note_costs_time_only(tmp_path, damage):
    path = tmp_path / "embeddings.npy"
    stored(path, Source())
    (tmp_path / "embeddings.npy.json").write_text(damage)
    again = Source()
    assert np.array_equal(stored(path, again), again.features)
    assert len(again.asked) == 50


def test_embeddings_that_are_not_finite_are_refused(tmp_path):
    path, source = tmp_path / "embeddings.npy", Source()
    source.features[[9, 11]] = np.nan
    with pytest.raises(DataError, match="2 of 8 images are not finite"):
        stored(path, source)
    assert json.loads((tmp_path / "embeddings.npy.json").read_text())["rows"] == 8
    with pytest.raises(UsageError, match="no image to embed"):
        stored(path, source, images=0)
    with pytest.raises(ValueError, match=r"shape \(8, 4\), got \(8, 3\)"):
        stored(tmp_path / "other.npy", lambda rows: source.features[rows, :3])


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"embeddings cannot be written to .*Error"):
        stored(tmp_path / "file" / "embeddings.npy", Source())
