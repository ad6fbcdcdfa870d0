"""Matched pairs against the definition, one pair at a time; and what they are for."""

from dataclasses import replace

import numpy as np
import pytest
from identities import frame_of, owners_of
from sklearn.metrics import roc_auc_score

from anonymize.data.table import Table
from attacks.measuring import metrics
from attacks.measuring.covariates import covariates_of, matched_by
from attacks.measuring.estimates import Estimate
from attacks.measuring.matching import PREFIX, measure_matched, split_matched
from attacks.measuring.metrics import Covariates, Owners
from attacks.measuring.statistics import estimate_identification, measure_identification


def people(seed=0, images=60, patients=20):
    """Images of patients, some unknown, with findings, sex, view and age that are partly known."""
    rng = np.random.default_rng(seed)
    known = Covariates(
        rng.integers(0, 3, images),
        rng.integers(-1, 2, images),
        rng.integers(-1, 2, images),
        np.where(rng.random(images) < 0.2, np.nan, rng.integers(40, 46, images)),
    )
    patient = rng.integers(0, patients, images)
    return Owners(np.arange(images), patient, rng.random(images) >= 0.2, known)


def is_matched(own, i, j):
    """The definition of a matched pair, genuine or not."""
    a, b = own.covariates[[i]], own.covariates[[j]]
    if own.image[i] == own.image[j]:
        return False
    if not (own.identified[i] and own.identified[j]) or a.findings != b.findings:
        return False
    for one, other in ((a.sex[0], b.sex[0]), (a.view[0], b.view[0])):
        if one >= 0 and other >= 0 and one != other:
            return False
    return bool(np.isnan(a.age[0] - b.age[0]) or abs(a.age[0] - b.age[0]) <= 2)


@pytest.mark.parametrize("kind", [metrics.genuine_pairs, metrics.impostor_pairs])
def test_matched_pairs_are_those_of_the_definition(kind):
    own = people()
    found = kind(own.matching, own.matching)
    same = kind is metrics.genuine_pairs
    for i in range(len(own)):
        for j in range(len(own)):
            expected = (own.patient[i] == own.patient[j]) == same and is_matched(own, i, j)
            assert found[i, j] == expected
    assert 0 < found.sum() < kind(own, own).sum()


def test_figures_against_matched_impostors():
    own = people()
    scores = np.random.default_rng(1).random((60, 60)) + metrics.genuine_pairs(own, own) * 0.3
    found = measure_matched(scores, own, own, resamplings=50)
    matched = own.matching, own.matching
    genuine, impostor = metrics.genuine_pairs(*matched), metrics.impostor_pairs(*matched)
    same = np.r_[np.ones(genuine.sum()), np.zeros(impostor.sum())]
    expected = roc_auc_score(same, np.r_[scores[genuine], scores[impostor]])
    assert found[PREFIX + "auc"].value == pytest.approx(expected)
    hits = [
        scores[i][genuine[i]].max() > scores[i][impostor[i]].max()
        for i in range(60)
        if genuine[i].any() and impostor[i].any()
    ]
    assert found[PREFIX + "precision_at_1"].value == pytest.approx(np.mean(hits))
    others, matched = split_matched(
        estimate_identification([found | {"auc": found[PREFIX + "auc"]}])
    )
    assert list(others) == ["auc"]
    assert (matched.genuine_pairs, matched.impostor_pairs) == (genuine.sum(), impostor.sum())
    assert matched.auc.mean == pytest.approx(expected)


def test_findings_link_nobody_among_those_who_share_them():
    """Two patients a finding, three images each: the finding links 0.875 of the pairs, but none
    against matched impostors."""
    patient = np.repeat(np.arange(8), 3)
    finding = patient // 2
    own = owners_of(patient, finding)
    scores = (finding[:, None] == finding).astype(float)
    assert measure_identification(scores, own, own, resamplings=10)["auc"].value > 0.9
    assert measure_matched(scores, own, own, resamplings=10)[PREFIX + "auc"].value == 0.5


def test_findings_that_come_and_go_mislead_nobody():
    """Whoever reads findings takes matched impostors for the patient, whose own images differ:
    genuine pairs have to be matched as well."""
    patient, finding = np.repeat(np.arange(8), 4), np.tile([0, 0, 1, 1], 8)
    own = owners_of(patient, finding)
    reader = (finding[:, None] == finding).astype(float)
    assert measure_matched(reader, own, own, resamplings=10)[PREFIX + "auc"].value == 0.5
    both = reader + 0.5 * (patient[:, None] == patient)
    assert measure_matched(both, own, own, resamplings=10)[PREFIX + "auc"].value == 1
    assert measure_identification(both, own, own, resamplings=10)["auc"].value < 0.9


def test_without_anybody_alike_there_is_no_figure():
    own = people()
    alone = replace(own.covariates, findings=np.arange(60))
    scores = np.random.default_rng(1).random((60, 60))
    alone = replace(own, covariates=alone)
    assert measure_matched(scores, alone, alone, resamplings=10) == {}
    estimates = {"auc": Estimate(mean=0.5, sd=0, runs=(0.5,))}
    assert split_matched(estimates) == (estimates, None)
    with pytest.raises(ValueError, match="matched pairs need covariates"):
        _ = replace(own, covariates=None).matching


def test_findings_are_compared_as_sets():
    labels = {"a": [0, 0, 1, 1, np.nan, 0], "b": [0, 0, 0, 1, 0, 0.0]}
    rows = frame_of(**labels, sex=["F", "M", "", "F", "F", "F"])
    table = Table("toy", rows, ("a", "b"), None, "")
    found = covariates_of(table)
    assert (found.findings[:, None] == found.findings).sum() == 6 + 2 * 3  # 0, 1 and 5 are alike
    assert found.sex.tolist() == [0, 1, -1, 0, 0, 0]
    assert matched_by(table) == ("findings", "sex")
    assert matched_by(Table("toy", frame_of(age=[3.0, 4]), (), None, "")) == ("age",)
