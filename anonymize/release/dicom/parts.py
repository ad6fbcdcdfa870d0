"""Identifiers cut into parts that stand in several numbers of a header, and years of birth in some.

Half an id as Series Number and half as Acquisition Number are two plausible numbers; together
they are the id. Looked for are whole values, since their digits are few: an id among all digits
of a header would be found by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydicom.dataset import Dataset

from anonymize.release.dicom.header import tags
from anonymize.release.dicom.identifiers import Identifiers, digits
from anonymize.release.dicom.terms import NUMBERS, TAGS

# Digits of a number that is looked for: an id, or a date of birth, and any other.
SHORTEST_OWN, SHORTEST_OTHER = 5, 6
SHORTEST_PART = 3  # digits of an attribute of two; those of a row may have one each
KEPT = tags(f"{' '.join(NUMBERS)} LUTDescriptor PixelPaddingValue PixelPaddingRangeLimit")


class Place(NamedTuple):
    """The values of an attribute in a data set, as digits without leading zeros."""

    data_set: Dataset
    tag: int
    parts: tuple[str, ...]


def told(made: Dataset, identifiers: Identifiers) -> list[tuple[Dataset, int]]:
    """The attributes (data set, tag) of ``made`` that say an identifier together, or the year of
    birth where any number would do.
    """
    places = list(_places(made))
    found = [
        p
        for p in places
        if p.tag in TAGS["chosen"]
        and not identifiers.years.isdisjoint({*p.parts, "".join(p.parts)})
    ]
    for number in identifiers.numbers:
        own = number in identifiers.own
        if len(number) >= (SHORTEST_OWN if own else SHORTEST_OTHER):
            found += _row(places, number)
        if own:
            found += _two(places, number)
    return [(p.data_set, p.tag) for p in found]


def _places(made: Dataset) -> Iterator[Place]:
    """Numbers in the order of the file, at any depth."""
    for element in made:
        if element.VR == "SQ":
            for item in element.value:
                yield from _places(item)
        elif element.tag in KEPT and element.VM:
            values = element.value if element.VM > 1 else [element.value]
            parts = tuple(p for v in values if (p := digits(v).lstrip("0")))
            if parts:
                yield Place(made, element.tag, parts)


def _rest(number: str, parts: tuple[str, ...]) -> str | None:
    """What is left of ``number`` behind ``parts``; None where it does not begin with them."""
    for part in parts:
        if not number.startswith(part):
            return None
        behind = number[len(part) :]
        number = behind.lstrip("0")
        if behind and not number:
            return None  # zeros at the end belong to a value
    return number


def _row(places: list[Place], number: str) -> Iterator[Place]:
    """Those of neighbouring values whose digits one after the other are ``number``."""
    values = [place._replace(parts=(part,)) for place in places for part in place.parts]
    for first in range(len(values)):
        rest: str | None = number
        for last in range(first, len(values)):
            rest = _rest(rest or "", values[last].parts)
            if not rest:
                if rest == "":
                    yield from values[first : last + 1]
                break


def _two(places: list[Place], number: str) -> Iterator[Place]:
    """Attributes, or single values, wherever they stand, of which two have the digits of
    ``number``."""
    single = [p._replace(parts=(v,)) for p in places if len(p.parts) > 1 for v in p.parts]
    large = [p for p in places + single if sum(map(len, p.parts)) >= SHORTEST_PART]
    for first in large:
        rest = _rest(number, first.parts)
        for other in large:
            if rest and other is not first and _rest(rest, other.parts) == "":
                yield from (first, other)
