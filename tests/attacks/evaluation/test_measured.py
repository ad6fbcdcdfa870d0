"""An output of several people is one trial, in however many rows it stands."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from identities import owners_of

from attacks.evaluation.measured import Measurer
from attacks.measuring.metrics import Contributors
from attacks.measuring.statistics import measure_identification

OUTPUTS, EACH = 40, 5


@pytest.fixture
def release():
    """Outputs of five images each, in a row for each of these, the real images, and scores that
    differ from output to output."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(OUTPUTS * EACH // 2), 2)
    real = owners_of(patient, np.zeros_like(patient))
    output = rng.permutation(OUTPUTS * EACH) % OUTPUTS
    image = np.array([np.flatnonzero(output == one) for one in output])
    nobody = np.full_like(image, -1)
    shown = replace(real, contributors=Contributors(image, real.patient[image], nobody))
    scores = rng.random((OUTPUTS, OUTPUTS * EACH))[output]
    return output, shown, real, scores


def figures(options, scores, shown, real):
    owners = SimpleNamespace(owners=lambda scenario, part: (shown, real))
    return Measurer(options, None, "test").figures({"test": scores}, "before-after", owners)


def test_an_output_counts_once(options, release):
    output, shown, real, scores = release
    found = figures(options, scores, shown, real)
    first = np.unique(output, return_index=True)[1]
    assert len(first) == OUTPUTS
    drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
    once = measure_identification(scores[first], shown[first], real, **drawn)
    for name in ("auc", "precision_at_1", "r_s"):
        assert found[name].value == once[name].value
        np.testing.assert_array_equal(found[name].draws, once[name].draws)
    many = measure_identification(scores, shown, real, **drawn)
    assert found["precision_at_1"].patients < OUTPUTS < many["precision_at_1"].patients


def test_rows_of_an_output_that_differ_by_rounding_count_once(options, release):
    """As those of an attacker that scores many images at once, and so the same one otherwise."""
    _, shown, real, scores = release
    single = scores.astype(np.float32)
    rounded = np.nextafter(
        single, single + np.arange(len(shown), dtype=np.float32)[:, None] % 3 - 1
    )
    assert len(np.unique(rounded, axis=0)) > OUTPUTS
    found, expected = (figures(options, own, shown, real) for own in (rounded, single))
    for name in ("precision_at_1_coin", "r_s_coin"):
        assert found[name].value == expected[name].value
        np.testing.assert_array_equal(found[name].draws, expected[name].draws)
    assert found["precision_at_1"].patients == expected["precision_at_1"].patients


def test_it_stands_for_somebody_who_is_identified(options, release):
    """Else an output of four identified patients and a fifth would be asked of nobody."""
    output, shown, real, scores = release
    first = np.unique(output, return_index=True)[1]
    known = np.ones(len(shown), bool)
    known[first] = False
    less = figures(options, scores, replace(shown, identified=known), real)
    assert (
        less["precision_at_1"].value
        == figures(options, scores, shown, real)["precision_at_1"].value
    )


def test_rows_of_an_output_that_are_told_apart_all_count(options, release):
    """As those of an attacker that is told which outputs are of one patient."""
    _, shown, real, scores = release
    apart = scores + np.arange(len(shown))[:, None] / len(shown)
    drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
    expected = measure_identification(apart, shown, real, **drawn)["auc"]
    assert figures(options, apart, shown, real)["auc"].value == expected.value


def test_images_of_one_patient_stay_as_they_are(options, release):
    *_, real, scores = release
    equal = np.repeat(scores[:1], len(real), axis=0)
    drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
    expected = measure_identification(equal, real, real, **drawn)["precision_at_1"]
    assert figures(options, equal, real, real)["precision_at_1"].patients == expected.patients
