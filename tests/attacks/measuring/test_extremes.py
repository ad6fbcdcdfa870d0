"""Best and worst pairs: chosen as sorting every pair would choose them."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from attacks.measuring.extremes import Extreme, extreme_pairs, first_guesses
from attacks.measuring.metrics import Owners, genuine_pairs, impostor_pairs
from attacks.reporting.pictures.pair_words import in_words


@pytest.fixture
def matrix():
    own = Owners(np.arange(60) + 7, np.repeat(np.arange(20), 3), np.ones(60, bool))
    return np.random.default_rng(0).normal(size=(60, 60)).astype("f4"), own


def slowly(scores, own, kind, most):
    """Every pair sorted, then walked through."""
    allowed = impostor_pairs(own, own) if kind == "mistaken" else genuine_pairs(own, own)
    pairs = sorted(np.argwhere(allowed).tolist(), key=lambda p: scores[p[0], p[1]])
    found, shown = [], set()
    for i, j in pairs if kind == "missed" else pairs[::-1]:
        patients = {own.patient[i], own.patient[j]}
        if not patients & shown and len(found) < most:
            shown |= patients
            found.append((int(own.image[i]), int(own.image[j])))
    return found


def test_misses_and_hits_are_the_most_extreme_pairs(matrix):
    scores, own = matrix
    found = extreme_pairs(scores, own, own, most=5)
    for kind in ("found", "missed"):
        chosen = [(p.probe, p.gallery) for p in found if p.kind == kind]
        assert chosen == slowly(scores, own, kind, 5)


def test_the_worst_error_is_the_impostor_pair_with_the_highest_score(matrix):
    scores, own = matrix
    errors = [p for p in extreme_pairs(scores, own, own) if p.kind == "mistaken"]
    assert (errors[0].probe, errors[0].gallery) == slowly(scores, own, "mistaken", 1)[0]
    patients = [own.patient[n - 7] for p in errors for n in (p.probe, p.gallery)]
    assert len(set(patients)) == 2 * len(errors) == 8


def test_how_many_impostors_score_as_high(matrix):
    scores, own = matrix
    impostors = scores[impostor_pairs(own, own)]
    for pair in extreme_pairs(scores, own, own):
        value = scores[pair.probe - 7, pair.gallery - 7]
        assert pair.ahead == pytest.approx((impostors >= value).mean())
        assert Extreme(**json.loads(json.dumps(asdict(pair)))) == pair  # as notes keep it


def test_patients_with_one_image_have_no_genuine_pair(matrix):
    scores, own = matrix
    alone = Owners(own.image, np.arange(60), own.identified)
    assert {p.kind for p in extreme_pairs(scores, alone, alone)} == {"mistaken"}


def test_shares_in_words():
    assert in_words(0.0) == "no stranger scores as high"
    assert in_words(0.00002) == "0.002 % of strangers score as high"
    assert in_words(0.0234) == "2.3 % of strangers score as high"
    assert in_words(0.4) == "40 % of strangers score as high"


def test_guesses_are_those_of_sorting_by_hand(matrix):
    scores, own = matrix
    found = first_guesses(scores, own, own, np.array([7, 30, 999]), most=4)
    assert [guess.probe for guess in found] == [7, 30]
    for guess in found:
        row = guess.probe - 7
        others = [j for j in sorted(range(60), key=lambda j: -scores[row, j]) if j != row]
        assert list(guess.gallery) == [j + 7 for j in others[:4]]
        right = [own.patient[j] == own.patient[row] for j in others]
        assert list(guess.right) == right[:4]
        assert guess.rank == right.index(True) + 1
        assert guess.among == 59


def test_who_has_one_image_is_no_guess():
    own = Owners(np.arange(4), np.array([0, 0, 1, 2]), np.ones(4, bool))
    scores = np.random.default_rng(0).normal(size=(4, 4))
    assert [g.probe for g in first_guesses(scores, own, own, np.arange(4))] == [0, 1]
