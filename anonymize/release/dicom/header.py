"""A data set as values: text in its character set, numbers, items."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from pydicom.charset import convert_encodings, decode_bytes
from pydicom.datadict import dictionary_VR, tag_for_keyword

from anonymize.release.dicom.elements import DicomError, Element, read_file, text, unknown_items


def words(given: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(given.split())


TEXT = words("AE AS CS DA DS DT IS LO LT PN SH ST TM UC UI UR UT")
CHARACTER_SET = 0x00080005
IN_CHARACTER_SET = words("LO LT PN SH ST UC UT")  # PS3.5 6.1.2.3
ONE_VALUE = words("LT ST UR UT")  # a backslash is text there
PADDING = b" \0\r\n"  # around a value
NUMBERS = {
    "US": "H", "SS": "h", "UL": "I", "SL": "i", "UV": "Q", "SV": "q", "FL": "f", "FD": "d",
    "OW": "H", "US or SS": "H", "US or OW": "H", "US or SS or OW": "H",
}  # fmt: skip
DELIMITERS = {"PN": set(b"\\^="), "LT": set(b"\r\n\t\f")}
DEFAULT = ("iso8859",)
CYRILLIC = ("cp1251", "koi8_r", "cp866", "iso8859_5")  # of which one is often taken for another
SOMEBODY = "\u67d0\u67d0"  # "so-and-so": a name that is there, and that nobody can read


@cache
def tag(keyword: str) -> int:
    """The tag of an attribute of the data dictionary."""
    found = tag_for_keyword(keyword)
    assert found is not None, keyword
    return found


def tags(keywords: str) -> frozenset[int]:
    """The tags of several attributes."""
    return frozenset(map(tag, keywords.split()))


def meant(element: Element) -> str:
    """The representation that the dictionary gives an element, whatever the file says; the file's
    where it has none, and where that is a person's name."""
    if element.vr == "PN":
        return "PN"
    try:
        return dictionary_VR(element.tag)
    except KeyError:
        return element.vr


class Header:
    """The elements of one data set (the root, or an item of a sequence).

    Args:
        order: byte order, "<" or ">".
        encodings: Python codecs of the text, where the data set names none itself.
    """

    def __init__(
        self, elements: list[Element], order: str = "<", encodings: tuple[str, ...] = DEFAULT
    ) -> None:
        self.elements = {e.tag: e for e in elements}
        self.order = order
        named = self.elements.get(CHARACTER_SET)
        self.encodings = encodings if named is None else _encodings(named)

    @classmethod
    def of_file(cls, data: bytes) -> Header:
        """That of a whole file. Raises DicomError: it is none."""
        file = read_file(data)
        return cls(file.elements, file.syntax.order)

    def __contains__(self, keyword: str) -> bool:
        return tag(keyword) in self.elements

    def __iter__(self) -> Iterator[Element]:
        return iter(self.elements.values())

    def find(self, keyword: str) -> Element | None:
        return self.elements.get(tag(keyword))

    def values(self, keyword: str, *, signed: bool = False) -> list:
        """str, int or float values of an attribute; [] where it is missing or empty. Raises
        DicomError: bytes that are no value of the attribute's representation."""
        element = self.find(keyword)
        return [] if element is None else self.decode(element, signed=signed)

    def text(self, keyword: str) -> str:
        """The first value as text, "" where there is none."""
        values = self.values(keyword)
        return str(values[0]) if values else ""

    def number(self, keyword: str, default: float) -> float:
        """The first value as a number. Raises DicomError: a value that is none."""
        values = self.values(keyword)
        if not values or values[0] == "":
            return default
        try:
            return float(values[0])
        except ValueError:
            raise DicomError("a number expected") from None

    def whole(self, keyword: str, default: int) -> int:
        """The first value as a whole number, as ``number``."""
        value = self.number(keyword, default)
        if value != value or abs(value) > 1 << 40 or value != int(value):
            raise DicomError("a whole number expected")
        return int(value)

    def items(self, element: Element) -> list[Header]:
        """The items of a sequence, or of what may be one."""
        if element.items is None:
            return [Header(item, "<", self.encodings) for item in unknown_items(element)]
        return [Header(item, self.order, self.encodings) for item in element.items]

    def items_of(self, keyword: str) -> list[Header]:
        """The items of a sequence; [] where it is missing."""
        element = self.find(keyword)
        return [] if element is None else self.items(element)

    def decode(self, element: Element, *, signed: bool = False) -> list:
        """The values of ``element``; ``signed`` decides where the dictionary says "US or SS".
        Raises DicomError: bytes that are no value of its representation."""
        raw, vr = bytes(element.value), element.vr
        if vr == "UN" and element.items is None:  # as gateways write what they do not know, 6.2.2
            vr = meant(element)
        if vr in TEXT:
            whole = self._text(raw, vr)
            values = [whole] if vr in ONE_VALUE else whole.split("\\")
            values = [v.strip(PADDING.decode()) for v in values]
            return values if any(values) else []
        letter = NUMBERS.get(vr)
        if letter is None:
            raise DicomError("bytes where a value was expected")
        letter = "h" if signed and vr == "US or SS" else letter
        size = struct.calcsize(letter)
        if len(raw) % size:
            raise DicomError("a number that is cut")
        return list(struct.unpack(f"{self.order}{len(raw) // size}{letter}", raw))

    def texts(self, element: Element) -> list[str]:
        """The values of an element as text, in every way in which they may be meant: by what the
        dictionary says of it; what is not ASCII also in UTF-8, which many write without saying so,
        or else in the Cyrillic sets. A name that is in none of these has SOMEBODY among them."""
        raw, kind = bytes(element.value), meant(element)
        kind = kind if kind in TEXT else element.vr
        if element.items is not None:
            return []
        if kind not in TEXT:
            with suppress(DicomError):
                return [str(value) for value in self.decode(element)]
            return []
        found = [self._text(raw, kind)]
        try:
            found.append(raw.decode())
        except UnicodeDecodeError:
            for codec in CYRILLIC:
                with suppress(UnicodeError):
                    found.append(raw.decode(codec))
            if kind == "PN" and any(map(_is_garbled, found[0].split("="))):
                found.append(SOMEBODY)
        if kind == "PN" and "\x1b" in found[0]:  # what switches between sets
            found.append(SOMEBODY)
        found = [*dict.fromkeys(found)]
        apart = [[text] if kind in ONE_VALUE else text.split("\\") for text in found]
        return [said for one in apart for v in one if (said := v.strip(PADDING.decode()))]

    def _text(self, raw: bytes, vr: str) -> str:
        encodings = self.encodings if vr in IN_CHARACTER_SET else DEFAULT
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return decode_bytes(raw, encodings, DELIMITERS.get(vr, set(b"\\\r\n\t\f")))
        except Exception:  # a wrong character set; every byte is some letter in this one
            return raw.decode("latin-1")


def _is_garbled(name: str) -> bool:
    """Whether so many letters of a name are accented ones of Western Europe that it was written in
    another character set."""
    letters = [c for c in name if c.isalpha() or c > "\x7f"]
    return 3 * sum("\x7f" < c <= "\xff" for c in letters) > len(letters)


def _encodings(element: Element) -> tuple[str, ...]:
    names = [name.strip() for name in text(element).split("\\")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return tuple(convert_encodings(names))
    except Exception:
        return DEFAULT
