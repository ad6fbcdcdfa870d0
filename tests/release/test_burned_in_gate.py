"""The gate before the OCR: it sees text of any look, and where it cannot look, the OCR does."""

from itertools import product
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from text_specimens import gray, letters, phantoms

from anonymize.release.burned_in import find, gate, views
from anonymize.release.burned_in.places import places

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def network():
    pytest.importorskip("onnxruntime")
    looks = gate.Gate()
    assert looks.session is not None
    return looks


def seen(looks, part):
    return looks.logits(part) > gate.SEEN


def noisy(ink, step):
    """uint8: ``ink`` in [0, 1] drawn with ``step`` gray levels, with surroundings."""
    wide = np.pad(ink, 8).astype(np.float64)
    grain = np.random.default_rng(0).normal(0, 2, wide.shape)
    return np.round(100 + step * wide + grain).clip(0, 255).astype(np.uint8)


def typed(text, height):
    """float32 (h, w): letters of OpenCV's own font, of which the gate has learnt none."""
    ink = np.zeros((3 * height, height * (len(text) + 2)), np.uint8)
    cv2.putText(ink, text, (height, 2 * height), cv2.FONT_HERSHEY_SIMPLEX, height / 22, 255, 1)
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] / 255


def handwritten():
    """float32 (24, w): loops of a pen."""
    cells = 8
    at = np.linspace(0, 1, 30 * cells)
    x = 20 * cells * at + 6 * np.cos(2.2 * np.pi * cells * at) + 8
    y = 12 + 9 * np.sin(2.2 * np.pi * cells * at) * np.repeat(RNG.uniform(0.4, 1, cells), 30)
    ink = np.zeros((24, 20 * cells + 16), np.float32)
    points = np.round(np.column_stack([x, y])).astype(np.int32)
    return cv2.polylines(ink, [points], False, 1.0, 2)


@pytest.mark.parametrize("height", [9, 14, 24, 40])
@pytest.mark.parametrize("text", ["DOE^JANE", "12.03.1957", "Hans"])
def test_text_of_a_font_that_it_never_saw(network, text, height):
    ink = typed(text, height)
    looks = product([-90, -40, 25, 60, 150], range(4))
    missed = [
        (step, turn)
        for step, turn in looks
        if not seen(network, noisy(np.rot90(ink, turn), step)).any()
    ]
    assert missed == []


@pytest.mark.parametrize("font", ["times", "typewriter"])
@pytest.mark.parametrize("angle", [0, 12, 45, 90])
@pytest.mark.parametrize("height", [9, 16, 30])
def test_text_in_every_direction(network, font, angle, height):
    ink = letters("MRN:00347812", font, height, angle) / 255
    assert seen(network, noisy(ink, 50)).any()


@pytest.mark.parametrize("step", [-60, 30, 120])
def test_a_hand(network, step):
    assert seen(network, noisy(handwritten(), step)).any()


@pytest.fixture(scope="module")
def anatomy():
    """uint8 (512, 512): a phantom and noise."""
    [clean] = phantoms(1, size=512)
    grain = np.random.default_rng(1).normal(0, 10, clean.shape)
    return np.round(clean + grain).clip(0, 255).astype(np.uint8)


def test_most_places_of_anatomy_are_not_looked_at(network, anatomy):
    found = places(views.views(gray(anatomy)), anatomy.shape)
    passed = [seen(network, place.shown).any() for place in found]
    assert len(passed) > 20
    assert np.mean(passed) < 1 / 3


@pytest.mark.parametrize("content", [None, b"", b"no network"])
def test_without_its_file_every_place_counts(tmp_path, content):
    pytest.importorskip("onnxruntime")
    model = tmp_path / "gate.onnx"
    if content is not None:
        model.write_bytes(content)
    looks = gate.Gate(model)
    assert looks.session is None
    assert seen(looks, np.zeros((40, 70), np.uint8)).all()


def test_what_is_no_number_counts_as_text(network):
    strange = gate.Gate()
    strange.session = SimpleNamespace(run=lambda *asked: [np.full((1, 1, 4, 4), np.nan)])
    assert seen(strange, np.zeros((32, 32), np.uint8)).all()


