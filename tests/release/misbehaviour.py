"""What a hostile file could make a decoder do; workers import these."""

import ctypes
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from anonymize.release import decode as real


def spin():
    while True:
        pass


def hang():
    time.sleep(600)


def hang_deaf():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    hang()


def devour():
    return len(bytearray(8 << 30))


def answer_too_much():
    return [i.to_bytes(8, "big") * 1000 for i in range(100_000)]


def overflow():
    os.kill(os.getpid(), signal.SIGSEGV)


def leave():
    os._exit(5)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def write(folder):
    Path(folder, "dropped").write_bytes(b"Jane Doe")


def forbidden(folder):
    """What of this a worker could do."""
    existing = Path(folder, "there")
    attempts = {
        "append": lambda: existing.open("ab"),
        "change": lambda: existing.chmod(0o777),
        "connect": socket.socket,
        "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "fork": os.fork,
        "make": lambda: Path(folder, "made").mkdir(),
        "move": lambda: existing.rename(Path(folder, "moved")),
        "remove": existing.unlink,
        "run": lambda: subprocess.run(["true"]),
        "signal": lambda: os.kill(os.getppid(), 0),
        "touch": lambda: os.utime(existing),
    }
    libc = ctypes.CDLL(None, use_errno=True)

    def asked(function, *arguments):
        """Raises the error of a function of the C library."""
        if function(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "")

    private, make = 0, os.O_CREAT | 0o600  # a System V key of its own
    attempts |= {
        "memory": lambda: asked(libc.shmget, private, 4096, 0o1600),
        "messages": lambda: asked(libc.msgget, private, 0o1600),
        "semaphore": lambda: asked(libc.semget, private, 1, 0o1600),
        "queue": lambda: asked(libc.mq_open, b"/there", make, 0o600, None),
        "name": lambda: socket.sethostname(socket.gethostname()),
        "clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
        "root": lambda: os.chroot("/"),
    }
    done = []
    for name, attempt in attempts.items():
        with suppress(PermissionError):
            attempt()
            done.append(name)
    return done


def lie(size):
    """An answer of ``size`` bytes that is no JSON, as an intruder might send it."""
    channel = next(
        fd
        for fd in range(3, 64)
        if Path(f"/proc/self/fd/{fd}").exists() and stat.S_ISSOCK(os.fstat(fd).st_mode)
    )
    os.write(channel, struct.pack("<2Q", 1, size) + b"*" * 20)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def shout():
    os.write(1, b"Jane Doe")
    os.write(2, b"Jane Doe")
    print("Jane Doe", flush=True)


def imported(name):
    return name in sys.modules


def nothing():
    return os.getpid()


def recurse(depth=0):
    return recurse(depth + 1)


def decode(name, data, *rest):
    """As the real one, but files called after a function above do what it does."""
    if (found := globals().get(name.partition(".")[0])) is not None:
        found()
    return real.decode(name, data, *rest)


def inspect(name, data, uniform, looked):
    devour()
