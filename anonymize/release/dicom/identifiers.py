"""The strings of an input that tell who it is, and the search for them in what is released."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations

from anonymize.release import strings
from anonymize.release.dicom import profile
from anonymize.release.dicom.elements import Element
from anonymize.release.dicom.header import TEXT, Header, meant, tag, words
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.dicom.profile import Action
from anonymize.release.dicom.pseudonyms import DATE
from anonymize.release.dicom.terms import FIXED, MAKERS, TAGS, TERMS, WORDS
from anonymize.release.reasons import Reason, Refused

SHORTEST, SHORTEST_NUMBER, SHORTEST_KEY = 3, 5, 4
SUBSTRING = 8  # from this length on a string is looked for inside words too
SHORTEST_DIGITS = 8  # of a number that is looked for in all bytes: UIDs are long
HARMLESS = WORDS | {t.casefold() for terms in TERMS.values() for t in terms} | {
    w.casefold() for maker in MAKERS for w in maker.split()
}  # fmt: skip
SAID = HARMLESS | FIXED  # what a released file says of itself
WORD = re.compile(r"[^\W_]+")
MAX_STRINGS = 20_000
LONGEST_BYTES = 1024  # of a private value without representation that is taken for text
KEYS = TAGS["keys"]
BIRTH = tag("PatientBirthDate")
TELLING = TEXT - words("IS DS TM AS CS")
# Katakana lie 96 behind hiragana. Persian and final letters; the stroke that stretches a word.
ALIKE: dict[int, int | None] = {kana: kana - 0x60 for kana in range(0x30A1, 0x30F7)}
ALIKE |= str.maketrans("\u06cc\u0649\u06a9\u0629", "\u064a\u064a\u0643\u0647", "\u0640")
FREE = words("SH LO LT ST UC UT PN AE")


@dataclass(frozen=True, repr=False)
class Identifiers:
    """Folded strings of one input, without those that any radiograph may hold."""

    whole: frozenset[str]  # looked for between other letters and digits only
    inside: frozenset[str]  # looked for anywhere
    raw: frozenset[bytes]  # words as they are in the file, looked for in every byte
    numbers: frozenset[str] = frozenset()  # digits without leading zeros, looked for in numbers
    own: frozenset[str] = frozenset()  # those of ids and of the birth, looked for in parts too
    years: frozenset[str] = frozenset()  # of birth
    names: frozenset[str] = frozenset()  # parts of people's names, terms of radiology among them

    def found_in(self, text: str) -> bool:
        """True where ``text`` holds one of the strings."""
        text = folded(text)
        tokens = WORD.findall(text)
        joined = _joined(tokens)
        # One character at a time: 4-7-1-1, L. E. E.
        spelled = "".join(t if len(t) == 1 else f" {t} " for t in tokens).split()
        joined.update(spelled)
        numbers = {s.lstrip("0") for s in spelled}.difference(tokens)
        return (
            not joined.isdisjoint(self.whole)
            or not self.numbers.isdisjoint(numbers)
            or any(s in text for s in self.inside)
        )

    def numbered_in(self, raw: bytes, values: list, written: list) -> bool:
        """True where numbers say one of the strings: as bytes, as codes of letters, or as digits.

        Args:
            raw: the numbers as they were encoded.
            values: the numbers of the input, text or not.
            written: the same as they would be released.
        """
        found = [digits(v) for v in values]
        shown = [digits(v) for v in written]
        behind = "".join(str(v).partition(".")[2] for v in values)
        found += ["".join(found), *shown, "".join(shown), behind]
        if not self.numbers.isdisjoint(d.lstrip("0") for d in found):
            return True
        long = [d for d in shown if len(d) >= SHORTEST_NUMBER]
        if any(n in d or d in n for d in long for n in self.numbers if len(n) >= SHORTEST_NUMBER):
            return True
        letters = "".join(chr(int(d)) for d in found[: len(values)] if d and int(d) < 256)
        return self.found_in(raw.decode("latin-1")) or self.found_in(letters)

    def called_in(self, text: str) -> bool:
        """True where a part of somebody's name is a word of ``text``, whatever else it means, or
        is one backwards."""
        plain = folded(text)
        said = _joined(WORD.findall(plain)) | _joined(WORD.findall(plain[::-1]))
        return not said.isdisjoint(self.names)

    def spaced_in(self, text: str) -> bool:
        """True where the digits of ``text``, whatever stands between them, hold one of them."""
        digits = re.sub(r"\D", "", text)
        return any(n in digits for n in self.numbers if len(n) >= SHORTEST_NUMBER)

    def named_in(self, data: bytes) -> bool:
        """True where a text of the DICOM file ``data`` that is not fixed holds one of them."""
        header = Header.of_file(data)
        return any(
            self.found_in(str(value))
            for element in header
            if element.vr in FREE and element.tag not in TAGS["ours"]
            for value in header.decode(element)
        )

    def words_of(self, name: str) -> frozenset[bytes]:
        """The words of a file's name and of its header that must not be found in the output."""
        named = (w for w in strings.of_name(name) if not _harmless(w))
        return self.raw.union(named)


