"""Whether a path or text tells the patient of a DICOM file: names, numbers and dates, however
spelled.

Names are compared by skeletons, which Müller, Mueller and Muller share, or Иванов, Ivanov and
Iwanow; numbers without separators and leading zeros; dates in any order. All of them backwards too.
What an attribute is decides what is looked for, not what the file says of its representation.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import PurePosixPath
from unicodedata import combining, normalize
from urllib.parse import unquote

from anonymize.release.dicom.header import CYRILLIC, SOMEBODY, Header, meant, tags
from anonymize.release.dicom.identifiers import HARMLESS, WORD, folded, parts_of_name
from anonymize.release.dicom.pseudonyms import DATE
from anonymize.release.dicom.terms import TAGS
from anonymize.release.formats import PICTURES

PHONES = tags("PatientTelephoneNumbers PatientTelecomInformation")
NUMBERS = PHONES | TAGS["keys"]
LOCAL = 6  # last digits of a phone number
UIDS = tags("SOPInstanceUID SeriesInstanceUID StudyInstanceUID FrameOfReferenceUID")
DAYS = ("DA", "DT")
# Of names of files, where they are no UTF-8, and of archives, whose tools know but code page 437.
LEGACY = (*CYRILLIC, "gbk", "big5", "shift_jis", "euc_kr", "cp1250", "cp1253", "cp1255", "cp1256")
UNREAD = re.compile("[\ud800-\udfff]")  # a byte of no UTF-8
BIRTH = tags("PatientBirthDate")
# Digits of a number that is looked for: as it is, without its zeros, and among others.
EXACT, WHOLE, PART = 3, 4, 5
NAME = 4  # letters of a name that is looked for inside words
# Cyrillic and Greek, and Latin letters that have no decomposition; after ``folded``.
LETTERS = dict(zip(
    "абвгдезиклмнопрстуфыэіїґαβγδεζηθικλμνξοπρστυφωłđðøıþ",
    "abvgdeziklmnoprstufyeiigavgdezitiklmnxoprstyfolddoit",
    strict=True,
))  # fmt: skip
LETTERS |= {"й": "i", "ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch"}
LETTERS |= {"ю": "yu", "я": "ya", "ь": "", "ъ": "", "є": "ye", "χ": "ch", "ψ": "ps"}
LETTERS |= {"æ": "ae", "œ": "oe"}
LATIN = str.maketrans(LETTERS)
SIBILANTS = re.compile(r"t?[csz](?:t?[csz])*")
VOWELS = re.compile(r"[aeiou]+")
# As they begin in English, German, French, Italian, Spanish, Portuguese, Dutch and Polish.
MONTHS = [
    *("jan|ene|gen|sty", "feb|fev|lut", "mar|mrz|mrt", "apr|avr|abr|kwi", "may|mai|mei|mag|maj"),
    *("jun|juin|giu|cze", "jul|juil|lug|lip", "aug|ago|aou|sie", "sep|set|wrz"),
    *("oct|okt|ott|out|paz", "nov|lis", "dec|dez|dic|gru"),
]
MONTH = {name: f"{k:02}" for k, names in enumerate(MONTHS, 1) for name in names.split("|")}
WRITTEN_MONTH = re.compile(rf"(?<![^\W\d_])({'|'.join(MONTH)})[a-z]{{0,8}}(?![^\W\d_])")
NOT_ASCII = re.compile("[^\x00-\x7f]")
SHORTEST_LOST = 3  # letters of a name without those that are not ASCII
RUN = re.compile(r"[^\W\d_]+")
DIGITS = re.compile(r"([013457])(?=\d*[^\W\d_])")  # that stand for letters: one follows
STANDS_FOR = [str.maketrans("013457", f"o{one}east") for one in "il"]
HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


@dataclass(frozen=True, repr=False)
class Known:
    """What a DICOM header tells of people: names, numbers, dates (year, month, day), and years of
    birth."""

    names: list[str]
    numbers: list[str]
    dates: list[tuple[str, ...]]
    years: set[str]

    @classmethod
    def of(cls, header: Header) -> Known:
        """That of a header, at any depth."""
        known = cls([], [], [], set())
        for tag, kind, said in values(header):
            if kind == "PN":
                known.names.extend(said)
            elif tag in NUMBERS | UIDS:
                known.numbers.extend(said)
                if tag in PHONES:
                    known.numbers.extend(squeezed(one)[-LOCAL:] for one in said)
            elif found := [d.groups() for v in said if (d := DATE.match(v))]:
                known.dates.extend(found)
                known.years.update(y for y, _, _ in found if tag in BIRTH)
        return known

    def told_in(self, text: str) -> bool:
        """True where a text, a path or the like, tells the patient, another person or a day."""
        return any(
            any(_named(read, name, self.years) for name in self.names)
            or any(_numbered(read, number) for number in self.numbers)
            or any(_dated(read, date) for date in self.dates)
            for read in readings(text)
        )


def tell(paths: Iterable[str], data: bytes) -> bool:
    """True where one of ``paths`` tells of whom the DICOM file ``data`` does."""
    known = Known.of(Header.of_file(data))
    return any(map(known.told_in, map(without_extension, paths)))


def readings(text: str) -> set[str]:
    """``text``, and what it is where its bytes stand as %C3%BC in it, or were read as another
    encoding's."""
    found = {text, unquote(text)}
    if text.isascii():
        return found
    if UNREAD.search(text):
        return found | set(_decoded(os.fsencode(text), LEGACY))
    for encoding, others in (("cp1252", ()), ("latin-1", ()), ("cp437", LEGACY)):
        with suppress(UnicodeError):
            found.update(_decoded(text.encode(encoding), ("utf-8", *others)))
    return found


