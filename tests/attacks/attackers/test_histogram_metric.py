"""The learnt metric of histograms: kept on the disk, and the same when it is read again."""

import numpy as np
import pytest
from identities import image_set, parts

from attacks.attackers.histogram_metric import HistogramMetric, HistogramMetricOptions
from attacks.measuring.metrics import pair_auc
from attacks.training.learning import Learning

OPTIONS = HistogramMetricOptions(cells=(4, 6), components=(8, 16), copies=1)


def test_what_it_learnt_is_kept_and_not_learnt_again(tmp_path):
    probes = image_set(10, seed=3, first=500)
    kept = tmp_path / "attack.safetensors"
    first = HistogramMetric(OPTIONS, learning=Learning(checkpoint=kept)).fit(parts(), seed=1)
    scores = first.score(probes.images, probes.images)
    written = kept.stat().st_mtime_ns
    again = HistogramMetric(OPTIONS, learning=Learning(checkpoint=kept)).fit(parts(), seed=2)
    assert kept.stat().st_mtime_ns == written
    assert np.array_equal(again.score(probes.images, probes.images), scores)


def test_without_a_file_every_seed_is_learnt(tmp_path):
    probes = image_set(10, seed=3, first=500)
    found = [
        HistogramMetric(OPTIONS).fit(parts(), seed=seed).score(probes.images, probes.images)
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@pytest.mark.parametrize("knowledge", ["ignorant", "informed"])
def test_it_learns_who_is_shown(knowledge):
    probes = image_set(12, seed=4, first=500)
    attacker = HistogramMetric(OPTIONS, knowledge=knowledge).fit(parts(), seed=0)
    scores = attacker.score(probes.images, probes.images)
    assert pair_auc(scores, probes.owners, probes.owners) > 0.9
