"""What of a picture is a line of text, and what is put in its place."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy import ndimage
from text_specimens import gray, letters

from anonymize.release.burned_in import along, remove, strokes, views
from anonymize.release.burned_in.find import Line, like_others


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 7), (33, 64), (64, 33), (101, 99)])
def test_marks_whose_corners_touch_are_one(size):
    for share in (0, 0.1, 0.4, 0.9, 1):
        check_components(size, share)


def check_components(size, share):
    on = np.random.default_rng(0).random(size) < share
    labels, boxes = strokes.components(on)
    wanted, count = ndimage.label(on, np.ones((3, 3)))
    assert len(boxes) == count + 1
    pairs = {*zip(labels.flat, wanted.flat, strict=True)}
    assert len(pairs) == count + (not on.all())  # and the rest, where there is any
    np.testing.assert_array_equal(labels > 0, on)
    for number in range(1, count + 1):
        rows, columns = np.nonzero(labels == number)
        top, left = rows.min(), columns.min()
        sides = np.ptp(columns) + 1, np.ptp(rows) + 1
        assert boxes[number].tolist() == [left, top, *sides, len(rows)]


def test_strokes_are_found_and_edges_are_not():
    picture = np.full((300, 400), 90, np.uint8)
    picture[:, 200:] = 180
    assert not strokes.dense(strokes.strokes(picture) > views.PLAIN).any()
    drawn = letters("DOE", "sans bold", 20, 0) > 127
    picture[100 : 100 + drawn.shape[0], 60 : 60 + drawn.shape[1]][drawn] = 130
    where = strokes.dense(strokes.strokes(picture) > views.PLAIN) & strokes.turning(picture)
    [(rows, columns)] = strokes.parts(where)
    assert rows.start <= 105
    assert rows.stop >= 95 + drawn.shape[0]
    assert columns.start <= 65
    assert 55 + drawn.shape[1] <= columns.stop < 200


def test_parts_cover_all_and_leave_out_what_is_empty():
    where = np.zeros((900, 1000), bool)
    where[10:20, 10:990] = where[10:890, 10:20] = True
    where[500:, 500:] = True
    parts = list(strokes.parts(where))
    covered = np.zeros_like(where)
    for rows, columns in parts:
        assert max(rows.stop - rows.start, columns.stop - columns.start) <= 768 + 2 * strokes.MARGIN
        covered[rows, columns] = True
    assert covered[where].all()
    assert covered.mean() < 0.6


def boxed(top, left, wide=40, high=14):
    corners = [[left, top], [left + wide, top], [left + wide, top + high], [left, top + high]]
    return Line(np.array(corners, np.float32), 0.7, "S2", 0.99, 0.03)


def with_a_line():
    """A flat picture (120, 160) with a line of strokes in ``boxed(40, 38)``."""
    picture = np.full((120, 160), 100, np.uint8)
    picture[40:54, 40:80:4] = 200
    return picture


def test_marks_that_touch_a_line_go_whole_and_others_stay():
    picture = with_a_line()
    picture[33, 70:84] = picture[46, 70:84] = picture[33:47, 70] = picture[33:47, 83] = 200
    picture[90:104, 40:80:4] = 200  # another, at a distance
    where = remove.region([boxed(40, 38)], picture[..., None])
    assert where[33:47, 70:84].all()  # the frame, with what it encloses
    assert not where[88:106].any()
    assert where.mean() < 0.2


def test_a_ring_larger_than_the_letters_goes_whole():
    picture = np.full((160, 200), 60, np.uint8)
    picture[60:74, 60:100:4] = 200  # the line
    cv2.circle(picture, (85, 55), 12, 200, 2)  # reaches into it, and 1.2 heights above
    where = remove.region([boxed(60, 58)], picture[..., None])
    assert where[picture == 200].all()


@pytest.mark.parametrize("inverted", [False, True])
def test_a_letter_on_a_bone_goes_whole_with_those_on_air(inverted):
    """Of a group of letters, one has half the contrast of the line that cuts it."""
    picture = np.full((160, 200), 10, np.uint8)
    picture[70:] = 130  # the bone
    picture[42:66:4, 40:50] = 240  # a line that runs downwards
    ring = cv2.circle(np.zeros_like(picture), (50, 88), 8, 1, 3) > 0
    picture[ring] = 240
    seen = 255 - picture if inverted else picture
    where = remove.region([boxed(40, 38, wide=14, high=60)], seen[..., None])
    assert where[ring].all()


def test_bones_beside_a_line_are_no_marks_of_it():
    picture = with_a_line()
    picture[44:48] = 190  # goes on through the whole picture
    where = remove.region([boxed(40, 38)], picture[..., None])
    assert not where[:, :20].any()
    assert not where[:, 110:].any()


def test_a_side_marker_beside_a_line_keeps_all_its_pixels():
    picture = with_a_line()
    picture[40:54, 88:92] = picture[50:54, 88:100] = 200
    marker = replace(boxed(40, 87, wide=14), read="L")
    where = remove.region([boxed(40, 38)], picture[..., None], [marker])
    assert not where[40:54, 88:100].any()
    assert where[40:54, 40:80].all()


def test_what_is_filled_takes_nothing_from_a_side_marker_that_stays():
    picture = np.full((120, 160), 100, np.uint8)
    where, marks = np.zeros(picture.shape, bool), np.zeros(picture.shape, bool)
    marks[40:54, 88:100] = True
    where[38:56, 38:88] = True
    picture[marks] = 240
    filled = remove.fill(gray(picture), where, "inpaint", marks)[..., 0]
    assert (filled[where] == 100).all()
    assert (filled[marks] == 240).all()
    everywhere = remove.fill(gray(picture), where, "inpaint", ~where)[..., 0]  # nothing is left
    assert np.array_equal(everywhere, remove.fill(gray(picture), where, "inpaint")[..., 0])


def test_what_is_filled_takes_nothing_from_the_other_side_of_the_border():
    picture = np.full((200, 200), 150, np.uint8)
    picture[:, 100:] = 0  # the collimator
    picture[90:110, 60:140] = 255
    where = np.zeros(picture.shape, bool)
    where[88:112, 58:142] = True
    filled = remove.fill(gray(picture), where, "inpaint")[..., 0]
    assert set(np.unique(filled)) == {0, 150}
    assert (filled[:, :95] == 150).all()
    assert (filled[:, 105:] == 0).all()


@pytest.mark.parametrize("turn", range(4))
def test_a_line_in_a_frame_that_reaches_the_radiograph_leaves_the_frame(turn):
    """At the border of the picture no frame is above it, and the radiograph is nearest."""
    clean = np.zeros((300, 300), np.uint8)
    clean[40:-40, 40:-40] = 150
    picture, where = clean.copy(), np.zeros(clean.shape, bool)
    where[0:58, 20:240] = True
    picture[8:46, 50:230:3] = 255
    seen, hole, wanted = (np.rot90(one, turn).copy() for one in (picture, where, clean))
    assert np.array_equal(remove.fill(gray(seen), hole, "inpaint")[..., 0], wanted)


def test_regions_beside_one_another_are_filled_each_from_its_own_surroundings():
    ramp = np.round(np.linspace(0, 250, 160)[:, None] * np.ones(160)).astype(np.uint8)
    where = np.zeros(ramp.shape, bool)
    where[30:90, 30:130] = where[96:110, 60:130] = True
    filled = remove.fill(gray(ramp), where, "inpaint")[..., 0].astype(int)
    assert np.abs(np.diff(filled, axis=0))[:, 20:140].max() <= 8  # no seam
    assert np.abs(filled - ramp).max() < 60


def test_padding_is_filled_with_padding_and_the_body_with_the_body():
    picture = np.full((100, 100), 900, np.uint16)
    padding = np.zeros(picture.shape, bool)
    padding[:, 60:] = True
    picture[padding] = 40
    where = np.zeros(picture.shape, bool)
    where[40:60, 40:80] = True
    filled = remove.fill(gray(picture, background=padding), where, "inpaint")[..., 0]
    np.testing.assert_array_equal(filled, picture)


LINE = (60, 40)  # row and column at which a name begins


def named(step, *, noise=0.0, background=90.0, height=16):
    """Values (160, 480) with a name that differs by ``step`` levels, and its strokes, bool."""
    values = np.random.default_rng(0).normal(background, noise, (160, 480))
    ink = np.zeros(values.shape, bool)
    drawn = letters("OBERHAUSER^KATHARINA 1957", "sans bold", height, 0) > 127
    ink[LINE[0] : LINE[0] + drawn.shape[0], LINE[1] : LINE[1] + drawn.shape[1]] = drawn
    return values + step * ink, ink


def part_of(ink, start=0.4, stop=0.6):
    """A box around so much of the strokes' columns, half as high again as the letters."""
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    width = columns[-1] - columns[0]
    left, right = (columns[0] + at * width for at in (start, stop))
    high = 1.5 * (rows[-1] - rows[0])
    return boxed((rows[-1] + rows[0] - high) / 2, left, right - left, high)


