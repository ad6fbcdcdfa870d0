"""No patient in two parts, whatever the order of the rows."""

import numpy as np
import pandas as pd
import pytest
from tables import table

from anonymize.data.sources.registry import read
from anonymize.data.splits import assign
from anonymize.data.table import PARTS
from anonymize.errors import DataError
from anonymize.options import DataOptions


def patients_of(split, part):
    return set(split.frame.loc[split.part(part), "patient_id"])


@pytest.fixture(scope="module")
def visits():
    return np.random.default_rng(0).integers(0, 400, 3000)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_every_patient_in_one_part_of_the_asked_size(visits, seed):
    split = assign(table(visits), seed=seed)
    groups = [patients_of(split, part) for part in PARTS]
    total = len(np.unique(visits))
    assert sum(map(len, groups)) == len(set.union(*groups)) == total
    for group, share in zip(groups, (0.7, 0.1, 0.2), strict=True):
        assert abs(len(group) - share * total) <= 1


def test_order_of_rows_does_not_matter(visits):
    split = assign(table(visits), seed=3)
    shuffled = np.random.default_rng(1).permutation(visits)
    other = assign(table(shuffled), seed=3)
    for part in PARTS:
        assert patients_of(split, part) == patients_of(other, part)


def test_a_patient_more_moves_few(visits):
    parts = {}
    for people in (visits, np.append(visits, 401)):
        split = assign(table(people), seed=3)
        for part in PARTS:
            for who in patients_of(split, part):
                parts.setdefault(who, []).append(part)
    assert sum(len(set(p)) > 1 for p in parts.values()) <= 2


def test_seeds_differ_and_repeat(visits):
    def test_part(seed):
        return patients_of(assign(table(visits), seed=seed), "test")

    assert test_part(0) == test_part(0)
    assert test_part(0) != test_part(1)


def test_official_test_part_stays(visits):
    parts = np.where(visits % 5 == 0, "test", "train")
    split = assign(table(visits, part=parts), seed=0)
    assert (split.frame["part"].eq("test") == (visits % 5 == 0)).all()
    trained, validated = (len(patients_of(split, p)) for p in ("train", "validation"))
    assert abs(validated - (trained + validated) / 8) <= 1
    assert not patients_of(split, "train") & patients_of(split, "validation")


def test_assigned_table_stays(visits):
    split = assign(table(visits), seed=0)
    pd.testing.assert_frame_equal(assign(split, seed=1).frame, split.frame)


@pytest.mark.parametrize(
    ("patients", "parts", "options", "message"),
    [
        ([1, 1, 2], "", {}, "would be empty with 2 patient"),
        ([1, 2, 3], ["train", "train", "test"], {}, "part validation would be empty"),
        ([1, 1, 2], ["train", "test", "test"], {}, "have 1 patient in several parts"),
        ([1, 2, 2, 3], ["train", "test", "validation", "test"], {}, "several parts"),
        ([1, 2, 3], ["train", "", "test"], {}, "leave out 1 of 3"),
        (range(9), "", {"fractions": (0.7, 0.1, 0.1)}, "sum to 1"),
        (range(9), "", {"fractions": (0.9, 0.1, 0.0)}, "positive shares"),
    ],
)
def test_mistakes(patients, parts, options, message):
    with pytest.raises(DataError, match=message):
        assign(table(patients, part=parts), seed=0, **options)


def test_ten_patients_are_enough():
    split = assign(table(range(10)), seed=0)
    assert [len(split.part(p)) for p in PARTS] == [7, 1, 2]


def test_real_official_lists(shared):
    root = shared / "data/chestxray14_64px"
    split = assign(read(DataOptions(source="chestxray14", root=root)), seed=0)
    listed = (root / "test_list.txt").read_text().split()
    assert set(split.frame.loc[split.part("test"), "image_id"]) == set(listed)
    assert [len(patients_of(split, p)) for p in PARTS] == [164, 23, 11]


def test_numbers_of_healthy_children_stay_together(shared):
    root = shared / "data/pediatric_pneumonia_224px"
    split = assign(read(DataOptions(source="pediatric-pneumonia", root=root)), seed=0)
    number = split.frame["image_id"].str.extract(r"IM-(\d+)")[0]
    assert split.frame["part"].groupby(number).nunique().max() == 1
