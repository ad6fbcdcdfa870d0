"""What the benchmarks call memory (tests/benchmarks/memory.py)."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs /proc")
MIB = 1 << 20
ROOT = Path(__file__).resolve().parents[1]
# A process that takes 200 MiB for a moment, and lets a child take 300 meanwhile.
HOLDS = """
import subprocess, sys
from tests.benchmarks import memory

def work():
    own = b"x" * (200 << 20)
    child = "import time; own = b'x' * (300 << 20); time.sleep(1)"
    subprocess.run([sys.executable, "-c", child], check=True)

print(memory.largest(work), memory.peak() / 1024)
"""
# A child as the work of a case.
CASE = """
import subprocess, sys
from tests.benchmarks.speed.case import Case, growth, peak

def hold(times):
    child = "import time; own = b'x' * (300 << 20); time.sleep(1)"
    return lambda: [subprocess.run([sys.executable, "-c", child], check=True)]

nothing = Case("nothing", "images", 1, lambda times: list)
children = Case("children", "images", 1, hold)
print(peak(nothing, False), peak(children, False), growth(children, 1)["mebibytes"])
"""


def said(program):
    """The numbers that a program prints."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return map(float, done.stdout.split())


def test_a_small_child_of_a_large_parent_is_small():
    held = np.ones(600 * MIB, np.uint8)
    assert memory.peak() / 1024 > 600
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        child = pool.submit(memory.peak).result() / 1024
    assert 5 < child < 200
    assert held[-1] == 1


def test_what_children_take_is_counted():
    together, alone = said(HOLDS)
    assert 200 < alone < 300
    assert 500 < together < 600


@pytest.mark.whole
def test_what_the_children_of_a_case_take_is_its_own():
    nothing, once, grown = said(CASE)
    assert 300 < once - nothing < 400
    assert 300 < grown - nothing < 400


def test_a_process_that_is_gone_counts_nothing():
    process = subprocess.Popen(["true"])
    process.wait()
    assert list(memory._peaks(process.pid)) == []