def test_text_of_one_colour_is_seen(network):
    ink = typed("DOE^JANE", 16)
    planes = np.full((*np.pad(ink, 8).shape, 3), 100, np.uint8)
    assert not seen(network, planes).any()
    planes[..., 2] = noisy(ink, 60)
    assert seen(network, planes).any()


def test_contrast_is_in_units_of_what_is_usual():
    part = RNG.integers(60, 120, (50, 70)).astype(np.uint8)
    [[made]] = gate.standardised(part)
    assert made.shape == (64, 96)
    assert not made[50:].any()
    assert not made[:, 70:].any()
    np.testing.assert_allclose(gate.standardised(part + 100)[0, 0], made, atol=1e-4)
    np.testing.assert_allclose(gate.standardised(255 - part)[0, 0], -made, atol=1e-4)
    by_hand = np.pad(part.astype(float), 30, mode="reflect")
    off = by_hand - cv2.blur(by_hand, (31, 31))
    usual = np.sqrt(np.square(off[40:71, 45:76]).mean())
    assert made[25, 30] == pytest.approx(off[55, 60] / (usual + gate.LEAST), abs=1e-4)


@pytest.mark.parametrize("size", [(200, 331), (67, 90), (20, 20)])
def test_all_that_was_seen_is_looked_at_with_its_surroundings(size):
    cells = tuple(side // gate.CELL for side in size)
    for count in (1, 3):
        logits = np.full(cells, -9.0)
        logits.ravel()[RNG.integers(logits.size, size=count)] = 1
        looked = np.zeros(size, bool)
        for part in gate.around(logits, size):
            looked[part] = True
        where = np.kron(logits > 0, np.ones((gate.CELL, gate.CELL), bool))
        where = np.pad(where, [(0, a - b) for a, b in zip(size, where.shape, strict=True)], "edge")
        assert looked[where].all()
        beside = cv2.dilate(where.astype(np.uint8), np.ones((81, 81), np.uint8)) > 0
        assert looked[beside].all()


def test_a_line_of_which_some_is_seen_is_looked_at_whole():
    logits = np.full((90, 90), -9.0)
    logits[10, 5:80] = gate.POSSIBLE + 1
    assert gate.around(logits, (720, 727)) == []
    logits[10, 40] = 0
    [(rows, columns)] = gate.around(logits, (720, 727))
    assert (columns.start, columns.stop) == (0, 8 * 86)
    assert (rows.start, rows.stop) == (8 * 4, 8 * 17)


def test_little_of_a_large_place_is_looked_at():
    logits = np.full((90, 90), -9.0)
    logits[10, 10] = logits[12, 14] = logits[80, 80] = 1
    parts = gate.around(logits, (720, 727))
    assert len(parts) == 2
    assert sum((r.stop - r.start) * (c.stop - c.start) for r, c in parts) < 0.1 * 720 * 727
    assert gate.around(np.ones((90, 90)), (720, 727)) == [(slice(0, 720), slice(0, 727))]


@pytest.mark.parametrize(
    ("corners", "expected"),
    [
        ((0, 0, 7, 7), False),
        ((16, 8, 23, 15), True),
        ((10, 3, 60, 9), True),
        ((33, 12, 60, 90), True),
    ],
)
def test_a_box_is_read_where_one_of_its_cells_was_seen(corners, expected):
    logits = np.full((3, 5), gate.SEEN)
    logits[1, 2] = logits[2, 4] = 1
    left, top, right, bottom = corners
    box = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    assert gate.within(logits, box) is expected


def test_only_what_the_gate_sees_is_detected_and_read(monkeypatch, anatomy):
    asked = []

    class Blind:
        gate = SimpleNamespace(logits=lambda part: np.full((1, 1), gate.SEEN))

        def detect(self, tile):
            asked.append(tile)
            return []

    pictures = views.views(gray(anatomy))
    monkeypatch.setattr(find, "reader", Blind)
    assert list(find.lines(pictures, anatomy.shape)) == []
    assert asked == []
    Blind.gate = SimpleNamespace(logits=lambda part: np.full((1, 1), np.inf))
    assert list(find.lines(pictures, anatomy.shape)) == []
    # Where nothing is seen, again with the contrast stretched.
    assert len(asked) == 2 * len(list(places(pictures, anatomy.shape)))
