"""Waiting for what other threads and processes do."""

import time

PATIENCE = 60.0  # seconds; a busy machine takes longer than any test needs


def until(true, patience=PATIENCE):
    """Waits until ``true()``; gives it."""
    end = time.monotonic() + patience
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found
