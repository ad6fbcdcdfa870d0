"""What a classifier and a verifier are worth: every figure by a second way."""

import json

import numpy as np
import pytest
from sklearn import metrics

from anonymize.training import part_figures
from anonymize.training.measures import measure_classifier, measure_verifier
from anonymize.training.part_figures import draw_classifier, draw_verifier

DRAW = {"resamplings": 200, "seed": 0}


def pairs(n=600, patients=40, seed=0):
    """Scores in steps (ties), whether genuine, and patients of unequal ease."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, patients, n)
    same = rng.random(n) < 0.5
    ease = rng.standard_normal(patients)[patient]
    scores = 1 / (1 + np.exp(-(rng.standard_normal(n) + 2 * same - 1 + same * 2 * ease)))
    return np.round(scores, 2), same, patient


def test_a_verifiers_figures_are_those_of_scikit_learn():
    scores, same, patient = pairs()
    test = measure_verifier(scores, same, patient, **DRAW)
    called = scores >= 0.5
    assert 0.5 in scores  # the threshold itself calls a pair genuine
    assert test["auc"] == pytest.approx(metrics.roc_auc_score(same, scores))
    assert test["accuracy"] == pytest.approx(metrics.accuracy_score(same, called))
    assert test["recall"] == pytest.approx(metrics.recall_score(same, called))
    assert test["specificity"] == pytest.approx(metrics.recall_score(~same, ~called))
    assert test["precision"] == pytest.approx(metrics.precision_score(same, called))
    assert test["f1"] == pytest.approx(metrics.f1_score(same, called))
    counts = test["confusion"]
    assert counts["true_positive"] == (same & called).sum()
    assert counts["false_negative"] == (same & ~called).sum()
    assert counts["false_positive"] == (~same & called).sum()
    assert counts["true_negative"] == (~same & ~called).sum()


def test_the_area_under_the_written_curve_is_the_auc():
    test = measure_verifier(*pairs(), **DRAW)
    x, y = test["roc"]["false_positive_rate"], test["roc"]["true_positive_rate"]
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(y, x) == pytest.approx(test["auc"])


def test_resampling_patients_is_wider_than_resampling_pairs():
    test = measure_verifier(*pairs(), **DRAW)
    (low, high), (low_pairs, high_pairs) = test["ci95"], test["ci95_pairs"]
    assert low < test["auc"] < high
    assert low_pairs < test["auc"] < high_pairs
    assert high - low > 1.3 * (high_pairs - low_pairs)


def test_what_is_undefined_is_null():
    scores, same, patient = pairs()
    test = measure_verifier(scores / 10, same, patient, **DRAW)
    assert (test["precision"], test["recall"], test["specificity"], test["f1"]) == (None, 0, 1, 0)
    assert "NaN" not in json.dumps(test, allow_nan=False)


def findings(n=200):
    rng = np.random.default_rng(1)
    targets = (rng.random((n, 3)) < 0.3).astype(np.float32)
    logits = rng.standard_normal((n, 3)) + 2 * targets
    targets[:20, 0] = np.nan
    targets[:, 2] = 0
    return logits, targets, rng.integers(0, 50, n), ["Mass", "Edema", "Hernia"]


def test_a_classifiers_figures_are_those_of_its_known_targets():
    logits, targets, patient, labels = findings()
    test = measure_classifier(logits, targets, patient, labels, **DRAW)
    mass = metrics.roc_auc_score(targets[20:, 0], logits[20:, 0])
    edema = metrics.roc_auc_score(targets[:, 1], logits[:, 1])
    assert test["per_class"]["Mass"]["auc"] == pytest.approx(mass)
    assert test["auc"] == pytest.approx((mass + edema) / 2)
    assert test["ci95"][0] < test["auc"] < test["ci95"][1]
    assert test["per_class"]["Edema"]["ci95"][0] < edema < test["per_class"]["Edema"]["ci95"][1]
    assert (test["per_class"]["Mass"]["known"], test["images"]) == (180, 200)
    assert test["per_class"]["Mass"]["positives"] == np.nansum(targets[:, 0])
    hernia = test["per_class"]["Hernia"]
    assert hernia == {"auc": None, "ci95": None, "positives": 0, "known": 200}
    json.dumps(test, allow_nan=False)


def test_a_classifier_that_cannot_be_measured_is_written_all_the_same(tmp_path):
    logits, targets, patient, labels = findings()
    test = measure_classifier(logits, np.zeros_like(targets), patient, labels, **DRAW)
    assert (test["auc"], test["ci95"]) == (None, None)
    draw_classifier(test, tmp_path / "a.png", title="none")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_the_same_figures_give_the_same_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(part_figures, "DPI", 30)
    verifier = measure_verifier(*pairs(), **DRAW)
    classifier = measure_classifier(*findings(), **DRAW)
    for name in "ab":
        draw_verifier(verifier, tmp_path / f"verifier-{name}.png", title="V")
        draw_classifier(classifier, tmp_path / f"classifier-{name}.png", title="C")
    for part in ("verifier", "classifier"):
        first, second = ((tmp_path / f"{part}-{name}.png").read_bytes() for name in "ab")
        assert first == second
    other = measure_verifier(*pairs(seed=1), **DRAW)
    draw_verifier(other, tmp_path / "other.png", title="V")
    assert (tmp_path / "other.png").read_bytes() != (tmp_path / "verifier-a.png").read_bytes()
