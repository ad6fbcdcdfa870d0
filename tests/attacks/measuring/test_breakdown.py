"""Where an attacker succeeds: rates against plain counting."""

from itertools import pairwise

import numpy as np
import pytest
from identities import frame_of, owners_of

from anonymize.data.table import Table
from attacks.measuring.breakdown import FEW_PAIRS, measure_breakdown, split_breakdown
from attacks.measuring.matching import PREFIX, measure_matched, split_matched
from attacks.measuring.metrics import genuine_pairs, impostor_pairs
from attacks.measuring.pair_facts import TITLES, pair_groups
from attacks.measuring.statistics import estimate_identification, measure_identification

LABELS = ("Effusion", "Mass")
AGES = {"under 1": (0, 1), "12 or more": (12, 99)}
AGES |= {f"{x} to {y}": (x, y) for x, y in pairwise((1, 2, 3, 5, 8, 12))}


def table(patients=30, each=4, seed=0):
    """Ages, views and findings drawn; every patient has one sex."""
    rng = np.random.default_rng(seed)
    n = patients * each
    frame = frame_of(
        patient_id=np.repeat([f"p{i}" for i in range(patients)], each),
        follow_up=np.tile(np.arange(each), patients),
        view=rng.choice(["PA", "AP", ""], n, p=[0.5, 0.4, 0.1]),
        age=np.where(rng.random(n) < 0.1, np.nan, rng.uniform(20, 40, n)),
        sex=np.repeat(rng.choice(["F", "M"], patients), each),
        Effusion=rng.integers(0, 2, n).astype(float),
        Mass=np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 2, n)),
    )
    return Table("drawn", frame, LABELS, lambda row, size: None, "0")


def owners(data):
    return owners_of(np.unique(data.frame["patient_id"].to_numpy(str), return_inverse=True)[1])


def scores_of(own, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(len(own), len(own))) + 1.5 * genuine_pairs(own, own)).astype("f4")


def measured(data, scores, rate=0.05, sides=None):
    """Of all images of the table, or of those of some ``sides``, (probes, gallery)."""
    sides = sides or (owners(data),) * 2
    rates = {"false_match_rate": rate, "resamplings": 200, "seed": 0}
    return measure_breakdown(scores, sides, data, **rates)


def broken_down(data, scores, rate=0.05, sides=None):
    """The same as results have it."""
    found = estimate_identification([measured(data, scores, rate, sides)])
    return split_breakdown(found, rate)[1]


def by_hand(data, scores, rate):
    """The same rates, pair by pair."""
    rows, found = data.frame.to_dict("records"), {}
    own = owners(data)
    impostors = scores[impostor_pairs(own, own)]
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if i == j or a["patient_id"] != b["patient_id"]:
                continue
            hit = bool((impostors >= scores[i, j]).sum() <= round(rate * len(impostors), 6))
            early, late = (a, b) if a["follow_up"] < b["follow_up"] else (b, a)
            new = [x for x in LABELS if early[x] == 0 and late[x] == 1]
            apart = abs(a["age"] - b["age"])
            places = [("sex", {"F": "female", "M": "male"}[a["sex"]])]
            places += [("new_finding", x) for x in new] + [("new_finding", "any")] * bool(new)
            places += [("new_finding", "none")] * (not new)
            places.append(("images", str(sum(r["patient_id"] == a["patient_id"] for r in rows))))
            places += [("follow_up", ["0", "1", "2", "3–4"][a["follow_up"]])]
            if a["view"] and b["view"]:
                same = a["view"] == b["view"]
                places.append(("view", f"both {a['view']}" if same else "changed"))
            places += [("age_difference", n) for n, (x, y) in AGES.items() if x <= apart < y]
            for place in places:
                found.setdefault(place, []).append((hit, a["patient_id"]))
    return found


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("digits", [9, 0], ids=["apart", "tied"])
def test_every_rate_and_count_is_what_counting_gives(monkeypatch, rate, digits):
    monkeypatch.setattr("attacks.measuring.metrics.BLOCK", 50)
    data = table()
    scores = np.round(scores_of(owners(data)), digits)
    breakdown = broken_down(data, scores, rate)
    expected = by_hand(data, scores, rate)
    found = {(fact, g.group): g for fact, groups in breakdown.facts.items() for g in groups}
    assert set(found) == set(expected)
    for place, hits in expected.items():
        group = found[place]
        assert group.pairs == len(hits)
        assert group.patients == len({who for _, who in hits})
        assert group.rate.mean == pytest.approx(np.mean([hit for hit, _ in hits]))
        assert group.rate.ci95[0] <= group.rate.mean <= group.rate.ci95[1]
    everybody = [h for hits in (expected["sex", s] for s in ("female", "male")) for h, _ in hits]
    assert breakdown.rate.mean == pytest.approx(np.mean(everybody))
    assert list(breakdown.facts) == list(TITLES)