def _decoded(raw: bytes, encodings: Iterable[str]) -> Iterator[str]:
    """``raw`` in each of the ``encodings`` in which all that is not ASCII is letters."""
    for encoding in encodings:
        with suppress(UnicodeError):
            text = raw.decode(encoding)
            if all(c.isascii() or c.isalpha() or combining(c) for c in text):
                yield text


def without_extension(path: str) -> str:
    """``path`` without the extension of a picture."""
    pure = PurePosixPath(path)
    return str(pure.with_suffix("") if pure.suffix.lower() in PICTURES else pure)


def values(header: Header) -> Iterator[tuple[int, str, list[str]]]:
    """Tag, representation and texts of names, numbers and dates at any depth."""
    for element in header:
        for item in header.items(element):
            yield from values(item)
        kind = element.vr if element.vr in DAYS else meant(element)
        if kind in ("PN", *DAYS) or element.tag in NUMBERS | UIDS:
            yield element.tag, kind, header.texts(element)


def _named(path: str, name: str, years: set[str]) -> bool:
    """``path`` holds a part of ``name``, or its initials beside a year of birth."""
    if name == SOMEBODY:  # every word may be it
        said = (word for word in map(folded, RUN.findall(path)) if len(word) > 1)
        return UNREAD.search(path) is not None or any(word not in HARMLESS for word in said)
    groups = [
        [RUN.findall(folded(part)) for part in group.split("^")[:3]] for group in name.split("=")
    ]
    parts = {word for group in groups for words in group for word in words if len(word) > 1}
    for group in groups:  # Min-su is minsu as well, and Kim Min-su kimminsu
        whole = list(filter(None, map("".join, group)))
        parts.update(whole, *(map("".join, permutations(whole, n)) for n in (2, 3)))
    lost = NOT_ASCII.sub("", normalize("NFC", name)).casefold()  # as M_ller is called
    parts.update(word for word in RUN.findall(lost) if len(word) >= SHORTEST_LOST)
    words = RUN.findall(path)
    humps = [hump for word in words for hump in HUMP.split(word)] + list(_digits_for_letters(path))
    if not parts_of_name(name).isdisjoint(map(folded, words + humps)):
        return True  # whatever else the word means
    runs = [run for run in map(folded, words + humps) if run not in HARMLESS]
    joined = "".join(run for run in map(folded, words) if len(run) < NAME or run not in HARMLESS)
    if any(_spelled(part, runs, joined) for part in parts):
        return True
    if parts and not any(_latin(part).isascii() for part in parts):
        return any(len(run) > 2 for run in runs if run.isascii())  # who knows how it is spelled
    initials = Counter(_latin(word)[:1] for words in groups[0] for word in words)
    return any(
        Counter(re.findall("[a-z]", letters)) <= initials
        for year in years
        for y in (year, year[2:])
        for found in re.findall(
            rf"(?<![a-z])((?:[a-z][\W_]*){{2,5}}){y}(?!\d)"
            rf"|(?<!\d){y}[\W_]*((?:[a-z][\W_]*){{2,5}})(?![a-z])",
            _latin(folded(path)),
        )
        if (letters := "".join(found))
    )


