"""The figures against slow second derivations, scikit-learn and pytorch-metric-learning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from attacks.measuring import metrics, retrieval
from attacks.measuring.metrics import Owners


def precision_at_1(*data):
    return retrieval.retrieve(*data).within(1).mean()


def r_s(*data):
    return retrieval.retrieve(*data).vulnerable()[1].mean()


def r_precision(*data):
    return retrieval.retrieve(*data).r_precisions().mean()


def map_at_r(*data):
    return retrieval.retrieve(*data).average_precisions_at_r().mean()


FIGURES = (metrics.pair_auc, precision_at_1, r_precision, map_at_r, r_s)


def count_pairs(scores, same):
    """Counts over a list of pairs: one probe, whose patient the genuine ones show."""
    patient = np.where(same, 0, 1 + np.arange(len(same)))
    gallery = Owners(1 + np.arange(len(same)), patient, np.ones(len(same), bool))
    probe = Owners(np.zeros(1, int), np.zeros(1, int), np.ones(1, bool))
    return metrics.count_matrix(scores[None], probe, gallery)


def world(seed=0, *, images=40, patients=14, unknown=0.2, ties=True):
    """Real images, a release of a shuffled half of them, and scores with ties."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, patients, images)
    gallery = Owners(np.arange(images), patient, rng.random(images) >= unknown)
    probes = gallery[rng.permutation(images)[: images // 2]]
    scores = rng.standard_normal((len(probes), images)).astype(np.float32)
    scores += 0.7 * (probes.patient[:, None] == gallery.patient)
    return (np.round(scores, 1) if ties else scores), probes, gallery


def kind(probes, i, gallery, j):
    """The definition, one pair at a time."""
    if probes.image[i] == gallery.image[j]:
        return "excluded"
    if probes.patient[i] != gallery.patient[j]:
        return "impostor"
    known = probes.identified[i] and gallery.identified[j]
    return "genuine" if known else "excluded"


def slow_pairs(scores, probes, gallery):
    scored, same = [], []
    for i in range(len(probes)):
        for j in range(len(gallery)):
            if (found := kind(probes, i, gallery, j)) != "excluded":
                scored.append(scores[i, j])
                same.append(found == "genuine")
    return np.array(scored), np.array(same)


def slow_retrieval(scores, probes, gallery):
    """precision@1, R-precision, mAP@R, R_s and top-3 from sorted Python lists."""
    first, share, precision, third, patients = [], [], [], [], {}
    for i in np.flatnonzero(probes.identified):
        ranking = [j for j in range(len(gallery)) if kind(probes, i, gallery, j) != "excluded"]
        ranking.sort(key=lambda j: (-scores[i, j], j))
        relevant = [kind(probes, i, gallery, j) == "genuine" for j in ranking]
        r = sum(relevant)
        if r == 0:
            continue
        first.append(relevant[0])
        third.append(any(relevant[:3]))
        share.append(sum(relevant[:r]) / r)
        precision.append(sum(sum(relevant[: k + 1]) / (k + 1) for k in range(r) if relevant[k]) / r)
        patients.setdefault(int(probes.patient[i]), []).append(relevant[0])
    vulnerable = np.mean([any(hits) for hits in patients.values()])
    return [np.mean(first), np.mean(share), np.mean(precision), vulnerable, np.mean(third)]


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_that_of_scikit_learn_over_the_counted_pairs(seed):
    data = world(seed)
    scores, same = slow_pairs(*data)
    assert metrics.pair_auc(*data) == pytest.approx(roc_auc_score(same, scores), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_retrieval_figures_against_loops(seed):
    data = world(seed)
    third = retrieval.retrieve(*data).within(3).mean()
    fast = [metric(*data) for metric in FIGURES[1:]] + [third]
    p1, rp, m, rs, top3 = slow_retrieval(*data)
    np.testing.assert_allclose(fast, [p1, rp, m, rs, top3], atol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    data = world(3)
    whole = metrics.count_matrix(*data)
    monkeypatch.setattr(metrics, "BLOCK", 100)
    parts = metrics.count_matrix(*data)
    for field in ("genuine", "below", "tied", "impostors"):
        assert np.array_equal(getattr(whole, field), getattr(parts, field))


def test_blocks_of_rows_change_no_ranking(monkeypatch):
    data = world(3)
    whole = retrieval.retrieve(*data)
    monkeypatch.setattr(metrics, "BLOCK", 100)
    assert len([*metrics.blocks(*data[1:])]) > 2
    parts = retrieval.retrieve(*data)
    for field in ("patient", "shown", "coin", "coin_shows"):
        np.testing.assert_array_equal(getattr(parts, field), getattr(whole, field))
    for field in ("ranks", "first"):
        for part, one in zip(getattr(parts, field), getattr(whole, field), strict=True):
            np.testing.assert_array_equal(part, one)


@pytest.mark.parametrize("ties", [True, False])
def test_roc_is_that_of_scikit_learn(ties):
    scores, same = slow_pairs(*world(1, ties=ties))
    false, true = count_pairs(scores, same).roc()
    expected_false, expected_true, _ = roc_curve(same, scores, drop_intermediate=False)
    # Compared as curves: the area, and the true rate just beside every false rate.
    assert np.trapezoid(true, false) == pytest.approx(
        np.trapezoid(expected_true, expected_false), abs=1e-12
    )
    at = np.setdiff1d(np.linspace(0.013, 0.987, 97), expected_false)
    np.testing.assert_allclose(
        np.interp(at, false, true), np.interp(at, expected_false, expected_true), atol=1e-12
    )


def test_equal_error_rate_lies_where_the_errors_cross():
    scores, same = slow_pairs(*world(2))
    false, true, _ = roc_curve(same, scores, drop_intermediate=False)
    # Both errors along the polyline, finely: the crossing is their closest point.
    along = np.linspace(0, len(false) - 1, 400_001)
    false, true = (np.interp(along, np.arange(len(false)), v) for v in (false, true))
    expected = false[np.argmin(np.abs(false - (1 - true)))]
    assert count_pairs(scores, same).equal_error_rate == pytest.approx(expected, abs=1e-4)


def test_equal_error_rate_at_the_ends():
    perfect = count_pairs(np.array([3.0, 2, 1, 0]), np.array([1, 1, 0, 0]))
    blind = count_pairs(np.zeros(4), np.array([1, 1, 0, 0]))
    reversed_ = count_pairs(np.array([3.0, 2, 1, 0]), np.array([0, 0, 1, 1]))
    assert [c.equal_error_rate for c in (perfect, blind, reversed_)] == [0, 0.5, 1]
    assert [c.auc for c in (perfect, blind, reversed_)] == [1, 0.5, 0]


def test_figures_of_pytorch_metric_learning():
    """Its AccuracyCalculator gives precision@1, R-precision and mAP@R, on 300 images."""
    pytest.importorskip("pytorch_metric_learning", reason="pytorch-metric-learning is absent")
    import torch
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN

    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 5)
    features = rng.standard_normal((300, 8)) + 1.2 * rng.standard_normal((60, 8))[patient]
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    owners = Owners(np.arange(300), patient, np.ones(300, bool))
    scores = features @ features.T
    reference = AccuracyCalculator(
        include=("precision_at_1", "r_precision", "mean_average_precision_at_r"),
        k="max_bin_count",
        knn_func=CustomKNN(CosineSimilarity()),
    ).get_accuracy(torch.from_numpy(features), torch.from_numpy(patient))
    figures = {
        "precision_at_1": precision_at_1,
        "r_precision": r_precision,
        "mean_average_precision_at_r": map_at_r,
    }
    found = {name: metric(scores, owners, owners) for name, metric in figures.items()}
    assert found == pytest.approx({name: reference[name] for name in figures}, abs=1e-6)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([np.exp, np.cbrt, lambda x: 7 * x - 3]))
def test_a_monotone_transform_of_the_scores_changes_nothing(seed, transform):
    scores, probes, gallery = world(seed)
    # Ranks first, so that the transform cannot make or break a tie by rounding.
    _, ranks = np.unique(scores, return_inverse=True)
    plain = ranks.reshape(scores.shape) / 50
    for metric in FIGURES:
        assert metric(transform(plain), probes, gallery) == metric(plain, probes, gallery)


def test_scores_that_know_nothing_are_at_chance():
    rng = np.random.default_rng(0)
    owners = Owners(np.arange(600), rng.integers(0, 200, 600), np.ones(600, bool))
    scores = rng.random((600, 600))
    counts = metrics.count_matrix(scores, owners, owners)
    assert counts.auc == pytest.approx(0.5, abs=0.02)
    assert counts.equal_error_rate == pytest.approx(0.5, abs=0.02)
    assert precision_at_1(scores, owners, owners) < 0.02


def test_the_score_of_the_same_image_is_never_looked_at():
    scores, probes, gallery = world(4)
    own = probes.image[:, None] == gallery.image
    for metric in FIGURES:
        low, high = (metric(np.where(own, v, scores), probes, gallery) for v in (-np.inf, np.inf))
        assert low == high == metric(scores, probes, gallery)


def test_unknown_patients_are_impostors_and_distractors_but_no_probes():
    """Gallery: two images of patient 0, two of the unknown code 1."""
    gallery = Owners(np.arange(4), np.array([0, 0, 1, 1]), np.array([True, True, False, False]))
    scores = np.array([[9, 1, 2, 0], [1, 9, 0, 0], [0, 0, 9, 5], [0, 0, 5, 9]], float)
    # Their own pairs (score 5) count nowhere; the distractor 2 beats the genuine 1 of probe 0.
    assert precision_at_1(scores, gallery, gallery) == 0.5
    assert metrics.pair_auc(scores, gallery, gallery) == (7 + 7) / 16
    assert metrics.impostor_pairs(gallery, gallery).sum() == 8
    assert metrics.genuine_pairs(gallery, gallery).sum() == 2


def test_on_a_tie_the_smaller_gallery_index_comes_first():
    gallery = Owners(np.arange(4), np.array([7, 8, 7, 9]), np.ones(4, bool))
    first = retrieval.retrieve(np.zeros((1, 4)), gallery[[0]], gallery)
    later = retrieval.retrieve(np.zeros((1, 4)), gallery[[2]], gallery)
    assert first.ranks[0].tolist() == [2]  # images 1, 2, 3: the genuine one is the second
    assert later.ranks[0].tolist() == [1]
    assert metrics.pair_auc(np.zeros((4, 4)), gallery, gallery) == 0.5


def test_a_patient_is_vulnerable_by_one_probe():
    gallery = Owners(np.arange(5), np.array([0, 0, 0, 1, 1]), np.ones(5, bool))
    scores = np.zeros((5, 5))
    scores[0, 1] = scores[1, 3] = scores[2, 3] = scores[3, 0] = scores[4, 0] = 1
    assert r_s(scores, gallery, gallery) == 0.5
    assert precision_at_1(scores, gallery, gallery) == 0.2


def test_errors_say_what_was_wrong():
    scores, probes, gallery = world(0)
    broken = scores.copy()
    broken[0, :3] = np.nan
    for metric in FIGURES:
        with pytest.raises(ValueError, match="must not hold NaN, got 3"):
            metric(broken, probes, gallery)
        with pytest.raises(ValueError, match=r"shape \(20, 40\) \(P, G\), got \(40, 20\)"):
            metric(scores.T, probes, gallery)
    alone = Owners(np.arange(3), np.arange(3), np.ones(3, bool))
    with pytest.raises(ValueError, match="genuine and impostor pairs, got 0 and 6"):
        metrics.pair_auc(np.zeros((3, 3)), alone, alone)
    with pytest.raises(ValueError, match="no identified probe has another image"):
        retrieval.retrieve(np.zeros((3, 3)), alone, alone)
    with pytest.raises(ValueError, match="must have one shape"):
        Owners(np.arange(3), np.arange(2), np.ones(3, bool))
    with pytest.raises(ValueError, match="identified must be bool"):
        Owners(np.arange(3), np.arange(3), np.ones(3))
