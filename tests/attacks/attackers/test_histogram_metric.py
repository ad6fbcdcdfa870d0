"""The learnt metric of histograms: kept on the disk, and the linear map from released images to
real ones, which is only used where it helps."""

from dataclasses import replace

import numpy as np
from identities import image_set, parts, turned
from sklearn.linear_model import Ridge

from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.training.learning import Learning
from attacks.training.restoration import Restoration

OPTIONS = HistogramMetricOptions(cells=(4, 8), components=(8, 16), copies=1)


def test_what_it_learnt_is_kept_with_its_map_and_not_learnt_again(tmp_path):
    kept, probes = tmp_path / "attack.safetensors", image_set(5, seed=5).images
    train = image_set(60, seed=1)
    known = replace(parts(), real=train, released=turned(train))
    options = OPTIONS.model_copy(update={"restoration": (1.0,)})

    def fitted(seed, **learning):
        attacker = HistogramMetric(options, learning=Learning(**learning)).fit(known, seed=seed)
        return attacker.probe_features(probes), attacker.features(probes)

    first = fitted(1, checkpoint=kept)
    written = kept.stat().st_mtime_ns
    again = fitted(2, checkpoint=kept)
    assert kept.stat().st_mtime_ns == written
    for a, b, same, other in zip(first, again, fitted(1), fitted(2), strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, same)  # without a file every seed is learnt
        assert not np.array_equal(a, other)


def test_an_ignorant_attacker_and_one_of_released_images_alone_learn_no_map():
    for changed in ({"knowledge": "ignorant"}, {}):
        kinds = {} if changed else {"trained_on": "released-released"}
        attacker = HistogramMetric(OPTIONS.model_copy(update=kinds), **changed)
        attacker.fit(parts(), seed=0)
        assert not attacker.asymmetric
        images = image_set(4, seed=4).images
        assert np.array_equal(attacker.features(images), attacker.probe_features(images))


def test_it_is_the_ridge_regression_of_scikit_learn():
    rng = np.random.default_rng(0)
    released, gray = rng.standard_normal((50, 4)), 3 * rng.standard_normal((50, 6))
    real = released @ rng.standard_normal((4, 4)) + gray[:, :4]
    found = Restoration.fit(released, gray, real, ridge=0.5)
    centred = gray - gray.mean(axis=0)
    scales = [np.sqrt((block**2).sum(1).mean()) for block in (released, centred)]
    given = np.hstack([released / scales[0], centred / scales[1]])
    alpha = 0.5 * np.square(given).sum() / given.shape[1]
    expected = Ridge(alpha=alpha, fit_intercept=False).fit(given, real).predict(given)
    restored = found.restored(np.hstack([released, centred]))
    np.testing.assert_allclose(restored, expected, atol=1e-8)


def test_histograms_and_components_are_mapped_alike():
    rng = np.random.default_rng(1)
    axes = np.linalg.qr(rng.standard_normal((9, 4)))[0].T
    described, gray = rng.standard_normal((20, 9)), rng.standard_normal((20, 6))
    reduced = described @ axes.T
    found = Restoration.fit(reduced, gray, rng.standard_normal((20, 4)), ridge=1.0)
    np.testing.assert_allclose(
        np.hstack([described, gray]) @ found.of_descriptions(axes),
        found.restored(np.hstack([reduced, gray])),
    )
