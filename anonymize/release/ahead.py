"""Results in order of work that is done ahead of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

Progress = Callable[[int, int], None]


def ahead(submissions: Iterable[Callable[[], Future]], *, window: int) -> Iterator[Any]:
    """Results in order, while at most ``window`` further ones are under way."""
    pending: deque[Future] = deque()
    for submit in submissions:
        pending.append(submit())
        if len(pending) > window:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
