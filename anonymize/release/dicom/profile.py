"""PS3.15 Table E.1-1: what happens to an attribute, by its row and the options chosen.

The rows and their codes come from dicom-anonymizer (edition 2026c of the Standard), which has the
column of the Basic Profile only; those of the options that are offered are in ``vocabulary.yaml``.
"""

from __future__ import annotations

from enum import Enum
from functools import cache, lru_cache

from dicomanonymizer.dicom_anonymization_databases import dicomfields_2026c as table
from pydicom.datadict import dictionary_has_tag, dictionary_VR

from anonymize.release.dicom.header import tag
from anonymize.release.dicom.options import DATES, DEVICE, PATIENT, DicomOptions
from anonymize.release.dicom.terms import TAGS

EDITION = "2026c"


class Action(Enum):
    """What becomes of an attribute that has a row in the table."""

    REMOVE = "X"
    EMPTY = "Z"
    DUMMY = "D"
    NEW_UID = "U"
    PATIENT_ID = "patient"  # Z/D, a keyed pseudonym
    ACCESSION = "accession"  # Z, a keyed pseudonym, which Z allows
    SHIFT = "date"  # C of a date or time
    WORDS = "words"  # C of a description
    RETAIN = "K"


# X unless the information object requires more; which is known for CR, DX and secondary capture.
PLAIN = {
    "D": Action.DUMMY,
    "Z": Action.EMPTY,
    "X": Action.REMOVE,
    "U": Action.NEW_UID,
    "Z/D": Action.EMPTY,
    "X/Z": Action.REMOVE,
    "X/D": Action.REMOVE,
    "X/Z/D": Action.REMOVE,
    "X/Z/U*": Action.REMOVE,
}
PSEUDONYMS = {tag("PatientID"): Action.PATIENT_ID, tag("AccessionNumber"): Action.ACCESSION}


@cache
def rows() -> dict[int, str]:
    """Tag → code of the Basic Profile, for every row of one attribute."""
    return {t[0] << 16 | t[1]: code for t, code in _listed() if len(t) == 2}


@cache
def ranges() -> tuple[tuple[int, int, str], ...]:
    """(tag, mask, code) of the rows that stand for many attributes: curves, overlays, private."""
    several = ((t, code) for t, code in _listed() if len(t) == 4)
    return tuple((t[0] << 16 | t[1], t[2] << 16 | t[3], code) for t, code in several)


def _listed() -> list[tuple[tuple[int, ...], str]]:
    names = {code: code.replace("/", "_").replace("*", "_STAR") for code in PLAIN}
    return [(t, code) for code, name in names.items() for t in getattr(table, f"{name}_TAGS")]


@lru_cache(maxsize=1 << 16)  # a file may have any tags
def action(number: int, options: DicomOptions) -> Action | None:
    """What happens to the attribute ``number``; None where the table has no row for it.

    Sequences and bytes are removed where their row says D: no object that is released needs them.
    So are attributes that the data dictionary does not have, and those of commands, file meta
    information and directories, which do not belong into a data set.
    """
    if number >> 16 & 1 or number >> 16 < 8:
        return Action.REMOVE
    for first, mask, repeated in ranges():
        if number & mask == first & mask:
            return PLAIN[repeated]
    code = rows().get(number)
    if code is None:
        return None
    if not dictionary_has_tag(number):
        return Action.REMOVE
    if number in PSEUDONYMS:
        return PSEUDONYMS[number]
    vr = dictionary_VR(number)
    if vr in ("DA", "DT", "TM"):
        if DATES in options.retain and number not in TAGS["no_history"]:
            return Action.SHIFT
    elif (PATIENT in options.retain and number in TAGS["characteristics"]) or (
        DEVICE in options.retain and number in TAGS["devices"]
    ):
        return Action.RETAIN
    elif (options.clean_descriptors and number in TAGS["descriptors"]) or (
        PATIENT in options.retain and number in TAGS["characteristics_text"]
    ):
        return Action.WORDS
    found = Action.EMPTY if code == "X/Z" and number in TAGS["type_2"] else PLAIN[code]
    if found is Action.DUMMY and vr == "UI":
        return Action.NEW_UID
    return Action.REMOVE if found is Action.DUMMY and vr in ("SQ", "OB", "OW", "UN") else found
