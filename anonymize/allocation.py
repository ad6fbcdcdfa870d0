"""Memory that networks on a CPU are computed in, asked of the kernel once and not at every step."""

import ctypes

# malloc.h: the end of the heap that is given back, what is asked for beyond need, and from which
# size on a block is a mapping of its own, whose every page the kernel clears: the largest allowed.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
MOST, AHEAD, LARGEST = 2**31 - 1, 64 << 20, 32 << 20  # bytes


def keep() -> None:
    """What this process frees from now on stays with it, to be used again; numbers do not change.

    A step frees and asks for the same hundreds of megabytes again, and a tenth of its time went
    into clearing them. Does nothing where the C library is not glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    limits = ((M_MMAP_THRESHOLD, LARGEST), (M_TRIM_THRESHOLD, MOST), (M_TOP_PAD, AHEAD))
    for parameter, value in limits:
        mallopt(parameter, value)
