"""Memory that networks on a CPU are computed in, asked of the kernel once and not at every step."""

import ctypes

# malloc.h: the end of the heap that is given back, what is asked for beyond need, and how many
# blocks may be mappings of their own, whose every page the kernel clears when it is touched.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
MOST, AHEAD = 2**31 - 1, 64 << 20  # bytes


def keep() -> None:
    """What this process frees from now on stays with it, to be used again; numbers do not change.

    A step frees and asks for the same hundreds of megabytes again, and a tenth to a fifth of its
    time went into clearing them. Does nothing where the C library is not glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, MOST), (M_TOP_PAD, AHEAD)):
        mallopt(parameter, value)