def _digits_for_letters(path: str) -> Iterator[str]:
    """Words of ``path`` with digits among more letters, as in J0hn and Sm1th, read as letters."""
    for word in WORD.findall(path):
        if 0 < sum(map(str.isdigit, word)) < sum(map(str.isalpha, word)):
            for letters in STANDS_FOR:
                parts = DIGITS.split(word)  # texts and, between them, digits
                parts[1::2] = (digit.translate(letters) for digit in parts[1::2])
                yield from RUN.findall("".join(parts))


def _spelled(part: str, runs: list[str], joined: str) -> bool:
    if len(part) < NAME and part.isascii():  # in any word: alone, or beside an initial or two
        short = rf"{part}[a-z]{{0,2}}|[a-z]{{1,2}}{part}"
        return any(re.fullmatch(short, run) for run in runs)
    if part in joined or part in joined[::-1]:
        return True
    if not _latin(part).isascii():
        return False
    fine, coarse = skeleton(part), VOWELS.sub("a", skeleton(part))
    for text in (*runs, joined, joined[::-1]):
        own = skeleton(text)
        vague = VOWELS.sub("a", own)
        if fine in own and len(fine) >= NAME - 1:
            return True
        if len(own) > NAME and fine.startswith(own):  # cut off
            return True
        if coarse in vague if len(coarse) > NAME else vague == coarse:
            return True
    return False


def _latin(text: str) -> str:
    return text.translate(LATIN)


def skeleton(text: str) -> str:
    """Letters that spellings of a name have in common, each once."""
    text = text.replace("ου", "ou").replace("dj", "đ")
    text = _latin(text).replace("ph", "f").replace("ck", "k").replace("h", "")
    text = re.sub("([aou])e", r"\1", text).translate(str.maketrans("jywq", "iivk"))
    return re.sub(r"(.)\1+", r"\1", SIBILANTS.sub("s", text))


def squeezed(text: str) -> str:
    """Folded, letters and digits alone."""
    return re.sub(r"[\W_]+", "", folded(text))


def _numbered(path: str, number: str) -> bool:
    """``path`` holds ``number``, with or without its letters and its leading zeros."""
    own, there = squeezed(number), squeezed(path)
    exact = "".join(re.findall(r"\d+", own))
    digits = exact.lstrip("0")
    if len(own) >= EXACT and own in WORD.findall(folded(path)):
        return True
    for text in (there, there[::-1], folded(path), *map(squeezed, path.split("/"))):
        runs = re.findall(r"\d+", text)
        if len(exact) >= EXACT and exact in runs:
            return True
        runs = [run.lstrip("0") for run in runs]
        if len(digits) >= WHOLE and digits in runs:
            return True
        if len(digits) >= PART and any(digits in run for run in runs):
            return True
        if len(own) >= PART and own not in HARMLESS and own in text:
            return True
    return False


def _dated(path: str, date: tuple[str, ...]) -> bool:
    """``path`` holds ``date`` (year, month, day)."""
    text = WRITTEN_MONTH.sub(lambda found: f" {MONTH[found[1]]} ", folded(path))
    year, month, day = date
    runs = re.findall(r"\d+", f"{squeezed(text)} {text}")
    orders = [(year, month, day), (day, month, year), (month, day, year), (year, day, month)]
    for order in orders:
        whole, short = "".join(order), "".join(part[-2:] for part in order)
        if any(whole in run or whole in run[::-1] or run == short for run in runs):
            return True
    apart = [int(run) for run in re.findall(r"\d+", text)]
    wanted = [sorted((int(y), int(month), int(day))) for y in (year, year[2:])]
    return any(sorted(apart[k : k + 3]) in wanted for k in range(len(apart) - 2))
