"""Results that wait in the release itself are bounded in bytes, not only in number."""

import threading
from unittest.mock import Mock

import pytest
from release_specimens import InProcess

from anonymize.release.workers.worker_pool import Limits


@pytest.mark.parametrize(("weight", "most"), [(10, 35), (100, 35), (1, 35)])
def test_what_waits_is_no_heavier_than_it_may_be(weight, most):
    begun, seen, lock = 0, [], threading.Lock()

    def call():
        nonlocal begun
        with lock:
            begun += 1
        return weight

    with InProcess(4, Limits()) as pool:
        results = pool.in_order([call] * 60, window=12, weight=lambda result: result, most=most)
        for taken, result in enumerate(results, 1):
            assert result == weight
            seen.append(begun - taken)
    assert len(seen) == 60
    # One more is submitted before its weight is known; the first ones wait for nothing.
    assert max(seen[1:]) <= max(min(12, most // weight + 1), 1)


def test_a_failure_is_raised_at_its_place():
    with InProcess(2, Limits()) as pool:
        fails = Mock(side_effect=LookupError)
        results = pool.in_order([lambda: 1, fails, lambda: 3], window=3, weight=int, most=99)
        assert next(results) == 1
        with pytest.raises(LookupError):
            next(results)
