"""Colours and marks: one of each a method in all pictures, told apart by everybody, never faint."""

import re

import numpy as np
import pytest
from skimage.color import deltaE_ciede2000, rgb2lab
from test_results import made_up

from anonymize.plugins import installed
from attacks.reporting.page import TEMPLATES
from attacks.reporting.pictures.looks import COLOURS, KINDS, MARKS, REAL_MARK, looks
from attacks.titles import REAL

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip
NEAR = 10  # CIEDE2000: told apart at a glance from there on
TEXT, GRAPHICS = 4.5, 3.0  # WCAG 2.2, 1.4.3 and 1.4.11


def linear(colour):
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    dark, light = sorted(float(linear(c) @ (0.2126, 0.7152, 0.0722)) for c in (one, other))
    return (light + 0.05) / (dark + 0.05)


def schemes():
    """The variables of the page, light and dark."""
    css = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", one)) for one in (light, dark)]


def test_contrast_as_it_is_defined():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_letters_and_marks_can_be_read(scheme):
    own = schemes()[scheme]
    assert own.keys() == schemes()[0].keys()
    for letters in ("ink", "quiet", "accent", "good", "bad"):
        for ground in ("bg", "soft", "good-soft", "bad-soft"):
            assert contrast(own[letters], own[ground]) >= TEXT, (letters, ground)
    assert contrast(own["bg"], own["bad"]) >= TEXT  # the banner
    for name, pair in COLOURS.items():
        assert contrast(pair[scheme], own["bg"]) >= GRAPHICS, name


def test_every_method_of_ours_has_a_colour_of_its_own():
    assert set(KINDS) == set(installed("anonymize.methods"))
    assert len(set(KINDS.values())) == len(KINDS)
    assert set(KINDS.values()) <= set(COLOURS)


@pytest.mark.parametrize("number", [2, 10, 11])
def test_no_two_methods_look_alike(number):
    named = [("real images", REAL)]
    named += [(f"dp-pix b={n}", "dp-pix") for n in range(number // 2)]
    named += [(f"strange {n}", f"strange-{n}") for n in range(number - number // 2)]
    found = looks(named)
    assert len({(look.name, look.mark) for look in found.values()}) == number + 1
    assert found["real images"].mark == REAL_MARK
    assert sum(look.mark == REAL_MARK for look in found.values()) == 1


def test_a_kind_has_its_colour_whatever_stands_beside_it():
    alone = looks([("dp-pix", "dp-pix")])["dp-pix"]
    among = looks(made_up().named)
    assert {look.colour for title, look in among.items() if "dp-pix" in title} == {alone.colour}


@pytest.mark.parametrize("kind", [None, *BLINDNESS])
def test_colours_that_are_near_for_anybody_have_other_marks(kind):
    """Up to ten methods of ours at once have ten marks; their colours differ, too."""
    matrix = np.eye(3) if kind is None else np.array(BLINDNESS[kind])
    labs = {}
    for name in KINDS.values():
        seen = np.clip(matrix @ linear(COLOURS[name][0]), 0, 1)
        encoded = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
        labs[name] = rgb2lab(encoded[None, None])[0, 0]
    found = looks([(name, name) for name in KINDS])
    marks = {look.name: look.mark for look in found.values()}
    assert len(set(marks.values())) == min(len(KINDS), len(MARKS))
    pairs = [(a, b) for a in labs for b in labs if a < b]
    near = {(a, b) for a, b in pairs if deltaE_ciede2000(labs[a], labs[b]) < NEAR}
    assert not near or kind is not None
    assert all(marks[a] != marks[b] for a, b in near)