@pytest.mark.parametrize("noise", [0, 1, 2])
@pytest.mark.parametrize("step", [4, -6, 12])
@pytest.mark.parametrize(("start", "stop"), [(0, 0.2), (0.4, 0.6), (0.8, 1)])
def test_a_line_of_which_a_part_was_found_is_taken_whole(step, noise, start, stop):
    if abs(step) < 3 * noise:
        pytest.skip("hidden by noise")
    values, ink = named(step, noise=noise)
    whole = along.whole(part_of(ink, start, stop), values)
    where = remove.region([whole], values[..., None])
    assert where[ink].all()
    assert where.mean() < 0.5


def test_letters_that_fade_are_taken_with_those_that_do_not():
    values, ink = named(0)
    values += np.linspace(60, 8, values.shape[1]) * ink
    assert remove.region([along.whole(part_of(ink, 0, 0.2), values)], values[..., None])[ink].all()


def test_a_line_ends_where_nothing_is_left_of_it():
    values, ink = named(40, noise=1)
    before = part_of(ink, 0, 1)
    left, top, right, bottom = along.whole(before, values).box
    high = before.box[3] - before.box[1]
    assert before.box[0] - high < left
    assert right < before.box[2] + high
    assert (top, bottom) == pytest.approx((before.box[1], before.box[3]), abs=1)


