"""Keyed replacements: the same for the same key, over batches and years; nothing back without it.

HMAC-SHA256 with a label for each purpose, so that no two kinds of replacement can be compared.
"""

from __future__ import annotations

import base64
import hmac
import re
import unicodedata
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from anonymize.csv_cells import CONTROL, UNSEEN

LONGEST_SHIFT = 3650  # days; dates go back by 1 to this many
DATE = re.compile(r"(\d{4})[.]?(\d{2})[.]?(\d{2})")
DATE_TIME = re.compile(r"(\d{8})(\d{2})?(\d{2})?(\d{2})?(\.\d{1,6})?([+-]\d{4})?")
TIME = re.compile(r"(\d{2}):?(\d{2})?:?(\d{2})?(\.\d{1,6})?")
OWN_UID = re.compile(r"2\.25\.([1-9]\d{0,38})")
HYPHENS = re.compile("[\u2010-\u2015\u2212]")  # and dashes, and the minus sign
# Days at which clocks begin, and what a program writes for none.
NO_DAYS = frozenset(["19800101", "19800106", "19991231", "20000101", "20010101"])
BASE_32 = re.compile(r"[A-Z2-7]*")


@dataclass(frozen=True, repr=False)
class Pseudonyms:
    """Replacements under ``secret``."""

    secret: bytes

    def uid(self, old: str) -> str:
        """A UID for ``old``: 2.25. and a UUID of version 8 as a number (PS3.5 B.2, RFC 9562)."""
        number = int.from_bytes(self._keyed("uid", old.strip(" \0"))[:16])
        number &= ~(0xF << 76 | 0x3 << 62)
        return f"2.25.{uuid.UUID(int=number | 0x8 << 76 | 0x2 << 62).int}"

    def patient(self, identity: str) -> str:
        """32 letters and digits for a patient's identity; see ``normal``."""
        return base64.b32encode(self._keyed("patient", normal(identity))[:20]).decode()

    def accession(self, old: str) -> str:
        """16 letters and digits, the most that (0008,0050) holds."""
        return base64.b32encode(self._keyed("accession", normal(old))[:10]).decode()

    def shift(self, identity: str) -> timedelta:
        """How far all dates of a patient are moved: whole days into the past."""
        number = int.from_bytes(self._keyed("date", normal(identity))[:8])
        return timedelta(days=-(1 + number % LONGEST_SHIFT))

    def _keyed(self, purpose: str, value: str) -> bytes:
        message = f"anonymize dicom {purpose}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.secret, message, "sha256")


def normal(identity: str) -> str:
    """An identifier as it is compared: what one sees of it, in one Unicode form, without case; one
    blank for several, none at the ends, one hyphen for all that look like it."""
    seen = UNSEEN.sub("", unicodedata.normalize("NFKC", CONTROL.sub(" ", identity)))
    return HYPHENS.sub("-", unicodedata.normalize("NFKC", " ".join(seen.split()).casefold()))


def shifted(value: str, vr: str, by: timedelta) -> str | None:
    """A DA, DT or TM value of the same patient at another time; None where it is no valid one.

    Dates move by whole days, so that intervals stay; times are cut to the hour, since a date and
    a time to the second would tell the examination to whoever was there.
    """
    if vr == "TM":
        found = TIME.fullmatch(value)
        return f"{found[1]}0000" if found and int(found[1]) < 24 else None
    found = (DATE if vr == "DA" else DATE_TIME).fullmatch(value)
    if found is None:
        return None
    digits = "".join(found.groups()) if vr == "DA" else found[1]
    try:
        moved = datetime.strptime(digits, "%Y%m%d") + by
    except (ValueError, OverflowError):
        return None
    hour = found[2] if vr == "DT" else None
    if hour and int(hour) > 23:
        return None
    return f"{moved:%Y%m%d}".rjust(8, "0") + (f"{hour}0000" if hour else "")


def is_placeholder(value: str) -> bool:
    """True for a DA or DT value that stands for no day. It is the same for everybody, and so would
    tell how far a patient's dates were shifted."""
    found = DATE.match(value)
    day = "" if found is None else "".join(found.groups())
    return day in NO_DAYS or not "19700101" < day < "20380119"


def is_uid(value: str) -> bool:
    """True for the form of :meth:`Pseudonyms.uid`: a UUID of version 8."""
    found = OWN_UID.fullmatch(value)
    number = int(found[1]) if found else 0
    return number >> 128 == 0 and number >> 76 & 0xF == 8 and number >> 62 & 3 == 2


def is_one(value: str, length: int) -> bool:
    """True for the form of :meth:`Pseudonyms.patient` or ``accession``.

    Chance draws a third as many different characters or more; a name that one letter fills up has
    fewer.
    """
    return bool(BASE_32.fullmatch(value)) and len(value) == length and len(set(value)) > length // 3


def is_shifted(value: str, vr: str) -> bool:
    """True for a day and hour, as :func:`shifted` gives them, that there are."""
    return shifted(value, vr, timedelta()) == value
