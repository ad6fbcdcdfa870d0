"""The fast part of the hostile corpus; tests/benchmarks/reliability_hostile.py runs the whole."""

import corpus
import pytest

CASES = corpus.cases()


@pytest.mark.parametrize("case", [c for c in CASES if c.fast], ids=lambda case: case.title)
def test_nothing_gets_out(case, tmp_path):
    assert case.leak(tmp_path) is None


def test_titles_are_different():
    assert len({case.title for case in CASES}) == len(CASES)
