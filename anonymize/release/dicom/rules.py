"""Kinds of values that are kept: each says what of a value may stay, and the same of a release.

A rule maps the values of an attribute to those that are written, or to None where nothing may
stay. What it gives it maps to itself, so that the scan of a finished file asks the same rules.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

from anonymize.release.dicom.terms import MAKERS, SYNONYMS, WORDS

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
WORD = re.compile(r"[a-z]+|\d+", re.ASCII)
LENGTHS = {"AE": 16, "SH": 16, "LO": 64, "ST": 1024, "LT": 10240, "UC": 10240, "UT": 10240}


class Rule(Protocol):
    """What of an attribute's values stays."""

    def __call__(self, values: list) -> list | None: ...


@dataclass(frozen=True)
class Numbers:
    """At most ``most`` finite numbers below ``limit``, which dates, telephones and ids exceed."""

    most: int = 4
    limit: float = 1e6
    whole: bool = False

    def __call__(self, values: list) -> list | None:
        if len(values) > self.most:
            return None
        return values if all(map(self._admits, values)) else None

    def _admits(self, value: str | float) -> bool:
        if isinstance(value, str):
            if len(value) > 16 or not DECIMAL.fullmatch(value):
                return False
            if self.whole and not re.fullmatch(r"[+-]?\d+", value):
                return False
        number = float(value)
        return math.isfinite(number) and abs(number) < self.limit


@dataclass(frozen=True)
class Terms:
    """Only these values; ``most`` of them."""

    terms: frozenset[str]
    most: int = 4

    def __call__(self, values: list) -> list | None:
        values = [SYNONYMS.get(v, v) for v in (str(v).upper() for v in values)]
        return values if len(values) <= self.most and self.terms.issuperset(values) else None


@dataclass(frozen=True)
class Pattern:
    """Values that are what a regular expression says, ``most`` of them."""

    pattern: re.Pattern[str]
    most: int = 1

    def __call__(self, values: list) -> list | None:
        fits = all(self.pattern.fullmatch(str(v)) for v in values)
        return values if fits and len(values) <= self.most else None


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
    """The words of a description that belong to radiology, and single digits.

    None where there is no such word. ``vr`` says how long a value may be.
    """

    vr: str

    def __call__(self, values: list) -> list | None:
        kept = [self._safe(str(value)) for value in values]
        return [value for value in kept if value] or None

    def _safe(self, value: str) -> str:
        found = WORD.findall(value.casefold())
        safe = [w for w in found if w in WORDS or (w.isdigit() and len(w) == 1)]
        if not any(w in WORDS for w in safe):
            return ""
        while len(" ".join(safe)) > LENGTHS[self.vr]:
            safe.pop()
        return " ".join(safe).upper()


def maker(values: list) -> list | None:
    """The manufacturer, where it is a known one; punctuation is dropped."""
    plain = [" ".join(re.findall(r"[A-Z]+", str(v).upper())) for v in values]
    return plain if len(plain) <= 1 and MAKERS.issuperset(plain) else None


def image_type(values: list) -> list | None:
    """DERIVED, and whether it was PRIMARY; further values are the maker's own words."""
    second = values[1] if len(values) > 1 else "PRIMARY"
    return ["DERIVED", second if second in ("PRIMARY", "SECONDARY") else "SECONDARY"]


def nothing(values: list) -> list | None:
    """No value at all."""
    return []


def age(values: list) -> list | None:
    """An age; from 90 years on all are one, since so few people reach it."""
    if len(values) != 1 or not re.fullmatch(r"\d{3}[DWMY]", values[0]):
        return None
    old = values[0].endswith("Y") and int(values[0][:3]) > 90
    return ["090Y"] if old else values
