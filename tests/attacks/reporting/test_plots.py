"""The page's pictures as data: marks stand where the figures say, and say them."""

import numpy as np
import pytest
from changing import altered
from hypothesis import example, given
from hypothesis import strategies as st
from pictured import RATES, full
from test_results import estimate, made_up, matched, with_attacks

from attacks.reporting import page_plots
from attacks.reporting.pictures.plots import linear_axis, logarithmic
from attacks.reporting.pictures.roc import roc
from attacks.reporting.tables import in_words


@given(st.floats(-2, 2), st.floats(0.01, 5))
@example(-0.96875, 1.4375)
def test_ticks_are_round_inside_and_where_they_say(low, span):
    axis, place = linear_axis(low, low + span)
    assert 3 <= len(axis.ticks) <= 9
    for at, text in axis.ticks:
        assert -1e-6 <= at <= 100 + 1e-6
        assert place(float(text)) == pytest.approx(at, abs=1e-3)


def test_decades_are_equally_wide():
    place = logarithmic(1e-4, 1)
    assert [place(10.0**k) for k in range(-4, 1)] == pytest.approx([0, 25, 50, 75, 100])
    assert place(0) == 0


def value(axis, at):
    """Read off an axis, as a person does."""
    places, texts = zip(*((place, float(text)) for place, text in axis.ticks), strict=True)
    slope = (texts[-1] - texts[0]) / (places[-1] - places[0])
    return texts[0] + (at - places[0]) * slope


@pytest.mark.parametrize("results", [made_up(), matched(made_up())])
def test_marks_of_the_trade_off_can_be_read_off(results):
    plane = page_plots.tradeoff_plane(results)
    for mark in plane.marks:
        method = results.methods[mark.method]
        attack = method.privacy["verification"].headline
        read = method.utility.auc("retrained" if mark.open else "frozen")
        assert value(plane.x, mark.x) == pytest.approx(attack.auc.mean, abs=1e-3)
        assert value(plane.y, mark.y) == pytest.approx(read.mean, abs=1e-3)
        low, high = (value(plane.y, at) for at in mark.along)
        assert (low, high) == pytest.approx(read.ci95, abs=1e-3)
        assert in_words(attack.auc) in mark.tip[1]
        assert in_words(read) in mark.tip[-1]
    assert len(plane.marks) == 2 * len(results.methods)
    assert [m.title for m in plane.marks if m.title] == results.titles()


def test_curves_are_thin_where_the_data_cannot_certify_them():
    plane = page_plots.roc_plane(full())
    assert len(plane.curves) == 2 * len(full().methods)
    whole, sure = plane.curves[:2]
    assert (whole.faint, sure.faint) == (True, False)
    assert len(whole.points.split()) == len(RATES)
    certain = [rate for rate in RATES if float(rate) * 400 >= 3]
    assert len(sure.points.split()) == len(certain) < len(RATES)


def test_curves_name_the_impostors_that_they_are_against(drawn):
    first, *others = full().methods
    alone = altered(first, privacy={k: altered(a, matched=None) for k, a in first.privacy.items()})
    results = altered(full(), methods=(alone, *others))
    said = [mark.tip[1] for mark in page_plots.roc_plane(results).marks]
    assert [", all impostors:" in tip for tip in said] == [True] * 4 + [False] * (len(said) - 4)
    assert all(", matched impostors:" in tip for tip in said[4:])
    (axes,) = drawn(roc, results).axes
    assert axes.get_ylabel().startswith("true match rate, matched impostors")
    ticks = [tick.get_text() for tick in axes.get_xticklabels() if tick.get_text()]
    assert ticks == ["0.0001", "0.001", "0.01", "0.1", "1"]
    labels = [line.get_label() for line in axes.lines]
    assert sum("all impostors" in label for label in labels) == 1


def test_groups_have_a_row_and_attackers_too():
    (strip,) = page_plots.who_strips(full())
    assert (strip.title, [row.title for row in strip.rows]) == ("sex", ["female"])
    assert strip.rows[0].note == "99 pairs, 9 patients"
    assert {m.method for m in strip.rows[0].marks} == set(range(len(full().methods)))
    attackers = page_plots.attacker_strip(made_up())
    assert [row.title for row in attackers.rows] == list(made_up().attackers)


def test_marks_of_a_row_do_not_cover_each_other():
    for strip in (page_plots.attacker_strip(made_up()), *page_plots.label_strips(made_up())):
        for row in strip.rows:
            heights = [mark.y for mark in row.marks]
            assert len(set(heights)) == len(heights)
            assert all(0 < y < 100 for y in heights)


def test_what_was_not_measured_is_not_drawn():
    bare = altered(made_up(), methods=[altered(m, privacy={}) for m in made_up().methods])
    assert page_plots.tradeoff_plane(bare) is None
    assert page_plots.roc_plane(made_up()) is None
    assert page_plots.found_strips(bare) == []
    assert page_plots.who_strips(made_up()) == []
    assert page_plots.floor_strip(made_up()) is None
    assert page_plots.population_plane(made_up()) is None


def test_who_is_found_is_shown_among_images_that_are_alike_and_among_all():
    def found(attack):
        like = altered(attack.matched, r_s=0.2, estimates={"r_s": estimate(0.2)})
        like = altered(like, breakdown=altered(attack.breakdown, rate=estimate(0.3)))
        return altered(attack, r_s=0.6, estimates={"r_s": estimate(0.6)}, matched=like)

    results = full()
    results = altered(results, methods=[with_attacks(m, found) for m in results.methods])
    alike, every = page_plots.found_strips(results)
    assert [strip.title for strip in (alike, every)] == list(page_plots.AMONG.values())
    assert [strip.rows[0].marks[0].x for strip in (alike, every)] == pytest.approx([20, 60])
    (sex,) = page_plots.who_strips(results)
    marks = sex.rows[0].marks
    assert [mark.open for mark in marks] == [False] * (len(marks) // 2) + [True] * (len(marks) // 2)


def test_populations_of_a_method_have_its_number():
    plane = page_plots.population_plane(full())
    own = [mark for mark in plane.marks if mark.method == 2]
    assert len(plane.marks) == 2 * len(full().methods)
    assert [mark.y for mark in own] == pytest.approx([10, 60])
    assert own[1].along == pytest.approx((65, 55))
    assert np.diff([mark.x for mark in own]) > 50
    assert [mark.open for mark in own] == [False, True]
