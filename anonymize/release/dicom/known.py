"""What DICOM headers, and tables of patients, know of people, as words that the paths of *all*
files of a release are searched for: a folder may be called as a patient whose own DICOM file lies
elsewhere.

Coarser than :mod:`paths`, which compares one header with the path of its own file, since every path
is compared with every header: by whole words, and longer ones inside words. A word is a name
(folded), ``~`` and the skeleton of one, or ``#`` and the digits of an id or a date of birth; ``*``
stands for anybody, where a header could not be searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise, permutations
from pathlib import PurePosixPath

from anonymize.release.dicom import carved, paths
from anonymize.release.dicom.elements import DicomError
from anonymize.release.dicom.header import Header, words
from anonymize.release.dicom.identifiers import HARMLESS, MAX_STRINGS, WORD, folded, parts_of_name
from anonymize.release.dicom.pseudonyms import DATE

ORDINARY = HARMLESS | words("anonymous anonymized covid data radiographs scan scans test train val")
INSIDE = 5  # letters of a name that is looked for inside words; in other scripts than Latin two
DIGITS = 4  # of an id, without leading zeros
SHORTEST_KEY = 3  # letters and digits of an id
ANYBODY = "*"
LONGEST = 64  # letters of a word of a path that are looked at


def in_header(data: bytes) -> frozenset[str]:
    """The words of the DICOM file ``data``; of a damaged one those of all that can be found in it.
    ANYBODY for so many that a release could not be searched for them all."""
    try:
        headers = [Header.of_file(data)]
    except DicomError:
        headers = list(carved.headers(data))
    found = frozenset(chain.from_iterable(map(_in_elements, headers)))
    return frozenset({ANYBODY}) if len(found) > MAX_STRINGS else found


def of_people(called: Iterable[str], born: Iterable[str] = ()) -> frozenset[str]:
    """The words of people whom somebody's table names, or numbers, and of their days of birth."""
    names = (word for who in called for word in (*_of_name(who), *_of_id(who)))
    return frozenset(chain(names, *map(_of_birth, born)))


def _in_elements(header: Header) -> Iterator[str]:
    for tag, kind, values in paths.values(header):
        for value in values:
            yield from _of(tag, kind, value)


def _of(tag: int, vr: str, value: str) -> Iterator[str]:
    if vr == "PN":
        yield from _of_name(value)
    elif tag in paths.NUMBERS:
        yield from _of_id(value)
    elif tag in paths.BIRTH:
        yield from _of_birth(value)


def _of_birth(value: str) -> set[str]:
    """Of 19480203, 3.2.1948 or 1948-02-03, in any order; nothing of what is no date."""
    parts = [part.zfill(2) for part in re.findall(r"\d+", value)]
    if (date := DATE.match(value)) is not None:
        parts = [*date.groups()]
    if len(parts) != 3:
        return set()
    return {f"#{''.join(order).lstrip('0')}" for order in permutations(parts)}


def _of_name(name: str) -> Iterator[str]:
    for group in name.split("="):
        components = ["".join(paths.RUN.findall(part)) for part in folded(group).split("^")[:2]]
        joined = {"".join(order) for order in permutations(components) if all(components)}
        for word in (parts_of_name(group) | joined) - ORDINARY:
            if word.isdigit() and len(word) < DIGITS:
                continue  # a number that any file may have
            yield word
            yield from _skeleton(word)


def _skeleton(word: str) -> list[str]:
    own = paths.skeleton(word)
    return [f"~{own}"] if len(own) >= INSIDE - 1 and own.isascii() else []


def _of_id(value: str) -> Iterator[str]:
    own = paths.squeezed(value)
    if len(own) >= SHORTEST_KEY and not own.isdigit() and own not in ORDINARY:
        yield own
    digits = "".join(re.findall(r"\d+", own)).lstrip("0")
    if len(digits) >= DIGITS:
        yield f"#{digits}"


def in_path(path: str) -> Iterator[frozenset[str]]:
    """The words of a path under IN, as :func:`in_header` has them, part by part."""
    for read in paths.readings(paths.without_extension(path)):
        yield frozenset(_numbers(folded(read)))
        yield from map(_in_part, PurePosixPath(read).parts)


@lru_cache(maxsize=4096)  # files share folders
def _in_part(part: str) -> frozenset[str]:
    runs = paths.RUN.findall(part)
    runs = [piece for run in runs for piece in {run, *paths.HUMP.split(run)}]
    texts = {text[:LONGEST] for run in runs if (text := folded(run)) not in ORDINARY}
    plain = [text for run in paths.RUN.findall(part) if (text := folded(run)) not in ORDINARY]
    texts |= {(a + b)[:LONGEST] for a, b in pairwise(plain)}
    found = {word for word in map(folded, WORD.findall(part)) if word not in ORDINARY}
    found |= {paths.squeezed(part)}
    for text in texts:
        found |= {text, *_skeleton(text)}
        for k in (1, 2):  # beside an initial or two
            found |= {*_skeleton(text[k:]), *_skeleton(text[:-k])}
        least = INSIDE if text.isascii() else 2
        for said in (text, text[::-1]):
            ends = range(least, len(said) + 1)
            found |= {said[start:end] for end in ends for start in range(end - least + 1)}
    return frozenset(found - ORDINARY)


def _numbers(text: str) -> Iterator[str]:
    """Runs of digits, and up to three neighbours as one, those of one digit with a zero before."""
    runs = re.findall(r"\d+", text)
    for count in (1, 2, 3):
        for start in range(len(runs) - count + 1):
            near = runs[start : start + count]
            yield f"#{''.join(near).lstrip('0')}"
            yield f"#{''.join(run.zfill(2) for run in near).lstrip('0')}"
