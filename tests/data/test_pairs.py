"""Genuine and impostor pairs, against their definition in two loops."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import table

from anonymize.data.pairs import balanced, draw_pairs, genuine, read_list
from anonymize.data.sources.registry import read
from anonymize.errors import DataError
from anonymize.options import DataOptions


def listed(pairs):
    return [frozenset(p) for p in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]


def by_definition(t, rows, same):
    who, known = t.frame["patient_id"], t.frame["identified"]
    return {
        frozenset((i, j))
        for i, j in combinations(sorted(set(rows)), 2)
        if known[i] and known[j] and (who[i] == who[j]) == same
    }


@settings(max_examples=60)
@given(
    people=st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=25),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_pairs_are_those_of_the_definition(people, seed, data):
    t = table([p for p, _ in people], identified=[k for _, k in people])
    rows = [i for i in range(len(t)) if data.draw(st.booleans())]
    pairs = genuine(t, np.array(rows, int))
    assert pairs.same.all()
    assert (pairs.first < pairs.second).all()
    assert len(listed(pairs)) == len(set(listed(pairs)))
    positive, negative = (by_definition(t, rows, same) for same in (True, False))
    assert set(listed(pairs)) == positive
    if positive and len(negative) >= len(positive):
        both = balanced(t, np.array(rows), seed=seed)
        chosen = np.array(listed(both))
        assert set(chosen[both.same]) == positive
        assert set(chosen[~both.same]) <= negative
        assert len(set(chosen)) == len(both) == 2 * len(positive)
    else:
        with pytest.raises(DataError, match=r"several images|impostor pairs were asked"):
            balanced(t, np.array(rows, int), seed=seed)


@pytest.fixture(scope="module")
def large():
    return table(np.random.default_rng(0).integers(0, 900, 3000))


def test_fixed_and_fresh_negatives(large):
    rows = large.part("all")
    one, again, fresh, other = (
        balanced(large, rows, most=most, seed=seed)
        for seed, most in ((1, 400), (1, 400), (2, 400), (1, 401))
    )
    for pairs in (one, again, fresh, other):
        assert pairs.first.dtype == pairs.second.dtype == np.int64
        assert pairs.same.dtype == bool
        assert pairs.same.sum() == 200
        assert len(set(listed(pairs))) == len(pairs) == 400
        who = large.frame["patient_id"].to_numpy()
        np.testing.assert_array_equal(who[pairs.first] == who[pairs.second], pairs.same)
    assert listed(one) == listed(again)
    assert listed(one) == listed(other)
    assert len(set(listed(one)) & set(listed(fresh))) < 40


def test_which_image_of_a_pair_is_the_first_is_a_coins_matter(large):
    rows = large.part("all")
    many, few = (balanced(large, rows, most=most, seed=1) for most in (None, 400))
    for same in (True, False):
        ascending = (many.first < many.second)[many.same == same]
        assert abs(ascending.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(ascending))
    ordered = [{*zip(p.first.tolist(), p.second.tolist(), strict=True)} for p in (many, few)]
    turned = {(b, a) for a, b in ordered[1]}
    assert not turned & ordered[0]  # whichever others are drawn with it


def test_impostors_are_uniform_over_images():
    who = np.repeat([0, 1, 2], [10, 5, 5])
    counts = np.zeros((20, 20))
    for seed in range(1500):
        pairs = draw_pairs(who, np.ones(20, bool), most=20, seed=seed)
        np.add.at(counts, (pairs.first[10:], pairs.second[10:]), 1)
    counts = (counts + counts.T)[np.triu_indices(20, 1)]
    i, j = np.triu_indices(20, 1)
    drawn = counts[who[i] != who[j]]
    assert counts[who[i] == who[j]].sum() == 0
    assert abs(drawn / drawn.mean() - 1).max() < 0.4  # expectation 120 each, five sigma 0.45


@pytest.mark.parametrize(
    ("patients", "message"),
    [
        ([1, 2, 3], "no identified patient has several images"),
        ([1, 1, 1, 1], "6 impostor pairs were asked for and there are 0"),
    ],
)
def test_mistakes(patients, message):
    t = table(patients)
    with pytest.raises(DataError, match=message):
        balanced(t, t.part("all"), seed=0)


def test_more_pairs_than_there_are_means_all():
    t = table([1, 1, 1, 2, 3])
    assert len(balanced(t, t.part("all"), most=100, seed=0)) == 6


def test_one_patient_may_have_most_images():
    t = table([0] * 1500 + [1, 2])
    pairs = balanced(t, np.arange(1490, 1502), most=40, seed=0)
    assert pairs.same.sum() == 20


def test_copes_with_a_hundred_thousand_images():
    """Memory grows with the images and the pairs that are asked for, not with all pairs there are:
    those of 100,000 images are five thousand million, 80 GB."""
    rng = np.random.default_rng(0)
    visits = np.minimum(rng.geometric(0.29, 32000), 100)
    t = table(np.repeat(np.arange(len(visits)), visits))
    tracemalloc.start()
    pairs = balanced(t, t.part("all"), seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(t) > 100_000
    assert pairs.same.sum() == (visits * (visits - 1) // 2).sum() == (~pairs.same).sum()
    assert len(pairs) > 500_000
    assert peak < 200 * (len(t) + len(pairs))


def write(path, lines):
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    return path


NAMES = ["train/p1/a.jpg", "train/p1/b.jpg", "train/p2/a.jpg", "train/p2/c.png"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("train/p1/a.jpg", "train/p1/b.jpg"),
        ("train/p1/a.jpg", "b.jpg"),
        ("train/p1/a.jpg", "b"),
        ("train/p1/a.jpg", "elsewhere\\b.png"),
    ],
)
def test_lists_match_names(tmp_path, first, second):
    t = table([1, 1, 2, 2], image_id=NAMES)
    pairs = read_list(write(tmp_path / "l.txt", [(first, second, "1.0")]), t)
    assert (pairs.first[0], pairs.second[0], pairs.same[0]) == (0, 1, True)


def test_list_keeps_its_order(tmp_path):
    t = table([1, 1, 2, 2], image_id=NAMES)
    lines = [("c.png", "b", "0.0"), ("c", "train/p2/a.jpg", "1.0"), ("b", "c", "0")]
    pairs = read_list(write(tmp_path / "l.txt", lines), t)
    assert pairs.first.tolist() == [3, 3, 1]
    assert pairs.second.tolist() == [1, 2, 3]
    assert pairs.same.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("line", "rows", "message"),
    [
        (("b", "nobody", "0.0"), None, "1 name images that are not there"),
        (("b", "a.jpg", "0.0"), None, "1 name images that are not there"),  # two have this name
        (("b", "c", "1.0"), None, "1 contradict the table's patients"),
        (("b", "train/p1/a.jpg", "0.0"), None, "1 contradict"),
        (("b", "b", "1.0"), None, "1 pair an image with itself"),
        (("b", "c", "0.0"), [0, 3], "not in this part"),
    ],
)
def test_list_that_does_not_fit(tmp_path, line, rows, message):
    t = table([1, 1, 2, 2], image_id=NAMES)
    good = ("train/p1/a.jpg", "c", "0.0")
    path = write(tmp_path / "l.txt", [good, line])
    rows = None if rows is None else np.array(rows)
    with pytest.raises(DataError, match=message):
        read_list(path, t, rows=rows)
    pairs = read_list(path, t, rows=rows, on_missing="skip")
    assert (len(pairs), pairs.skipped) == (1, 1)
    with pytest.raises(DataError, match="no pair that fits"):
        read_list(write(path, [line]), t, rows=rows, on_missing="skip")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1.0\na b 1.0\n", "line 2 is not"),
        ("a\tb\t2.0\n", "line 1 is not"),
        ("a\tb\n", "line 1 is not"),
        ("\n", "it is empty"),
        (None, "not there"),
    ],
)
def test_list_that_cannot_be_read(tmp_path, text, message):
    if text is not None:
        (tmp_path / "l.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_list(tmp_path / "l.txt", table([1, 1]))


def test_the_authors_list_agrees_with_the_data(shared):
    root = shared / "data/covid19"
    t = read(DataOptions(source="covid19", root=root))
    pairs = read_list(root / "pairs_testing_covid19.txt", t)
    assert (len(pairs), int(pairs.same.sum()), pairs.skipped) == (565, 317, 0)
    # All genuine pairs of this part of the collection are in it, and nothing twice.
    assert set(np.array(listed(pairs))[pairs.same]) == set(listed(genuine(t, t.part("all"))))


def test_lists_of_another_data_set(shared):
    t = read(DataOptions(source="chestxray14", root=shared / "data/chestxray14_64px"))
    path = shared / "protocol/image_pairs_testing_5000.txt"
    with pytest.raises(DataError, match=r"of 5000 pairs [0-9]+ name images"):
        read_list(path, t)
    pairs = read_list(path, t, on_missing="skip")
    assert len(pairs) + pairs.skipped == 5000
    who = t.frame["patient_id"].to_numpy()
    np.testing.assert_array_equal(who[pairs.first] == who[pairs.second], pairs.same)
