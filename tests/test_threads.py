"""Works beside each other: as many as torch has threads, each in one, and ended together."""

import threading
import time
from concurrent.futures import CancelledError

import pytest
import torch

from anonymize.threads import at_once, one_thread


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("within", [False, True])
def test_as_many_at_a_time_as_torch_has_threads(threads, within):
    meet, seen = threading.Barrier(threads), []

    def work(go_on):
        meet.wait(timeout=20)  # nobody goes on before so many are here
        seen.append(torch.get_num_threads())
        return len(seen) > 0

    if within:
        with one_thread():
            found = at_once([work] * 3)
            assert torch.get_num_threads() == 1
    else:
        found = at_once([work] * 3)
    assert found == [True] * 3
    assert seen == [1] * 3
    assert torch.get_num_threads() == threads


def test_results_are_in_order():
    def after(seconds):
        def work(go_on):
            time.sleep(seconds)
            return seconds

        return work

    assert at_once([after(0.05), after(0.0)]) == [0.05, 0.0]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_ends_the_others(error):
    begun, ended = threading.Event(), threading.Event()

    def fails(go_on):
        begun.wait(timeout=20)
        raise error

    def lasts(go_on):
        begun.set()
        try:
            for _ in range(2000):
                go_on()
                time.sleep(0.01)
        except CancelledError:
            ended.set()
            raise

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(type(error)):
            at_once([fails, lasts])
        assert ended.is_set()
    finally:
        torch.set_num_threads(before)
