"""What networks are computed in is not asked of the kernel again and again."""

import platform
import subprocess
import sys

import pytest

PAGES = """
import resource
from anonymize import allocation

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for step in range(4):
        blocks = [bytearray(16 << 20) for _ in range(6)]  # more than glibc keeps by itself
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults())
allocation.keep()
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_step_takes_its_memory_from_the_one_before():
    done = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, check=True, text=True)
    plain, kept = map(int, done.stdout.split())
    assert kept < 100 < plain