def test_an_attacker_that_sees_one_sex_only_is_found_out():
    data = table()
    own = owners(data)
    women = (data.frame["sex"] == "F").to_numpy()
    scores = scores_of(own) + 20.0 * (genuine_pairs(own, own) & women[:, None])
    female, male = (group.rate.mean for group in broken_down(data, scores).facts["sex"])
    assert female == 1
    assert male < 0.7


def test_patients_of_many_released_images_are_set_apart():
    data, each = table(patients=60, each=7), 7
    own = owners(data)
    few = np.repeat(np.arange(60) % 3, each) * 3 + 1 > np.tile(np.arange(each), 60)  # 1, 4 or 7
    groups = broken_down(data, scores_of(own)[few], sides=(own[few], own)).facts["images"]
    each_pairs = {"1": 20 * 6, "4": 20 * 4 * 6, "7 or more": 20 * 7 * 6}
    assert {group.group: group.pairs for group in groups} == each_pairs


def test_pairs_of_many_images_have_a_threshold_of_their_own():
    """Means over more pairs vary less: beside those of single images none would pass."""
    data = table(patients=60, each=8)
    many = np.arange(60) % 2 == 0
    shown = np.repeat(many, 8) | (np.tile(np.arange(8), 60) < 2)
    own = owners(data)[shown]
    rng = np.random.default_rng(0)
    wide = np.where(np.repeat(many, 8)[shown], 0.1, 3.0)[:, None]
    scores = rng.normal(size=(len(own), len(own))) * wide + 0.5 * genuine_pairs(own, own)
    groups = broken_down(data, scores.astype("f4"), sides=(own, own)).facts["images"]
    rate = {group.group: group.rate.mean for group in groups}
    assert rate["7 or more"] > 0.95
    assert rate["2"] < 0.2


def test_who_has_one_image_is_in_no_genuine_pair():
    data = table(patients=40, each=2)
    own = owners(data)[np.tile([True, False], 40) | (np.repeat(np.arange(40), 2) < 30)]
    groups = broken_down(data, scores_of(own), sides=(own, own)).facts["images"]
    assert [(group.group, group.pairs) for group in groups] == [("2", 60)]


def test_matched_pairs_have_a_threshold_of_their_own():
    """Who reads findings alone tells strangers of other findings, and nobody among equals."""
    data = table(patients=60, each=4)
    findings = data.frame["Effusion"].to_numpy().astype(int)
    own = owners_of(owners(data).patient, findings)
    rng = np.random.default_rng(0)
    scores = (findings[:, None] == findings) + 1e-3 * rng.random((len(own), len(own)))
    figures = measure_identification(scores, own, own) | measure_matched(scores, own, own)
    for prefix, reading in (("", own), (PREFIX, own.matching)):
        found = measure_breakdown(scores, (reading, reading), data, false_match_rate=0.3)
        figures |= {prefix + name: measured for name, measured in found.items()}
    others, alike = split_matched(estimate_identification([figures]), 0.3)
    _, every = split_breakdown(others, 0.3)
    genuine = scores[genuine_pairs(own.matching, own.matching)]
    impostors = scores[impostor_pairs(own.matching, own.matching)]
    passed = [(impostors >= score).mean() <= 0.3 for score in genuine]
    assert alike.breakdown.rate.mean == pytest.approx(np.mean(passed))
    assert alike.breakdown.rate.mean == pytest.approx(0.3, abs=0.1)
    assert "new_finding" in every.facts
    assert {g.group for g in alike.breakdown.facts["images"]} == {"4"}
    assert alike.breakdown.facts["images"][0].pairs == alike.genuine_pairs


def test_few_pairs_have_counts_and_no_rate():
    data = table(patients=12, each=2)
    breakdown = broken_down(data, scores_of(owners(data)))
    groups = [group for groups in breakdown.facts.values() for group in groups]
    few = [group for group in groups if group.pairs < FEW_PAIRS]
    assert few
    assert all(group.rate is None for group in few)
    assert all(group.pairs > 0 and group.patients > 0 for group in groups)


def test_what_the_table_does_not_say_has_no_group():
    data = table()
    frame = data.frame.assign(age=np.nan, sex="", view="")
    found = pair_groups(data.with_frame(frame), np.arange(4), np.arange(4)[::-1])
    assert {fact for fact, _, _ in found} == {"new_finding", "follow_up"}


def test_other_figures_stay_as_they_are():
    data = table()
    found = measured(data, scores_of(owners(data)))
    estimates = estimate_identification([found, found])
    others, _ = split_breakdown(estimates | {"auc": estimates["true_match_rate"]}, 0.05)
    assert list(others) == ["auc"]
    assert split_breakdown(others, 0.05) == (others, None)
