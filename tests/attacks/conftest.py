"""What the evaluations of several tests share: small networks, and a few phantoms drawn once."""

import pytest

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
def saving(monkeypatch):
    """Puts a function in the place of that which writes a figure to a path."""
    # All are here before one is changed: who came later would keep the change.
    from attacks.reporting import examples, figures, tradeoff

    def instead(save):
        for module in (examples, figures, tradeoff):
            monkeypatch.setattr(module, "save", save)

    return instead


@pytest.fixture
def drawn(saving, tmp_path):
    """Draws with one of the functions and gives back the figure instead of a file."""

    def draw(function, *arguments, **options):
        kept = []
        saving(lambda figure, path: kept.append(figure))
        function(*arguments, tmp_path / "picture.png", **options)
        return kept[0]

    return draw


@pytest.fixture
def undrawn(saving):
    """Empty files in the place of pictures, which take longer than the rest."""
    saving(lambda figure, path: path.write_bytes(b""))
