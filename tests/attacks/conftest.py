"""What the evaluations of several tests share: small networks, and a few phantoms drawn once."""

import pytest
from pictures import saving

TINY = {
    "data": {"size": 64, "patients": 60, "images": 180, "pairs": 60, "workers": 1},
    "generator": {"features": 2, "mu": 0.01},
    "classifier": {"architecture": "compact", "width": 4, "epochs": 2, "rate": 1e-3},
    "verifier": {
        **{"architecture": "compact", "width": 4, "epochs": 2, "features": 8, "rate": 1e-3},
        "objective": "batch",
    },
    "reconstruction": {"epochs": 1, "rate": 1e-3},
    "adversarial": {"epochs": 1, "rate": 1e-3},
    "evaluation": {
        "repeats": 2,
        "resamplings": 50,
        "utility_repeats": 1,
        "histogram_metric": {"cells": [4, 6], "components": [10, 20], "copies": 1},
    },
    "threads": 1,
}


@pytest.fixture(scope="session")
def tiny():
    """Options of a tiny run; the images are drawn once, for all tests."""
    return TINY


@pytest.fixture
def drawn(tmp_path):
    """Draws with one of the functions and gives back the figure instead of a file."""

    def draw(function, *arguments, **options):
        kept = []
        with saving(lambda figure, path: kept.append(figure)):
            function(*arguments, tmp_path / "picture.png", **options)
        return kept[0]

    return draw
