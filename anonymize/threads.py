"""How many threads torch computes in."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Event
from typing import TypeVar

import torch

T = TypeVar("T")
GoOn = Callable[[], None]  # raises where nobody waits for the work any more
_outside = ContextVar("_outside", default=1)  # threads that torch has outside `one_thread`


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes in one: several cost a warp thrice the work, and wait for each other where
    the workers have their cores, a network five times as long. Nor do last bits then depend on how
    many cores there are."""
    threads = torch.get_num_threads()
    outside = _outside.set(max(threads, _outside.get()))
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        _outside.reset(outside)


def at_once(works: Sequence[Callable[[GoOn], T]]) -> list[T]:
    """What each of ``works`` gives, computed in one thread each, as many at a time as torch has
    threads outside :func:`one_thread`. They must not draw from torch's own random state, which is
    one for all, and call what they are given now and then: it ends them after an error or Ctrl-C.
    """
    nobody_waits = Event()

    def go_on() -> None:
        if nobody_waits.is_set():
            raise CancelledError

    threads = max(torch.get_num_threads(), _outside.get())
    alone = partial(torch.set_num_threads, 1)
    with one_thread(), ThreadPoolExecutor(threads, initializer=alone) as own:
        futures = [own.submit(work, go_on) for work in works]
        try:
            return [future.result() for future in futures]
        finally:
            nobody_waits.set()
            own.shutdown(wait=False, cancel_futures=True)
