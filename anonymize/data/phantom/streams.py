"""Named random streams: what is drawn for a patient depends on the seed and the patient alone."""

from functools import lru_cache
from numbers import Integral

import numpy as np

from anonymize.errors import UsageError

IDENTITY, VESSELS, COURSE, VISIT, EPISODE, SEVERITY, ACQUISITION, NOISE, COHORT = range(9)


def stream(seed: int, *key: int) -> np.random.Generator:
    """The generator of one purpose: SeedSequence((seed, *key)), key = patient, purpose, ..."""
    return np.random.default_rng(np.random.SeedSequence((seed, *key)))


def low_discrepancy(seed: int, patient: int, count: int, purpose: int) -> np.ndarray:
    """`count` uniforms of a patient, (count,) in [0, 1), evenly spread over successive patients.

    A Weyl sequence in each coordinate with a seeded offset: patient k's values do not depend on the
    size of the cohort, yet any run of patients holds close to the expected share of each value.
    """
    steps = np.sqrt(_PRIMES[:count]) % 1.0
    offsets = _offsets(seed, count, purpose)
    return (offsets + patient * steps) % 1.0


@lru_cache(maxsize=16)
def _offsets(seed: int, count: int, purpose: int) -> np.ndarray:
    return stream(seed, purpose).random(count)


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an int in [low, high]; a UsageError that names the argument otherwise."""
    rule = f"a whole number of at least {low}" if high is None else f"a whole number {low}..{high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise UsageError(f"{name} must be {rule}, not {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise UsageError(f"{name} must be {rule}, not {value}")
    return number


_PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61.0])
