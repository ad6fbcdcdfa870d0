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


def _peaks(pid: int) -> Iterator[int]:
    try:
        yield peak(pid)
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        children = " ".join((thread / "children").read_text() for thread in threads).split()
    except (OSError, IndexError):  # it ended meanwhile
        return
    for child in children:
        yield from _peaks(int(child))


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
