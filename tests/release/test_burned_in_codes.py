"""Bar codes, QR codes and letters on a grid are print, and no radiograph is."""

import cv2
import numpy as np
import pytest
from release_specimens import refused
from text_specimens import gray, phantoms

from anonymize.release.burned_in import codes, policy, views
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.reasons import Reason

SIZE = 768
NARROW = {"4": "000110001", "7": "000100101", "1": "100100001", "*": "010010100"}  # of Code 39


def bars(module, height):
    """Code 39 of *4711*: 1 stands for a wide one, of bars and the gaps between them."""
    row = []
    for sign in "*4711*":
        for place, wide in enumerate(NARROW[sign]):
            row += [255 * (place % 2)] * (module * (3 if wide == "1" else 1))
        row += [255] * module
    return np.pad(np.tile(np.uint8(row), (height, 1)), 10, constant_values=255)


def matrix(module):
    """A QR code."""
    made = cv2.QRCodeEncoder.create().encode("PAT 4711-0 DOE^JANE")
    return np.kron(np.pad(made, 4, constant_values=255), np.ones((module, module), np.uint8))


def grid(module):
    """Letters of six modules on lines that are one module wide."""
    made = np.zeros((30 * module, 200 * module), np.uint8)
    made[:: 5 * module], made[:, :: 5 * module] = 255, 255
    place = (5 * module, 22 * module)
    return cv2.putText(made, "DOE 1970", place, cv2.FONT_HERSHEY_SIMPLEX, 0.6 * module, 255, module)


CODES = {
    "bars": bars(2, 40),
    "thick bars": bars(5, 150),
    "a low row of bars": bars(2, 16),
    "bars that stand": bars(3, 60).T,
    "a QR code": matrix(3),
    "a large QR code": matrix(8),
    "a grid": grid(2),
}


@pytest.fixture(scope="module")
def films():
    return phantoms(3, size=SIZE)


def shown(picture):
    radiograph = gray(picture)
    return codes.shown(radiograph, views.views(radiograph))


def printed(film, code, *, turn=0.0, strength=1.0, inverted=False):
    """``code`` in the middle of a film, turned by so many degrees."""
    height, width = code.shape
    to = cv2.getRotationMatrix2D((width / 2, height / 2), turn, 1)
    to[:, 2] += [(SIZE - width) / 2, (SIZE - height) / 2]
    values, there = (
        cv2.warpAffine(one.astype(np.float32), to, (SIZE, SIZE))
        for one in (255 - code if inverted else code, np.ones(code.shape))
    )
    return np.uint8(film * (1 - strength * there) + strength * there * values)


def dithered(film):
    """``film`` in 16 shades, as in a GIF, of which the nearest two alternate (Bayer 1973)."""
    order = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) + 0.5
    repeated = np.tile(order, (SIZE // 4, SIZE // 4))
    return np.uint8(np.floor(film / 17 + repeated / 16).clip(0, 15) * 17)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "how", [{}, {"turn": 30}, {"strength": 0.5}, {"inverted": True}], ids=lambda how: str(how)
)
def test_print_is_seen(films, code, how):
    assert all(shown(printed(film, CODES[code], **how)) for film in films[:2])


@pytest.mark.parametrize(("modules", "module"), [(12, 3), (16, 2), (14, 5)])
def test_small_codes_are_seen(films, modules, module):
    """Of as many modules as a Data Matrix: two sides are drawn through, two alternate."""
    dark = np.random.default_rng(1).integers(0, 2, (modules, modules))
    dark[:, 0] = dark[-1] = 1
    dark[0], dark[:, -1] = (np.arange(modules) % 2 == way for way in (0, 1))
    plain = np.pad(np.uint8(255 * (1 - dark)), 2, constant_values=255)
    code = np.kron(plain, np.ones((module, module), np.uint8))
    for inverted in (False, True):
        assert all(shown(printed(film, code, inverted=inverted)) for film in films[:2])


@pytest.mark.parametrize("code", sorted(CODES.keys() - {"a low row of bars"}))
def test_print_of_little_contrast_is_seen(films, code):
    level = int(films[0].max()) // 2
    faint = np.uint8(level + 20 * (CODES[code] > 127))
    assert shown(printed(films[0], faint))


@pytest.mark.parametrize("code", ["bars", "a QR code"])
def test_a_label_that_is_brighter_than_all_else_hides_no_print(films, code):
    film = printed(films[0], CODES[code]).astype(np.uint16) * 4
    film[-60:, -200:] = 65535
    plain = films[0].astype(np.uint16) * 4
    plain[-60:, -200:] = 65535
    assert shown(film)
    assert not shown(plain)


def test_films_show_none_whatever_their_noise_and_frame(films):
    noise = np.random.default_rng(0)
    for film in films:
        assert not shown(film)
        for strength in (2, 12):
            grained = film + noise.normal(0, strength, film.shape)
            assert not shown(grained.clip(0, 255).astype(np.uint8))
        assert not shown(dithered(film))
        framed = film.copy()
        framed[:, [9, -12]] = framed[[9, -12]] = 255  # a thin line along each edge
        assert not shown(framed)


def test_small_print_in_a_large_film_is_seen_as_it_is_stored(films):
    large = cv2.resize(films[0], (3000, 3000)).astype(np.uint16) * 16
    assert not shown(large)
    code = bars(2, 40)
    large[100 : 100 + code.shape[0], 200 : 200 + code.shape[1]] = code.astype(np.uint16) * 16
    assert shown(large)


def test_what_is_left_beside_text_is_refused(films, monkeypatch):
    monkeypatch.setattr(policy.find, "find", lambda pictures, size, fine: ([], []))
    monkeypatch.setattr(policy.reader, "name", lambda: "none")
    for mode in ("detect", "remove"):
        assert policy.clean(gray(films[0]), TextOptions(mode))[1].regions == 0
        with refused(Reason.BURNED_IN_TEXT, "a bar code, or other print, may be left"):
            policy.clean(gray(printed(films[0], CODES["a QR code"])), TextOptions(mode))
