"""What a hostile file could make a decoder do; workers import these."""

import os
import signal
import time
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


def shout():
    os.write(1, b"Jane Doe")
    os.write(2, b"Jane Doe")
    print("Jane Doe", flush=True)


def nothing():
    return os.getpid()


def recurse(depth=0):
    return recurse(depth + 1)


def decode(name, data, *rest):
    """As the real one, but files called after a function above do what it does."""
    if (found := globals().get(name.partition(".")[0])) is not None:
        found()
    return real.decode(name, data, *rest)


def inspect(name, data):
    devour()
