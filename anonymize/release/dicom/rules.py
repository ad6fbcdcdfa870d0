"""Kinds of values that are kept: each says what of a value may stay, and the same of a release.

A rule maps the values of an attribute to those that are written, or to None where nothing may
stay. What it gives it maps to itself, so that the scan of a finished file asks the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pydicom.datadict import dictionary_VM, dictionary_VR

from anonymize.release.dicom.header import tag
from anonymize.release.dicom.terms import MAKERS, NUMBERS, SYNONYMS, WORDS

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PLACE = re.compile(r"-?\d{1,5}", re.ASCII)
SEVERAL = 4  # numbers of an attribute that may have any number of them
SMALLEST_POLYGON = 128  # pixels in height and width; codes of letters span fewer
ORIENTATION = re.compile(r"(?!.*([AP].*[AP]|[LR].*[LR]|[HF].*[HF]))[ALRPHF]{1,3}")
WORD = re.compile(r"[a-z]+|\d+", re.ASCII)
VIEWS = ("view", "views")
COUNTS = frozenset(["1", "2", "3", "4", "5", "one", "two", "three", "four", "five"])
LENGTHS = {"AE": 16, "SH": 16, "LO": 64, "ST": 1024, "LT": 10240, "UC": 10240, "UT": 10240}

Rule = Callable[[list], list | None]  # what of an attribute's values stays


@dataclass(frozen=True)
class Numbers:
    """Plausible numbers, ``low`` to ``high``, in one way of writing them and no finer than is
    meant: ``digits`` significant ones.

    There must be ``least`` to ``most`` values; the first ``SEVERAL`` stay.
    """

    low: float
    high: float
    digits: int = 5
    least: int = 1
    most: float = 1
    vr: str = "DS"

    @classmethod
    def of(cls, keyword: str) -> Numbers:
        """The rule of an attribute: the vocabulary's range, the data dictionary's multiplicity."""
        number = tag(keyword)
        least, _, most = dictionary_VM(number).partition("-")
        upper = float("inf") if most == "n" else int(most or least)
        return cls(*NUMBERS[keyword], int(least), upper, dictionary_VR(number))

    def __call__(self, values: list) -> list | None:
        if not self.least <= len(values) <= self.most:
            return None
        made = [self._plain(v) for v in values[:SEVERAL]]
        return None if None in made else made

    def _plain(self, value: str | float) -> str | float | None:
        if isinstance(value, str) and not (len(value) <= 16 and DECIMAL.fullmatch(value)):
            return None
        number = float(value) + 0.0  # no minus before zero
        if not self.low <= number <= self.high:
            return None
        number = round(number) if self.vr == "IS" else number
        shown = np.format_float_positional(
            number, self.digits, unique=False, fractional=False, trim="-"
        )
        if isinstance(value, str):
            return shown if len(shown) <= 16 else None
        return float(np.float32(shown)) if self.vr == "FL" else type(value)(float(shown))


def entries(values: list) -> list | None:
    """Entries of a look-up table; :func:`view.check_table` says which they may be."""
    return values if len(values) <= 1 << 16 else None


def polygon(values: list) -> list | None:
    """Vertices of a collimator or shutter, (row, column) each: convex, and no smaller than any."""
    if len(values) % 2 or not 6 <= len(values) <= 32 or not all(map(PLACE.fullmatch, values)):
        return None
    points = np.array(values, np.int64).reshape(-1, 2)
    edges = np.roll(points, -1, 0) - points
    after = np.roll(edges, -1, 0)
    turns = edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0]
    large = np.ptp(points, 0).min() >= SMALLEST_POLYGON and np.abs(points).max() <= 20_000
    convex = turns.min() >= 0 or turns.max() <= 0
    return [str(int(v)) for v in values] if large and convex else None


@dataclass(frozen=True)
class Terms:
    """Only these values; ``most`` of them."""

    terms: frozenset[str]
    most: int = 4

    def __call__(self, values: list) -> list | None:
        values = [SYNONYMS.get(v, v) for v in (str(v).upper() for v in values)]
        return values if len(values) <= self.most and self.terms.issuperset(values) else None


@dataclass(frozen=True)
class Text:
    """Printable ASCII of a length that its representation allows. It may say anything."""

    vr: str

    def __call__(self, values: list) -> list | None:
        longest = LENGTHS[self.vr]
        fits = all(v.isascii() and v.isprintable() and len(v) <= longest for v in values)
        return values if fits else None


@dataclass(frozen=True)
class Words:
    """The words of a description that belong to radiology, each once, and how many views.

    No other number stays, and no second one: digits between words could spell an identifier. None
    where no word stays. ``vr`` says how long a value may be; of ``names``, parts of people's names
    in lower case, none stays: some are called Long, Fu or Heart.
    """

    vr: str
    names: frozenset[str] = frozenset()

    def __call__(self, values: list) -> list | None:
        counted: list[str] = []
        kept = [self._safe(str(value), counted) for value in values]
        return [value for value in kept if value] or None

    def _safe(self, value: str, counted: list[str]) -> str:
        found = [w for w in WORD.findall(value.casefold()) if w not in self.names]
        safe = list[str]()
        for word, after in pairwise([*found, ""]):
            if word in COUNTS:
                if after in VIEWS and not counted:
                    counted.append(word)
                    safe.append(word)
            elif word in WORDS and (word not in safe or safe[-1] in COUNTS):
                safe.append(word)
        while len(" ".join(safe)) > LENGTHS[self.vr]:
            safe.pop()
        return " ".join(safe).upper()


def maker(values: list) -> list | None:
    """The manufacturer, where it is a known one; punctuation is dropped."""
    plain = [" ".join(re.findall(r"[A-Z]+", str(v).upper())) for v in values]
    return plain if len(plain) <= 1 and MAKERS.issuperset(plain) else None


def orientation(values: list) -> list | None:
    """Of rows and columns: one direction of each axis at most."""
    fits = all(ORIENTATION.fullmatch(str(v)) for v in values)
    return values if fits and len(values) <= 2 else None


def image_type(values: list) -> list | None:
    """DERIVED, and whether it was PRIMARY; further values are the maker's own words."""
    second = values[1] if len(values) > 1 else "PRIMARY"
    return ["DERIVED", second if second in ("PRIMARY", "SECONDARY") else "SECONDARY"]


def age(values: list) -> list | None:
    """An age; from 90 years on all are one, since so few people reach it."""
    if len(values) != 1 or not re.fullmatch(r"\d{3}[DWMY]", values[0]):
        return None
    old = values[0].endswith("Y") and int(values[0][:3]) > 90
    return ["090Y"] if old else values
