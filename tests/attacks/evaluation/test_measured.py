"""An output of several people is one trial, in however many rows it stands."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from identities import owners_of

from attacks.evaluation.measured import Measurer
from attacks.measuring.matching import split_matched
from attacks.measuring.metrics import Contributors
from attacks.measuring.outputs import each_once
from attacks.measuring.statistics import estimate_identification, measure_identification

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
    return Measurer(options, None, "test").figures(
        {"test": scores}, "before-after", of(shown, real)
    )


def once(options, scores, shown, real):
    """The figures of these rows, each one trial."""
    drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
    return measure_identification(scores, shown, real, **drawn)


def of(shown, real, everybody=None):
    """A release of these owners, of whom the part has ``everybody``."""
    codes = np.unique(real.patient) if everybody is None else everybody
    return SimpleNamespace(
        owners=lambda scenario, part: (shown, real), everybody=lambda scenario, part: codes
    )


def test_an_output_counts_once(options, release):
    output, shown, real, scores = release
    found = figures(options, scores, shown, real)
    first = np.unique(output, return_index=True)[1]
    assert len(first) == OUTPUTS
    expected = once(options, scores[first], shown[first], real)
    for name in ("auc", "precision_at_1", "r_s"):
        assert found[name].value == expected[name].value
        np.testing.assert_array_equal(found[name].draws, expected[name].draws)
    many = once(options, scores, shown, real)
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
    expected = once(options, apart, shown, real)["auc"]
    assert figures(options, apart, shown, real)["auc"].value == expected.value


def test_images_of_one_patient_stay_as_they_are(options, release):
    *_, real, scores = release
    equal = np.repeat(scores[:1], len(real), axis=0)
    expected = once(options, equal, real, real)["precision_at_1"]
    assert figures(options, equal, real, real)["precision_at_1"].patients == expected.patients


def test_the_very_person_is_asked_for_by_all_whom_an_output_stands_for(options):
    """Of each output one contributor's other image is the best match, so that one in five names the
    very one, whichever of them the output is kept for; who has no other image is not asked."""
    alone = 20
    patient = np.r_[np.repeat(np.arange(100), 2), 100 + np.arange(alone)]
    real = owners_of(patient, np.zeros_like(patient))
    output = np.r_[np.arange(200) % OUTPUTS, np.arange(alone)]
    image = np.full((OUTPUTS, EACH + 1), -1)
    for one in range(OUTPUTS):
        went_in = np.flatnonzero(output == one)
        image[one, : len(went_in)] = went_in
    made_of = image[output]
    whose = np.where(made_of < 0, -1, patient[made_of])
    shown = replace(real, contributors=Contributors(made_of, whose, np.full_like(made_of, -1)))
    named = image[:, EACH - 1]  # and one of her images
    scores = np.zeros((OUTPUTS, len(patient)))
    scores[np.arange(OUTPUTS), named ^ 1] = 1
    found = figures(options, scores[output], shown, real)
    assert found["precision_at_1"].value == 1
    assert found["precision_at_1_own"].value == pytest.approx(1 / EACH)


def test_outputs_of_a_patient_are_one_whose_contributors_are_in_all_of_them(options, release):
    """Each image counts once, and luck is that of random scores."""
    output, shown, real, scores = release
    went_in = [set(np.flatnonzero(output == one).tolist()) for one in range(OUTPUTS)]
    people = [{image // 2 for image in images} for images in went_in]
    image, patient = np.full((2, len(shown), EACH), -1)
    for n in range(len(shown)):
        for row, of_each in ((image[n], went_in), (patient[n], people)):
            both = sorted(of_each[output[n]] & of_each[output[n ^ 1]])
            row[: len(both)] = both
    assert (patient >= 0).sum(axis=1).max() > 1
    together = replace(shown, contributors=Contributors(image, patient, np.full_like(image, -1)))
    rows = np.r_[np.arange(len(shown)), 3]  # and one for an output that is left
    given = {"test": scores[rows]}, "before-after", of(shown[rows], real)
    found = Measurer(options, None, "test").figures(*given, of_patients=True)
    expected = once(options, *each_once(scores, together), real)
    for name in ("auc", "precision_at_1", "r_s"):
        assert found[name].value == pytest.approx(expected[name].value)
        assert f"matched|{name}" in found
    for name in ("precision_at_1", "r_s"):
        assert 0 < found[f"{name}_coin"].value < 0.5
        assert 0 < found[f"matched|{name}_coin"].value < 0.5


def test_luck_is_drawn_once_a_release(options, release, monkeypatch):
    """Whatever `sets` knows, and in every repeat; another release has its own."""
    _, shown, real, scores = release
    draw = Mock(return_value={})
    monkeypatch.setattr("attacks.evaluation.measured.luck_of_sets", draw)
    measurer, fewer = Measurer(options, None, "test"), np.arange(100)
    one, other = of(shown, real), of(shown[fewer], real, np.unique(real.patient))
    for of_one, rows in ((one, ...), (one, ...), (other, fewer), (one, ...)):
        given = {"test": scores[rows]}, "before-after", of_one
        measurer.figures(*given, of_patients=True)
    assert [len(call.args[0][0]) for call in draw.call_args_list] == [200, 100, 200]


def test_who_withholds_patients_is_measured_with_the_draws_of_who_does_not(options, release):
    """So that of equal scores a difference is of those alone who are withheld."""
    *_, real, _ = release
    patients = len(np.unique(real.patient))
    scores = np.random.default_rng(1).random((len(real), len(real)))
    scores += 0.2 * (real.patient[:, None] == real.patient)
    kept = np.flatnonzero(real.patient % 20 > 0)
    everybody, fewer = (
        Measurer(options, None, "test").figures(
            {"test": scores[np.ix_(rows, rows)]}, "before-after", of(real[rows], real[rows], codes)
        )["auc"]
        for codes in [np.arange(patients)]
        for rows in (np.arange(len(real)), kept)
    )
    apart = np.std(everybody.draws - fewer.draws) / np.std(everybody.draws)
    assert apart < 0.5  # 1.4 of draws that have nothing to do with each other


def test_an_output_without_an_impostor_that_is_alike_has_no_matched_figures(options):
    """Its very people, asked for one by one, may have some: an evaluation was ended by that."""
    half = np.repeat(np.arange(20), 2)  # two images each
    patient = np.r_[half, 20 + half]
    findings = np.r_[half, np.full(len(half), 99)]  # nobody is like one of the first twenty
    real = owners_of(patient, findings)
    image = np.stack([np.arange(40), 40 + np.arange(40)], axis=1)[np.arange(80) % 40]
    made_of = Contributors(image, patient[image], np.full_like(image, -1))
    scores = np.random.default_rng(0).random((40, 80))[np.arange(80) % 40]
    found = figures(options, scores, replace(real, contributors=made_of), real)
    assert "precision_at_1_own" in found
    others, alike = split_matched(estimate_identification([found]))
    assert alike is None
    assert others.keys() == found.keys()
