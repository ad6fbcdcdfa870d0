"""Pictures of released images: what stands where, for 2 to 20 methods."""

import numpy as np
import pytest
import torch
from PIL import Image

from attacks.reporting.pictures import examples
from attacks.reporting.pictures.sheet import MAX_COLUMNS, examples_shown, sheet


def many(number, images=3, size=32):
    """The real images and ``number`` − 1 methods that darken them."""
    real = torch.rand(images, 1, size, size, generator=torch.Generator().manual_seed(0))
    return {"real images": real} | {f"dp-pix b={b}": real * b / 20 for b in range(1, number)}


@pytest.fixture
def pictures():
    real = torch.rand(3, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    return {"real images": real, "dp-pix": real * 0.5, "warp μ=0.1": real.roll(1, -1)}


@pytest.fixture
def displacement():
    field = torch.zeros(3, 2, 32, 32)
    field[:, 0], field[:, 1] = 3, 4
    return {"warp μ=0.1": field}


def columns(figure):
    """Title and arrays from top to bottom of every column, by the place of the axes."""
    found = {}
    for axes in figure.axes:
        box = axes.get_position()
        found.setdefault(round(box.x0, 4), []).append((-box.y0, axes))
    return [
        (cells[0].get_title(), [np.asarray(c.images[0].get_array()) if c.images else None
                                for c in cells])
        for cells in ([axes for _, axes in sorted(found[x], key=lambda c: c[0])]
                      for x in sorted(found))
    ]  # fmt: skip


def test_images_changes_and_displacements_below_each_other(drawn, pictures, displacement):
    shown = columns(drawn(examples.examples, pictures, displacements=displacement))
    # Three methods: three example images beside each other, deforming methods first.
    titles = ["real images", "warp\nμ=0.1", "dp-pix"]
    assert [title for title, _ in shown if title] == titles * 3
    for place, (title, cells) in enumerate(c for c in shown if c[0]):
        name, n = title.replace("\n", " "), place // 3
        np.testing.assert_array_equal(cells[0], pictures[name][n, 0])
        if name != "real images":
            changed = pictures[name][n, 0] - pictures["real images"][n, 0]
            np.testing.assert_allclose(cells[1], changed)
        if name == "warp μ=0.1":
            assert (cells[2] == 5).all()
        else:
            assert cells[2] is None


def test_arrows_point_where_the_displacement_does(drawn, pictures, displacement):
    """x to the right and y downwards, on axes whose y runs downwards."""
    figure = drawn(examples.examples, pictures, displacements=displacement)
    axes = next(a for a in figure.axes if any(type(c).__name__ == "Quiver" for c in a.collections))
    quiver = next(c for c in axes.collections if type(c).__name__ == "Quiver")
    assert axes.yaxis_inverted()
    assert quiver.angles == "xy"
    assert (set(quiver.U), set(quiver.V)) == ({3}, {4})


def test_crops_enlarge_the_square_that_is_marked(drawn, pictures):
    shown = columns(drawn(examples.crops, pictures))
    assert shown
    for place, (title, (whole, part)) in enumerate(shown):
        image = pictures[title.replace("\n", " ")][place // 3, 0].numpy()
        top, left, side = (round(v * 32) for v in examples.CROP)
        np.testing.assert_array_equal(whole, image)
        np.testing.assert_array_equal(part, image[top : top + side, left : left + side])


def test_difference_maps_have_a_scale_each(drawn):
    figure = drawn(examples.differences, many(3))
    ends = {axes.get_title(): axes.images[0].get_clim()[1] for axes in figure.axes}
    assert set(ends) == {"dp-pix\nb=1", "dp-pix\nb=2"}
    assert ends["dp-pix\nb=1"] > ends["dp-pix\nb=2"]


@pytest.mark.parametrize("methods", [2, 4, 5, 7, 9, 10, 20])
def test_a_page_has_a_good_shape_for_any_number_of_methods(methods):
    titles = [f"method {i}" for i in range(methods)]
    number = examples_shown(methods, 3)
    with sheet((), titles, number, lambda line: 3) as (figure, made):
        width, height = figure.get_size_inches()
    assert 0.7 < width / height < 3.2
    assert width <= 1.9 * MAX_COLUMNS
    assert [column.title for column in made] == titles * number
    boxes = [axes.get_position() for column in made for axes in column.axes]
    assert all(0 <= b.x0 < b.x1 <= 1 and 0 <= b.y0 < b.y1 <= 1 for b in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_images_that_do_not_change_can_be_shown(tmp_path):
    same = torch.full((1, 1, 16, 16), 0.5)
    pictures = {"real images": same, "identity": same}
    for draw in (examples.examples, examples.crops, examples.differences):
        draw(pictures, tmp_path / "e.png")
        with Image.open(tmp_path / "e.png") as picture:
            assert min(picture.size) > 200


@pytest.mark.parametrize("draw", [examples.examples, examples.crops, examples.differences])
def test_an_image_that_was_withheld_says_so(drawn, pictures, draw):
    pictures["dp-pix"][0] = torch.nan
    texts = [text.get_text() for axes in drawn(draw, pictures).axes for text in axes.texts]
    assert texts.count("withheld") == 1


def test_the_same_images_give_the_same_file(tmp_path):
    for name in ("a.png", "b.png"):
        examples.examples(many(12), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