def test_a_strong_line_does_not_go_on_along_faint_bones():
    values, ink = named(120, noise=1)
    values[:, ::23] += 8  # edges of bones
    before = part_of(ink, 0, 1)
    assert along.whole(before, values).box[2] < before.box[2] + 20


def test_a_line_above_bones_does_not_go_on_over_them():
    """Nothing above it, and edges of bones in it and below: what is seen below is no letter."""
    values, ink = named(120, noise=1)
    values[LINE[0] :, ::7] += 40
    before = part_of(ink, 0, 1)
    left, _, right, _ = along.whole(before, values).box
    assert (left, right) == pytest.approx((before.box[0], before.box[2]), abs=20)


def test_a_gap_in_a_box_makes_no_letters_of_what_is_faint():
    """Two words whose box is mostly the space between them: bones are weaker than both."""
    values, ink = named(100, noise=1)
    columns = np.flatnonzero(ink.any(0))
    first, last = columns[0] + 60, columns[-1] - 60
    values[:, first:last][ink[:, first:last]] -= 100
    values[:, last + 100 :: 23] += 15
    before = part_of(ink, 0, 1)
    assert along.whole(before, values).box[2] < before.box[2] + 20


@pytest.mark.parametrize("below", [1, -1])
def test_lines_above_one_another_that_both_fade_are_taken_whole(below):
    values, ink = named(0)
    both = ink | np.roll(ink, below * 26, 0)
    values += np.linspace(60, 8, values.shape[1]) * both
    assert remove.region([along.whole(part_of(ink, 0, 0.2), values)], values[..., None])[ink].all()


def test_a_short_box_that_is_askew_is_continued_along_the_picture():
    values, ink = named(10)
    box = part_of(ink, 0, 0.1)
    turned = box.corners + np.array([[0, -1], [0, 1], [0, 1], [0, -1]], np.float32)
    where = remove.region([along.whole(replace(box, corners=turned), values)], values[..., None])
    assert where[ink].all()


def test_a_line_that_runs_downwards_is_continued_downwards():
    values, ink = named(10)
    box = part_of(ink, 0.4, 0.6)
    standing = replace(box, corners=box.corners[:, ::-1][[0, 3, 2, 1]].copy(), sideways=True)
    where = remove.region([along.whole(standing, values.T.copy())], values.T[..., None])
    assert where[ink.T].all()


def test_arrows_and_wires_go_on_beyond_their_box_and_letters_do_not():
    picture = np.full((100, 100), 90, np.uint8)
    drawn = letters("A", "sans bold", 24, 0)
    picture[30 : 30 + drawn.shape[0], 30 : 30 + drawn.shape[1]][drawn > 127] = 200
    box = np.array([[30, 30], [62, 30], [62, 66], [30, 66]], np.float32)
    assert strokes.ends(picture, box)
    arrow = np.full((100, 100), 90, np.uint8)
    cv2.fillConvexPoly(arrow, np.array([[35, 40], [90, 15], [90, 65]]), 230)
    assert not strokes.ends(arrow, box - [0, 8])
    wire = np.full((100, 100), 90, np.uint8)
    cv2.ellipse(wire, (46, 60), (14, 20), 0, 180, 360, 200, 3)
    wire[60:, 31:34] = wire[60:, 59:62] = 200
    assert not strokes.ends(wire, box)


def test_a_letter_that_is_read_badly_goes_with_others_of_its_height():
    mark = replace(boxed(10, 10), read="3", height=0.08)
    badly = replace(mark, sure=0.8, found=0.7)
    assert mark.is_text
    assert not badly.is_text
    assert like_others(badly, [mark])
    assert not like_others(badly, [])
    assert not like_others(badly, [replace(mark, height=0.05)])
    assert not like_others(badly, [replace(mark, read="DOE")])
    for no_letter in ({"faint": True}, {"ends": False}, {"found": 0.5}, {"sure": 0.4}):
        assert not like_others(replace(badly, **no_letter), [mark])
