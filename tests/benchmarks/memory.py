"""How much memory processes took at most, as Linux says it of each (VmHWM of /proc).

``getrusage`` does not tell: a process begins there with the size of the one that started it.
Nothing is imported here that would be measured with it.
"""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

EVERY = 0.05  # seconds between two looks at what children take


def peak(pid: int | str = "self") -> int:
    """KiB that a process took at most. Raises OSError or IndexError: it is gone."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])


def together() -> int:
    """KiB: what this process and all that are below it now took at most each, in a sum; pages that
    several share are counted in each."""
    return sum(_peaks(os.getpid()))


def children(pid: int) -> list[int]:
    """What a process has started and is still there. Raises OSError: it is gone itself."""
    threads = [*Path(f"/proc/{pid}/task").iterdir()]
    return [int(n) for thread in threads for n in (thread / "children").read_text().split()]


def _peaks(pid: int) -> Iterator[int]:
    try:
        yield peak(pid)
        below = children(pid)
    except (OSError, IndexError):  # it ended meanwhile
        return
    for child in below:
        yield from _peaks(child)


def largest(work: Callable[[], object]) -> float:
    """MiB: the largest that :func:`together` came to while ``work`` was done, by looks now and
    then."""
    found, ended = [together()], threading.Event()

    def look() -> None:
        while not ended.wait(EVERY):
            found.append(together())

    looking = threading.Thread(target=look, name="memory", daemon=True)
    looking.start()
    try:
        work()
    finally:
        ended.set()
        looking.join()
    return max(*found, together()) / 1024
