"""The pictures: what they show, that titles stay apart, and that files repeat byte for byte."""

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.text import Annotation
from PIL import Image
from test_results import made_up, method

from attacks import examples, figures
from attacks.results import Method


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws with one of the functions and gives back the figure instead of a file."""

    def draw(function, *arguments, **options):
        kept = []
        for module in (figures, examples):
            monkeypatch.setattr(module, "save", lambda figure, path: kept.append(figure))
        function(*arguments, tmp_path / "picture.png", **options)
        return kept[0]

    return draw


def titles_of(figure):
    return [t for t in figure.axes[0].texts if isinstance(t, Annotation)]


def test_every_method_is_named_once(drawn):
    figure = drawn(figures.tradeoff, made_up())
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
    figure = drawn(figures.tradeoff, results)
    figure.draw_without_rendering()
    # The box of the letters alone: that of an annotation would include its place of reference.
    boxes = [
        mpl.text.Text.get_window_extent(t, figure.canvas.get_renderer()) for t in titles_of(figure)
    ]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert figure.bbox.contains(*box.min)
        assert figure.bbox.contains(*box.max)


def test_marks_stand_at_the_figures(drawn):
    axes = drawn(figures.tradeoff, made_up()).axes[0]
    at = {(round(c[0].get_xdata()[0], 3), round(c[0].get_ydata()[0], 3)) for c in axes.containers}
    assert {(0.771, 0.695), (0.771, 0.804), (0.904, 0.846)} <= at


def test_methods_without_utility_or_attackers_are_left_out(drawn):
    results = made_up(methods=(*made_up().methods[:2], Method(name="dp-pix")))
    assert len(titles_of(drawn(figures.tradeoff, results))) == 2


def test_without_any_point_the_picture_is_still_drawn(tmp_path):
    figures.tradeoff(made_up(methods=(Method(name="dp-pix"),)), tmp_path / "t.png")
    assert Image.open(tmp_path / "t.png").size[0] > 800


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_results_give_the_same_file(tmp_path, suffix):
    for name in ("a", "b"):
        figures.tradeoff(made_up(), tmp_path / f"{name}.{suffix}")
    first = (tmp_path / f"a.{suffix}").read_bytes()
    assert first == (tmp_path / f"b.{suffix}").read_bytes()
    assert b"<dc:date>" not in first


@pytest.fixture
def pictures():
    real = torch.rand(2, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    return {"real images": real, "warp μ=0.1": real.roll(1, -1), "dp-pix": real * 0.5}


def shown(figure):
    """Array of each picture by row and column; None where there is none."""
    grid = [a for a in figure.axes if a.get_subplotspec() is not None]
    rows = grid[0].get_subplotspec().get_gridspec().nrows
    arrays = [np.asarray(a.images[0].get_array()) if a.images else None for a in grid]
    columns = len(arrays) // rows
    return [arrays[i * columns : (i + 1) * columns] for i in range(rows)]


def test_examples_show_images_changes_and_displacements(drawn, pictures):
    displacement = torch.zeros(2, 2, 32, 32)
    displacement[:, 0], displacement[:, 1] = 3, 4
    figure = drawn(examples.examples, pictures, displacements={"warp μ=0.1": displacement})
    grid = shown(figure)
    assert (len(grid), len(grid[0])) == (6, 3)
    for n, title in ((n, t) for n in range(2) for t in range(3)):
        expected = list(pictures.values())[title][n, 0].numpy()
        np.testing.assert_array_equal(grid[3 * n][title], expected)
    np.testing.assert_allclose(grid[1][2], -0.5 * pictures["real images"][0, 0].numpy())
    assert (grid[2][1] == 5).all()
    assert grid[2][2] is None
    assert [a.get_title() for a in figure.axes[:3]] == ["real images", "warp\nμ=0.1", "dp-pix"]


def test_arrows_point_where_the_displacement_does(drawn, pictures):
    """x to the right and y downwards, on axes whose y runs downwards."""
    displacement = torch.zeros(2, 2, 32, 32)
    displacement[:, 0], displacement[:, 1] = 2, 1
    figure = drawn(examples.examples, pictures, displacements={"warp μ=0.1": displacement})
    axes = next(a for a in figure.axes if any(type(c).__name__ == "Quiver" for c in a.collections))
    quiver = next(c for c in axes.collections if type(c).__name__ == "Quiver")
    assert axes.yaxis_inverted()
    assert quiver.angles == "xy"
    assert (set(quiver.U), set(quiver.V)) == ({2}, {1})


def test_examples_without_displacement_take_two_rows_an_image(drawn, pictures):
    assert len(shown(drawn(examples.examples, pictures))) == 4


def test_images_that_do_not_change_can_be_shown(tmp_path):
    same = torch.full((1, 1, 16, 16), 0.5)
    examples.examples({"real images": same, "identity": same}, tmp_path / "e.png")
    assert (tmp_path / "e.png").stat().st_size > 0


def test_the_style_of_the_caller_is_left_alone(tmp_path):
    before = dict(mpl.rcParams)
    figures.tradeoff(made_up(), tmp_path / "t.png")
    assert dict(mpl.rcParams) == before
