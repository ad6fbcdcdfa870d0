"""Words of the input in an output: found wherever Python's own search finds one."""

import numpy as np
import pytest

from anonymize.release import strings

WORDS = frozenset({b"Petersen", b"Petersilie", b"etersen", b"19450508", b"\xff\xfeA\x00B\x00C"})


def haystack(seed):
    """Bytes of which many begin a word and go on otherwise."""
    kinds = np.frombuffer(b"Petrsnil0123\xff\xfe\x00", np.uint8)
    return np.random.default_rng(seed).choice(kinds, 5000).tobytes()


@pytest.mark.parametrize("window", [64, strings.WINDOW])
@pytest.mark.parametrize("word", [None, *sorted(WORDS)])
def test_a_word_is_found_wherever_it_stands(monkeypatch, window, word):
    monkeypatch.setattr(strings, "WINDOW", window)
    for seed, at in enumerate([0, 1, 58, 59, 60, 63, 64, 65, 4000, 5000]):
        data = haystack(seed)
        data = data if word is None else data[:at] + word + data[at:]
        assert strings.found_in("PNG", data, WORDS) == any(w in data for w in WORDS)
        assert strings.found_in("PNG", data, WORDS) == (word is not None)


def test_what_is_cut_off_is_no_word():
    assert not strings.found_in("PNG", b"Peters", WORDS)
    assert not strings.found_in("PNG", b"", WORDS)
    assert strings.found_in("PNG", b"19450508", WORDS)
