"""Published pair lists decide the parts of their patients and the pairs of every part."""

import numpy as np
import pytest
from small_tables import table

from anonymize.data.dataset import Dataset
from anonymize.data.splits import assign, follow_lists
from anonymize.errors import DataError
from anonymize.options import DataOptions

PARTS = ("train", "validation", "test")


def listed(path, pairs):
    """Pairs of (image number, image number, genuine) as the published lists write them."""
    path.write_text("".join(f"{i:06}.png\t{j:06}.png\t{float(s)}\n" for i, j, s in pairs))
    return path


@pytest.fixture
def split():
    """30 patients of 4 images each: patient p has the images 4p … 4p + 3."""
    return assign(table(np.repeat(np.arange(30), 4)), seed=0)


def test_listed_patients_lie_in_the_part_of_their_list(split, tmp_path):
    before = split.frame["part"].to_numpy().copy()
    patients = {part: np.arange(3) + 3 * i for i, part in enumerate(PARTS)}
    lists = {
        part: listed(
            tmp_path / part, [(4 * a, 4 * a + 1, 1), (4 * b, 4 * c + 2, 0), (4 * b, 4 * b + 3, 1)]
        )
        for part, (a, b, c) in patients.items()
    }
    after = follow_lists(split, lists).frame["part"].to_numpy()
    for part, named in patients.items():
        assert (after[: 9 * 4].reshape(-1, 4)[named] == part).all()
    # Whom no list names stays where the split had them.
    np.testing.assert_array_equal(after[9 * 4 :], before[9 * 4 :])


def test_without_lists_nothing_moves(split):
    moved = follow_lists(split, dict.fromkeys(PARTS))
    assert moved.frame["part"].tolist() == split.frame["part"].tolist()


def test_a_patient_in_two_lists_is_refused(split, tmp_path):
    lists = {
        "train": listed(tmp_path / "a", [(0, 1, 1), (0, 4, 0)]),
        "test": listed(tmp_path / "b", [(2, 3, 1), (2, 9, 0)]),
    }
    with pytest.raises(DataError, match="the test pair list shares 1 patient with the list"):
        follow_lists(split, lists)


def test_lists_that_leave_a_part_empty_are_refused(split, tmp_path):
    everybody = listed(tmp_path / "a", [(i, i + 1, 1) for i in range(0, 120, 2)])
    with pytest.raises(DataError, match="all patients of part validation and test, which would be"):
        follow_lists(split, {"train": everybody})


def test_the_authors_lists_and_the_official_test_list_agree(shared, tmp_path):
    """No patient of their lists changes between the official test part and the others."""
    names = {
        "pair_list": "image_pairs_training_10000.txt",
        "validation_list": "image_pairs_validation_2000.txt",
        "test_list": "image_pairs_testing_5000.txt",
    }
    files = {key: shared / "protocol" / name for key, name in names.items()}
    sample = {
        "source": "chestxray14",
        "root": shared / "data" / "chestxray14_64px",
        "on_missing": "skip",
        "workers": 1,
        "cache": tmp_path,
    }
    # Of the validation list no pair lies inside the sample.
    del files["validation_list"]
    plain = Dataset.open(DataOptions(**sample))
    data = Dataset.open(DataOptions(**sample, **files))
    official = plain.table.frame["part"] == "test"
    assert ((data.table.frame["part"] == "test") == official).all()
    for part, pairs in (("train", data.training_pairs()(0)), ("test", data.fixed_pairs("test"))):
        assert len(pairs) > 0
        rows = set(data.table.part(part))
        assert rows >= {*pairs.first, *pairs.second}
        assert ((data.patients[pairs.first] == data.patients[pairs.second]) == pairs.same).all()


def test_fixed_pairs_are_as_many_as_asked(split):
    def pairs(part, **options):
        return Dataset(split, None, None, DataOptions(**options)).fixed_pairs(part)

    few = {"validation_pairs": 6, "test_pairs": 8}
    assert (len(pairs("validation", **few)), len(pairs("test", **few))) == (6, 8)
    genuine = [np.bincount(split.frame.loc[split.part(p), "patient_id"].astype(int)) for p in PARTS]
    every = [int((n * (n - 1)).sum()) for n in genuine]
    assert [len(pairs(part)) for part in PARTS] == every
