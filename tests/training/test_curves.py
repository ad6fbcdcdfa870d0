"""The picture of a game: the same figures give the same file; what was not measured is left out."""

import pytest

from anonymize.training import part_figures
from anonymize.training.curves import PANELS, draw_course


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    monkeypatch.setattr(part_figures, "DPI", 30)


def history(epochs, without="nothing"):
    keys = [curve.key for panel in PANELS for curve in panel.curves if without not in curve.key]
    return [
        {"train_steps": 7} | {key: 0.1 * (n + 1) + 0.01 * e for n, key in enumerate(keys)}
        for e in range(epochs)
    ]


def drawn(path, lines, title="prichexy-net"):
    draw_course(lines, path, title=title)
    return path.read_bytes()


@pytest.mark.whole
def test_the_same_figures_give_the_same_picture(tmp_path):
    one = drawn(tmp_path / "one.png", history(4))
    assert one == drawn(tmp_path / "again.png", history(4))
    assert one != drawn(tmp_path / "other.png", history(5))


@pytest.mark.whole
def test_one_epoch_and_a_method_without_a_field_are_drawn(tmp_path):
    assert drawn(tmp_path / "one.png", history(1))
    every = history(3)
    del every[0]["observed_attacker_auc"]  # of the second epoch and the third
    assert drawn(tmp_path / "some.png", every) != drawn(tmp_path / "every.png", history(3))
    assert drawn(tmp_path / "painted.png", history(3, without="observed"))
