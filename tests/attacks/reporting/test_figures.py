"""Privacy against utility, ours and the paper's: what is shown, and that titles stay apart."""

import matplotlib as mpl
import numpy as np
import pytest
from changing import altered
from matplotlib.text import Annotation
from PIL import Image
from test_results import attack, estimate, first_version, made_up, matched, method

from attacks.evaluation.published import TABLE_1
from attacks.measuring.estimates import Floor
from attacks.reporting import readings
from attacks.reporting.pictures import paper_figures, tradeoff
from attacks.reporting.pictures.figures import COLOURS
from attacks.results import Method, Utility


def titles_of(figure):
    return [t for t in figure.axes[0].texts if isinstance(t, Annotation)]


def test_every_method_is_named_once(drawn):
    figure = drawn(tradeoff.tradeoff, made_up())
    assert [t.get_text() for t in titles_of(figure)] == made_up().titles()


def crowded():
    """Seven strengths of one method at almost the same place."""
    return made_up(
        methods=tuple(
            method("dp-pix", {"b": b}, 0.80 + b / 1000, 0.7, 0.8, 0.81) for b in range(1, 8)
        )
    )


@pytest.mark.parametrize("results", [made_up(), crowded()], ids=["usual", "crowded"])
def test_titles_do_not_overlap_and_stay_inside(drawn, results):
    figure = drawn(tradeoff.tradeoff, results)
    figure.draw_without_rendering()
    # The box of the letters alone: that of an annotation would include its place of reference.
    boxes = [
        mpl.text.Text.get_window_extent(t, figure.canvas.get_renderer()) for t in titles_of(figure)
    ]
    assert len(boxes) >= 3
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert figure.bbox.contains(*box.min)
        assert figure.bbox.contains(*box.max)


def marks(axes):
    return {(round(c[0].get_xdata()[0], 3), round(c[0].get_ydata()[0], 3)) for c in axes.containers}


def test_marks_stand_at_the_figures(drawn):
    at = marks(drawn(tradeoff.tradeoff, made_up()).axes[0])
    assert {(0.771, 0.695), (0.771, 0.804), (0.904, 0.846)} <= at


def test_the_headline_is_drawn_against_matched_impostors(drawn):
    results = matched(made_up())
    axes = drawn(tradeoff.tradeoff, results).axes[0]
    assert {(0.671, 0.695), (0.804, 0.846)} <= marks(axes)
    ticks = {round(float(line.get_xdata()[0]), 3) for line in axes.lines if _is_tick(line)}
    assert {0.771, 0.904} <= ticks
    assert "matched impostors: the same findings, age ± 2 years" in axes.get_title(loc="left")


def _is_tick(line):
    return line.get_marker() == "|" and len(line.get_xdata()) == 1


@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("floor", [0.5, 0.64])
def test_floors_are_lines_unless_chance_is(drawn, read, floor):
    results = matched(made_up())
    if not read:
        bare = [altered(m, utility=Utility()) for m in results.methods]
        results = altered(results, methods=tuple(bare))
    floors = (Floor(name="findings", auc=estimate(0.7), matched=estimate(floor)),)
    axes = drawn(tradeoff.tradeoff, altered(results, floors=floors)).axes[0]
    lines = {line.get_label(): line for line in axes.lines if len(line.get_xdata())}
    line = lines.get("floor: findings")
    assert (line and line.get_xdata()[0]) == (None if floor == 0.5 else floor)
    assert line is None or line.get_color() not in COLOURS  # these are of methods


@pytest.mark.parametrize("results", [made_up(), matched(made_up()), first_version(made_up())])
def test_every_picture_says_its_reading(drawn, results):
    shown = drawn(tradeoff.tradeoff, results).axes[0].get_title(loc="left")
    assert readings.NAMES[readings.headline(results)] in shown
    for axes in drawn(paper_figures.figure_2, results).axes:
        assert axes.get_title(loc="left").endswith("listed pairs")


def test_who_looks_for_no_patient_has_no_dot(drawn):
    first, *others = made_up().methods
    links = altered(attack(0.99), sees="metadata")
    beside = altered(first, privacy=first.privacy | {"metadata": links})
    axes = drawn(tradeoff.tradeoff, made_up(methods=(beside, *others))).axes[0]
    assert 0.934 < axes.get_xlim()[1] < 0.99


def test_methods_without_utility_or_attackers_are_left_out(drawn):
    results = made_up(methods=(*made_up().methods[:2], Method(name="dp-pix")))
    assert len(titles_of(drawn(tradeoff.tradeoff, results))) == 2


def test_without_any_point_the_picture_is_still_drawn(tmp_path):
    tradeoff.tradeoff(made_up(methods=(Method(name="dp-pix"),)), tmp_path / "t.png")
    assert Image.open(tmp_path / "t.png").size[0] > 800


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_results_give_the_same_file(tmp_path, suffix):
    for name in ("a", "b"):
        tradeoff.tradeoff(made_up(), tmp_path / f"{name}.{suffix}")
    first = (tmp_path / f"a.{suffix}").read_bytes()
    assert first == (tmp_path / f"b.{suffix}").read_bytes()
    assert b"<dc:date>" not in first


def test_figure_2_shows_the_papers_marks_and_ours(drawn):
    theirs, ours = map(marks, drawn(paper_figures.figure_2, made_up()).axes)
    assert theirs == {(c.verification[0], c.classification[0]) for c in TABLE_1}
    assert ours >= {(0.894, 0.846), (0.833, 0.831), (0.602, 0.575)}
    assert len(ours) == len(made_up().methods)


def test_figure_2_has_the_papers_bars(drawn):
    """Standard deviation of the runs across, interval of the classifier upwards."""
    theirs, _ = drawn(paper_figures.figure_2, made_up()).axes
    column = next(c for c in TABLE_1 if c.options.get("mu") == 0.005)
    bars = next(c for c in theirs.containers if round(c[0].get_xdata()[0], 3) == 0.643)[2]
    across, upwards = (bar.get_segments()[0] for bar in bars)
    np.testing.assert_allclose(across[:, 0], [0.643 - 0.058, 0.643 + 0.058])
    np.testing.assert_allclose(upwards[:, 1], column.classification[1])


def test_the_style_of_the_caller_is_left_alone(tmp_path):
    before = dict(mpl.rcParams)
    tradeoff.tradeoff(made_up(), tmp_path / "t.png")
    assert dict(mpl.rcParams) == before
