"""The pictures of releases of sets say what could not be read, and hide no mark."""

import frontier_panels
import numpy as np
import pytest
from frontier import OTHERS, frontier, others
from frontier_panels import Mark
from matplotlib.figure import Figure
from reproduced import results

from attacks.results import REAL


@pytest.fixture
def drawn(monkeypatch):
    """What would be drawn: panels and key."""
    kept = []
    monkeypatch.setattr("frontier.draw", lambda _, panels, key, **__: kept.append((panels, key)))
    return kept


def test_what_teaches_too_little_to_be_read_is_hollow(drawn, tmp_path):
    others(tmp_path / "others.png")
    ((panels, _),) = drawn
    told, unseen, *unreadable = panels
    assert len(panels) == len(OTHERS) + 1
    assert not any(mark.hollow for mark in (*told.marks, *unseen.marks))
    assert all(mark.hollow for panel in unreadable for mark in panel.marks)
    assert all(panel.title.endswith("utility unreadable") for panel in unreadable)


def test_every_release_has_a_mark_or_the_key_says_why_not(drawn, tmp_path):
    others(tmp_path / "others.png")
    ((panels, key),) = drawn
    marked = {mark.number for panel in panels for mark in panel.marks}
    named = [text for column in key for text, _ in column[1:]]
    unlike = {n for n, text in enumerate(named, 1) if text.endswith("(no impostor is alike)")}
    released = [m for data in OTHERS for m in results(data).methods if m.name != REAL]
    assert len(named) == len(released)
    assert marked | unlike == {*range(1, len(released) + 1)}
    assert not marked & unlike


def test_one_training_is_hollow_and_smaller_images_are_square(drawn, tmp_path):
    frontier(tmp_path / "frontier.png")
    (((small, large), key),) = drawn
    names = [text for column in key for text, _ in column]
    assert any(mark.hollow for mark in large.marks)
    assert all(mark.square == names[mark.number - 1].endswith("64 px") for mark in small.marks)


def test_no_mark_lies_on_another():
    axes = Figure(figsize=(5, 5)).subplots()
    places = [(0.5, 0.5)] * 4 + [(0.52, 0.5), (0.9, 0.1)]
    marks = [Mark(n, "mosaic", place, (0.4, 0.6), (0, 1)) for n, place in enumerate(places)]
    moved = frontier_panels._offsets(axes, marks)
    points = axes.transData.transform(places) * 72 / axes.figure.dpi + moved
    apart = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    assert apart[~np.eye(len(marks), dtype=bool)].min() > 0.95 * frontier_panels.APART
    assert np.abs(moved[-1]).max() < 0.1  # where it is measured
