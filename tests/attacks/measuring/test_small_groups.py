"""k-anonymity and l-diversity against groups that are counted one by one."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
from identities import frame_of

from attacks.measuring.small_groups import small_groups


def table_of(labels=(), **columns):
    return SimpleNamespace(frame=frame_of(**columns), labels=tuple(labels))


def test_against_groups_counted_one_by_one():
    rng = np.random.default_rng(0)
    n = 120
    columns = {
        "patient_id": [f"p{k}" for k in rng.integers(0, 60, n)],
        "age": rng.integers(20, 50, n).astype(float),
        "sex": rng.choice(["F", "M", ""], n),
        "view": rng.choice(["AP", "PA"], n),
        "effusion": rng.choice([0.0, 1.0, np.nan], n),
    }
    found = small_groups(table_of(["effusion"], **columns), np.arange(n))
    whole, facts = defaultdict(set), defaultdict(set)
    members = defaultdict(set)
    for who, age, sex, view, label in zip(*columns.values(), strict=True):
        key, finding = (age // 5, sex, view), str(label)
        whole[key, finding].add(who)
        facts[key].add(finding)
        members[key].add(who)
    assert found.by == ("age", "sex", "view", "findings")
    assert found.groups == len(whole)
    assert found.k == min(map(len, whole.values()))
    assert found.alone == len({w for g in whole.values() if len(g) == 1 for w in g})
    assert found.diversity == min(map(len, facts.values()))
    uniform = {w for key, kinds in facts.items() if len(kinds) == 1 for w in members[key]}
    assert found.told == len(uniform)
    assert found.patients == len(set(columns["patient_id"]))


def test_only_what_is_known_counts():
    plain = table_of(patient_id=["a", "b"])
    assert small_groups(plain, np.arange(2)) is None
    sexes = small_groups(table_of(patient_id=["a", "b", "c"], sex=["F", "F", "M"]), np.arange(3))
    assert (sexes.by, sexes.k, sexes.alone, sexes.diversity) == (("sex",), 1, 1, None)
    findings = table_of(["x"], patient_id=["a", "b"], x=[1.0, 1.0])
    assert small_groups(findings, np.arange(2)).told == 2
    rows = small_groups(table_of(patient_id=["a", "b", "c"], sex=["F", "F", "M"]), np.array([0, 1]))
    assert (rows.k, rows.alone) == (2, 0)
