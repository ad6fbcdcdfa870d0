"""What a process holds in memory, pictures among it, stays out of core dumps."""

NONE = 1  # bytes: at a limit of 0 the kernel still hands one to a program that the system names for
# it (systemd-coredump, apport); at 1, and no other number, it does not (core(5), fs/coredump.c).


def forbid() -> None:
    """For this process, and those that it starts, as far as its own limit allows."""
    try:
        import resource
    except ImportError:  # no POSIX system
        return
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    allowed = NONE if most == resource.RLIM_INFINITY else min(NONE, most)
    resource.setrlimit(resource.RLIMIT_CORE, (allowed, most))