def of(header: Header, options: DicomOptions) -> Identifiers:
    """The identifying strings of ``header``: private text and the rows of Table E.1-1, at any
    depth, without those that an option retains as they are. Raises Refused: so many that no output
    could be searched for them all; a flood must not hide one."""
    whole, inside, numbers, own, years, names = (set[str]() for _ in range(6))
    raw = set[bytes]()
    for element, kind, texts in _telling(header, options):
        found = set[str]().union(*(_numbers(element.tag, kind, text) for text in texts))
        numbers |= found
        if element.tag in KEYS or element.tag == BIRTH:
            own |= found
        # Private names of implicit files have no representation.
        named = (t for t in texts if kind == "PN" or (kind == "UN" and "^" in t))
        names.update(*map(parts_of_name, named))
        if element.tag == BIRTH:
            years.update(date[1] for date in map(DATE.match, texts) if date)
        raw.update(w for w in strings.of_text(bytes(element.value)) if not _harmless(w))
        for candidate in {c for text in texts for c in _candidates(kind, text)}:
            tokens = WORD.findall(candidate)
            plain = " ".join(tokens)
            long = plain.isdigit() and element.tag not in KEYS
            shortest = SHORTEST_NUMBER if long else SHORTEST
            if len(plain) < shortest or all(t in HARMLESS or len(t) < 2 for t in tokens):
                continue
            if len(candidate) >= SUBSTRING:
                inside.add(candidate)
            if len(tokens) <= 3:
                whole.add(plain)
        if len(whole) + len(inside) + len(raw) + len(numbers) > MAX_STRINGS:
            raise Refused(Reason.DICOM_STRUCTURE, "more strings than can be searched for")
    others = map(frozenset, (numbers, own, years, names))
    return Identifiers(frozenset(whole), frozenset(inside), frozenset(raw), *others)


def sites(header: Header, *, below: bool = False) -> set[str]:
    """Words, folded, by which a header calls hospitals, departments and addresses, in letters that
    a text of a device may have; without those of radiology. ``below``: all of it is about one."""
    found = set[str]()
    for element in header:
        told = below or element.tag in TAGS["sites"]
        for item in header.items(element):
            found |= sites(item, below=told)
        if told:
            found.update(w for text in header.texts(element) for w in WORD.findall(folded(text)))
    return {w for w in found if len(w) >= SHORTEST and w.isascii() and w.isalpha()} - HARMLESS


def parts_of_name(name: str) -> set[str]:
    """The words of a person's name, folded, and each of its components as one word."""
    found = set[str]()
    for component in re.split(r"[\^=]", folded(name)):
        words = WORD.findall(component)
        found.update(words, ["".join(words)])
    return {word for word in found if len(word) > 1}


def _joined(tokens: list[str]) -> set[str]:
    """One to three neighbours, with blanks between them and without."""
    runs = [tokens[i : i + n] for n in (1, 2, 3) for i in range(len(tokens))]
    return {" ".join(run) for run in runs} | {"".join(run) for run in runs}


def folded(text: str) -> str:
    """Letters without case or accents, digits of any script as those of ASCII; one letter for those
    that are written for one another: katakana and hiragana, Arabic letters of several keyboards."""
    parts = unicodedata.normalize("NFKD", text)
    plain = (str(int(c)) if c.isdecimal() else c for c in parts if not unicodedata.combining(c))
    return "".join(plain).casefold().translate(ALIKE)


def _telling(header: Header, options: DicomOptions) -> Iterator[tuple[Element, str, list[str]]]:
    """Elements that the rules would not let through, with what they are and their texts."""
    for element in header:
        for item in header.items(element):
            yield from _telling(item, options)
        if profile.action(element.tag, options) in (None, Action.RETAIN):
            continue
        kind = meant(element)
        kind = kind if kind in TELLING else element.vr
        if kind in TELLING and element.items is None:
            yield element, kind, header.texts(element)
        elif element.vr in ("UN", "OB") and len(element.value) <= LONGEST_BYTES:
            text = bytes(element.value).decode("latin-1").strip(" \0")
            if text.isprintable():
                yield element, "UN", [text]


def _candidates(vr: str, value: str) -> set[str]:
    value = folded(value).strip()
    found = {value}
    if vr == "PN":
        found |= set(re.split(r"[\^= ]+", value))
    if vr in ("DA", "DT") and (date := DATE.match(value)):
        year, month, day = date.groups()
        found |= {f"{year}-{month}-{day}", f"{day}.{month}.{year}", year + month + day}
    return found - {""}


def _numbers(number: int, kind: str, text: str) -> set[str]:
    """The numbers that a text of attribute ``number`` may stand for in a header: a date in any
    order, runs of digits."""
    if kind in ("DA", "DT") and (date := DATE.match(text)):
        year, month, day = date.groups()
        orders = [o for y in (year, year[2:]) for o in permutations((y, month, day))]
        return {"".join(order).lstrip("0") for order in orders}
    runs = re.findall(r"[0-9]+", folded(text))
    least = SHORTEST_NUMBER + (number >> 16 & 1)  # private texts hold many numbers
    if number in KEYS:
        least = SHORTEST_KEY
    if kind != "UI":
        runs.append("".join(runs))
    return {run.lstrip("0") for run in runs if len(run.lstrip("0")) >= least}


def digits(value: str | float) -> str:
    """A number written out, without sign, point and what does not change it."""
    shown = format(Decimal(str(value)), "f").lstrip("+-")
    return (shown.rstrip("0") if "." in shown else shown).replace(".", "")


def _harmless(word: bytes) -> bool:
    """True for short numbers, and for what a released file may say of itself."""
    text = folded(word.decode("latin-1"))
    if text.isdigit():
        return len(text) < SHORTEST_DIGITS
    return all(t in SAID for t in WORD.findall(text))
