"""Draws of patients on both sides: brute force, and the variances of DeLong and Obuchowski."""

import numpy as np
import pytest
from identities import owners_of
from sklearn.metrics import roc_auc_score
from test_metrics import count_pairs, kind, world

from anonymize.statistics import draw_patients, measure_auc
from attacks.measuring import drawn_pairs, metrics
from attacks.measuring.drawn_pairs import DrawnPairs
from attacks.measuring.independence import independent_comparisons


def drawn(data, *, resamplings=15, seed=0):
    """The figures, and how often each draw takes each patient."""
    scores, probes, gallery = data
    codes = np.union1d(probes.patient, gallery.patient)
    weights = draw_patients(len(codes), resamplings=resamplings, seed=seed)
    return DrawnPairs(scores, probes, gallery, codes).figures(weights), weights


def really_drawn(scores, probes, gallery, times):
    """Every pair as often as it is drawn: scores, and whether it is genuine."""
    found = []
    for i, j in np.ndindex(scores.shape):
        p, g = times[probes.patient[i]], times[gallery.patient[j]]
        same = kind(probes, i, gallery, j)
        count = {"genuine": p, "impostor": p * g, "excluded": 0}[same]
        found += [(scores[i, j], same == "genuine")] * int(count)
    return (np.array(column) for column in zip(*found, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_draws_against_pairs_really_repeated(seed):
    data = world(seed, images=30, patients=9, unknown=0.1)
    codes = np.union1d(data[1].patient, data[2].patient)
    found, weights = drawn(data)
    for b, weight in enumerate(weights):
        sampled, same = really_drawn(*data, dict(zip(codes, weight, strict=True)))
        if same.all() or not same.any():
            assert np.isnan(found["auc"].draws[b])
            continue
        counts = count_pairs(sampled, same)
        assert found["auc"].draws[b] == pytest.approx(roc_auc_score(same, sampled))
        assert found["equal_error_rate"].draws[b] == pytest.approx(counts.equal_error_rate)
        for rate in metrics.FALSE_MATCH_RATES:
            expected = counts.non_match_rates(np.array([rate]))[0]
            assert found[f"fnmr|{rate:g}"].draws[b] == pytest.approx(expected)


def test_one_pair_a_patient_is_the_mean_of_all_choices():
    scores, probes, gallery = data = world(4, images=30, patients=9, unknown=0)
    found, weights = drawn(data)
    codes = np.union1d(probes.patient, gallery.patient)
    for b, weight in [(None, np.ones(len(codes))), *enumerate(weights)]:
        times = dict(zip(codes, weight, strict=True))
        sampled, same = really_drawn(*data, times)
        aucs, counts = [], []
        for code in codes:
            own = [
                scores[i, j]
                for i, j in np.ndindex(scores.shape)
                if probes.patient[i] == code and kind(probes, i, gallery, j) == "genuine"
            ]
            if own and times[code]:
                of_own = np.r_[own, sampled[~same]]
                aucs.append(roc_auc_score(np.arange(len(of_own)) < len(own), of_own))
                counts.append(times[code])
        expected = np.average(aucs, weights=counts)
        measured = found["auc_patient"]
        assert (measured.value if b is None else measured.draws[b]) == pytest.approx(expected)


def test_matched_impostors_alone_are_drawn():
    scores, probes, gallery = world(5, images=60, patients=12)
    gallery = owners_of(gallery.patient, gallery.patient % 2, identified=gallery.identified)
    probes = gallery[probes.image]
    found, _ = drawn((scores, probes.matching, gallery.matching))
    # A shift of what is no matched pair changes nothing.
    others = (gallery.patient % 2)[None] != (probes.patient % 2)[:, None]
    again, _ = drawn((scores + 9 * others, probes.matching, gallery.matching))
    for name, measured in found.items():
        assert np.array_equal(measured.draws, again[name].draws, equal_nan=True)


def test_blocks_change_nothing(monkeypatch):
    data = world(6, images=60)
    whole = drawn(data)[0]
    monkeypatch.setattr(drawn_pairs, "BLOCK", 70)
    for name, measured in drawn(data)[0].items():
        assert measured.value == whole[name].value
        np.testing.assert_allclose(measured.draws, whole[name].draws)


def many_patients(patients=150, seed=0):
    """Two images of each, patients of unequal quality."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(patients), 2)
    owners = owners_of(patient)
    scores = rng.standard_normal((len(patient), len(patient)))
    quality = rng.standard_normal(patients)[patient]
    scores += (patient[:, None] == patient) * (1.5 + quality[:, None])
    scores += 0.4 * quality + 0.4 * quality[:, None]
    return scores, owners, owners


def test_the_first_order_is_that_of_many_patients(monkeypatch):
    data = many_patients()
    exact, _ = drawn(data, resamplings=300)
    monkeypatch.setattr(drawn_pairs, "MANY", 1)
    first, _ = drawn(data, resamplings=300)
    for name in ("auc", "auc_patient"):
        assert first[name].value == exact[name].value
        correlation = np.corrcoef(first[name].draws, exact[name].draws)[0, 1]
        assert correlation > 0.995
        assert first[name].error == pytest.approx(exact[name].error, rel=0.05)
    assert len(first["equal_error_rate"].draws) == 0


@pytest.mark.parametrize(
    ("patients", "above", "worlds", "figures"),
    [(11, 1, 150, ["auc", "auc_patient"]), (40, 2.3, 100, ["equal_error_rate", "fnmr|0.01"])],
)
def test_sets_of_images_vary_as_their_patients_do(patients, above, worlds, figures):
    """In worlds where two patients have one score, which depends on nothing else: how far figures
    lie apart is what the draws say; drawn on both sides, a pair would count thrice."""
    rng = np.random.default_rng(2)
    owners = owners_of(np.repeat(np.arange(patients), 2))
    values, errors = [], []
    for _ in range(worlds):
        between = rng.standard_normal((patients, patients))
        np.fill_diagonal(between, above + between.diagonal() / 5)
        scores = between[np.ix_(owners.patient, owners.patient)]
        found, _ = drawn((scores, owners, owners), resamplings=120)
        values.append([found[name].value for name in figures])
        errors.append([found[name].error for name in figures])
    assert np.sqrt(np.mean(np.square(errors), axis=0)) == pytest.approx(
        np.std(values, axis=0), rel=0.15
    )


def obuchowski(scores, probes, gallery):
    """Standard error of the AUC of clustered pairs (Biometrics 53, 1997, eq. 4): the covariance of
    each patient's structural components; an impostor pair belongs to both its patients."""
    genuine = metrics.genuine_pairs(probes, gallery)
    impostor = metrics.impostor_pairs(probes, gallery)
    x, y = scores[genuine], scores[impostor]
    won = np.array([(s > y).mean() + (s == y).mean() / 2 for s in x])
    beaten = np.array([(x > s).mean() + (x == s).mean() / 2 for s in y])
    auc, patients = won.mean(), np.unique(probes.patient)
    of_x = probes.patient[np.nonzero(genuine)[0]]
    row, column = np.nonzero(impostor)
    asked, known = probes.patient[row], gallery.patient[column]
    moved = [
        (won[of_x == p] - auc).sum() / len(x)
        + (beaten[(asked == p) | (known == p)] - auc).sum() / len(y)
        for p in patients
    ]
    k = len(patients)
    return auc, np.sqrt(k / (k - 1) * np.square(moved).sum())


def test_the_error_is_that_of_obuchowski():
    data = many_patients(80, seed=3)
    auc, error = obuchowski(*data)
    found, _ = drawn(data, resamplings=2000)
    assert found["auc"].value == pytest.approx(auc)
    assert found["auc"].error == pytest.approx(error, rel=0.06)


def delong(scores, present):
    """Standard error of the AUC of independent entries (Biometrics 44, 1988, eq. 5)."""
    x, y = scores[present], scores[~present]
    wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    parts = wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(y)
    return wins.mean(), np.sqrt(parts)


def test_the_error_of_a_list_is_that_of_delong():
    rng = np.random.default_rng(0)
    present = rng.random(300) < 0.4
    scores = np.round(rng.standard_normal(300) + present, 1)
    auc, error = delong(scores, present)
    found = measure_auc(scores, present, np.arange(300), resamplings=2000)
    assert found.value == pytest.approx(auc)
    assert found.error == pytest.approx(error, rel=0.05)


def test_non_matches_are_those_above_the_threshold():
    rng = np.random.default_rng(1)
    genuine, impostors = rng.standard_normal(50) + 1, rng.standard_normal(400)
    counts = count_pairs(np.r_[genuine, impostors], np.arange(450) < 50)
    for rate in (0.001, 0.01, 0.1, 1):
        threshold = np.sort(impostors)[::-1][min(int(rate * 400), 399)]
        expected = np.mean(genuine <= threshold) if rate < 1 else 0
        assert counts.non_match_rates(np.array([rate]))[0] == pytest.approx(expected)


def test_independent_comparisons_share_no_patient():
    _, _, gallery = world(7, images=60, patients=20, unknown=0)
    assert independent_comparisons(gallery, gallery) == len(np.unique(gallery.patient)) // 2
    own = owners_of(gallery.patient, gallery.patient % 3).matching
    kinds = np.bincount(np.unique(gallery.patient) % 3)
    assert independent_comparisons(own, own) == sum(kinds // 2)
    alone = owners_of(gallery.patient, identified=np.zeros(60, bool))
    assert independent_comparisons(alone, alone) == 0
