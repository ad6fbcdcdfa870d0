"""The fast part of the hostile corpus; tests/benchmarks/reliability_hostile.py runs the whole."""

import corpus
import pytest

CASES = corpus.cases()
FAST = [case for case in CASES if case.fast]


@pytest.mark.parametrize("group", sorted({case.group for case in FAST}))
def test_nothing_gets_out(group, tmp_path):
    """Each case is run, whatever became of those before it; all that leaks is named."""
    lost = []
    for number, case in enumerate(case for case in FAST if case.group == group):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            leaked = case.leak(folder)
        except Exception as error:
            leaked = error
        if leaked is not None:
            lost.append(f"{case.name!r}: {leaked!r}")  # names of any bytes can be printed so
    assert not lost, "\n".join(lost)


def test_titles_are_different():
    assert len({case.title for case in CASES}) == len(CASES)
