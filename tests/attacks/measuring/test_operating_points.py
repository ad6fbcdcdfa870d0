"""What results keep of operating points."""

import numpy as np
import pytest
from test_metrics import world

from attacks.measuring.estimates import Figures
from attacks.measuring.statistics import ROC, estimate_identification, measure_identification


def test_operating_points_and_roc_of_all_runs():
    data = world(2, images=60, patients=20)
    measured = measure_identification(*data, resamplings=10)
    found = Figures.of(estimate_identification([measured, measured]))
    points = {p.false_match_rate: p for p in found.operating_points}
    assert list(points) == [1e-2, 1e-3, 1e-4]
    assert list(found.roc) == list(ROC)
    for rate, point in points.items():
        assert found.roc[f"{rate:g}"] == pytest.approx(1 - point.false_non_match_rate.mean)
        assert len(point.false_non_match_rate.runs) == 2
        assert not point.certified
    rising = list(found.roc.values())
    assert rising == sorted(rising)
    assert rising[-1] == 1
    assert found.independent_comparisons <= 10
    assert set(found.estimates) & {"auc", "independent_comparisons"} == set()


@pytest.mark.parametrize(("comparisons", "certified"), [(299, False), (300, True)])
def test_a_rate_is_certified_by_three_over_it(comparisons, certified):
    measured = measure_identification(*world(2), resamplings=10)
    measured["independent_comparisons"] = type(measured["auc"])(comparisons, np.zeros(0))
    found = Figures.of(estimate_identification([measured]))
    assert [p.certified for p in found.operating_points] == [certified, False, False]
    assert found.independent_comparisons == comparisons


def test_r_s_is_of_all_patients_in_the_gallery():
    """By hand: the whole-slide paper's f takes each probe to the patient of its nearest image."""
    scores, probes, gallery = world(3, images=60, patients=30)
    found = measure_identification(scores, probes, gallery, resamplings=5)
    vulnerable = set()
    for i in np.flatnonzero(probes.identified):
        others = gallery.image != probes.image[i]
        others &= gallery.identified | (gallery.patient != probes.patient[i])
        nearest = np.flatnonzero(others)[np.argmax(scores[i, others])]
        if gallery.patient[nearest] == probes.patient[i]:
            vulnerable.add(probes.patient[i])
    everybody = set(gallery.patient[gallery.identified].tolist())
    assert found["r_s_all"].value == pytest.approx(len(vulnerable) / len(everybody))
    assert found["r_s_all"].value < found["r_s"].value
