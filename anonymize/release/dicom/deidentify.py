"""A header without what tells the patient: a new data set, attribute by attribute.

PS3.15 Annex E, Basic Application Level Confidentiality Profile, with the options of
:mod:`options`. Nothing is taken over from the input but what a rule of :mod:`attributes` or a row
of :mod:`profile` lets through; sequences are walked to their last item.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pydicom.datadict import dictionary_VR, keyword_for_tag
from pydicom.dataset import Dataset

from anonymize.release.dicom import identifiers, parts, paths, profile, terms, view
from anonymize.release.dicom.attributes import ALLOWED, MODIFIERS, RETAINED, Attribute
from anonymize.release.dicom.elements import DicomError, Element
from anonymize.release.dicom.header import Header, tag, tags, words
from anonymize.release.dicom.identifiers import Identifiers
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.dicom.profile import Action
from anonymize.release.dicom.pseudonyms import Pseudonyms, is_placeholder, shifted
from anonymize.release.dicom.rules import COUNTS, SEVERAL, Text, Words
from anonymize.release.dicom.terms import DEVICE_TEXT, TAGS
from anonymize.release.reasons import Reason, Refused

# What stands for a value that must not be empty (code D); the scan of a release knows them too.
DUMMIES = {
    **dict.fromkeys(["AE", "CS", "LO", "LT", "PN", "SH", "ST", "UC", "UT"], "ANONYMIZED"),
    **dict.fromkeys(["DS", "IS"], "0"),
    **dict.fromkeys(["US", "SS", "UL", "SL", "UV", "SV", "FL", "FD"], 0),
    "AS": "000Y",
    "DA": "19000101",
    "DT": "19000101000000",
    "TM": "000000",
    "UR": "http://anonymized.invalid",
}
NUMERIC = words("DS IS US SS FL FD") | {"US or SS"}
LUT_DATA = tag("LUTData")
LUTS = tags("ModalityLUTSequence VOILUTSequence")
DEVICE_TEXTS = TAGS["devices"] | tags(f"{DEVICE_TEXT} Manufacturer")
# One says nothing without the other.
PAIRS = [
    *(tags("WindowCenter WindowWidth"), tags("RescaleIntercept RescaleSlope")),
    tags("LUTDescriptor LUTData"),
    tags("PixelPaddingValue PixelPaddingRangeLimit"),
]
NEEDED = ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID")


@dataclass(frozen=True, repr=False)
class Deidentifier:
    """The rules of one release: its secret and its options.

    ``names_kept``: outputs have the names of the inputs, which must not tell the patient either.
    """

    secret: bytes
    options: DicomOptions
    names_kept: bool = False

    def header(self, header: Header, *, signed: bool = False) -> tuple[Dataset, Identifiers]:
        """The header to release, without pixels and without the attributes that describe them, and
        the strings that must not be found in it. Raises Refused: no study, series or instance UID,
        or several."""
        if any(len(header.values(k)) != 1 for k in NEEDED):
            raise Refused(Reason.DICOM_METADATA, "not one study, series and instance UID")
        found = identifiers.of(header, self.options)
        # Without a patient ID, whoever has one study in common is one patient.
        identity = header.text("PatientID") or f"study {header.text('StudyInstanceUID')}"
        known = paths.Known.of(header)
        known.names.extend(sorted(identifiers.sites(header)))
        walk = _Walk(Pseudonyms(self.secret), self.options, identity, found, known, signed)
        released = walk.data_set(header, ALLOWED)
        _count_once(released, self.options)
        walk.part_texts(released)
        _apart(released, found)
        released.PatientID = walk.pseudonyms.patient(identity)
        return released, found


@dataclass(frozen=True)
class _Walk:
    """One header on its way."""

    pseudonyms: Pseudonyms
    options: DicomOptions
    identity: str
    identifiers: Identifiers
    known: paths.Known
    signed: bool

    def data_set(self, header: Header, allowed: Mapping[int, Attribute]) -> Dataset:
        """What stays of one data set or item."""
        made = Dataset()
        for element in header:
            action = profile.action(element.tag, self.options)
            if action is Action.REMOVE:
                continue
            if action is not None:
                self._row(made, header, element, action)
            elif element.tag in allowed:
                self._allow(made, header, element, allowed[element.tag])
        for pair in PAIRS:
            if pair <= header.elements.keys() and not pair <= made.keys():
                for number in pair:
                    made.pop(number, None)
        return made

    def _row(self, made: Dataset, header: Header, element: Element, action: Action) -> None:
        """An attribute of Table E.1-1 that is not removed."""
        vr = dictionary_VR(element.tag)
        values: list | None = [DUMMIES[vr]] if action is Action.DUMMY else []
        if action not in (Action.EMPTY, Action.DUMMY):
            values = self._replaced(header, element, action) if element.vr == vr else None
        if values is not None:
            _add(made, element.tag, vr, values)
            return
        fallback = profile.action(element.tag, DicomOptions())
        if fallback in (Action.EMPTY, Action.DUMMY):
            self._row(made, header, element, fallback)

    def _replaced(self, header: Header, element: Element, action: Action) -> list | None:
        """New values for an attribute, None where none could be made of the old ones."""
        try:
            values = header.decode(element)
        except DicomError:
            return None
        if action is Action.NEW_UID:
            return [self.pseudonyms.uid(v) for v in values]
        if action is Action.PATIENT_ID:
            return []  # set once for all, even where it is missing
        if action is Action.ACCESSION:
            return [self.pseudonyms.accession(v) for v in values[:1]]
        if action is Action.SHIFT:
            if element.vr != "TM" and any(map(is_placeholder, values)):
                return None
            by = self.pseudonyms.shift(self.identity)
            moved = [shifted(v, element.vr, by) for v in values]
            return None if None in moved or not moved else moved
        if action is Action.WORDS:
            return Words(element.vr, self.identifiers.names)(values)
        rule = RETAINED.get(element.tag) or Text(element.vr)
        kept = rule(values)
        if kept is None or self._tells(kept) or self._counts(element, values, kept):
            return None
        return kept

    def _allow(self, made: Dataset, header: Header, element: Element, attribute: Attribute) -> None:
        """An attribute that no row names and that may stay."""
        vr = self._representation(element, attribute)
        if attribute.codes or attribute.items:
            items = self._items(header, element, attribute) if vr else []
            if items or attribute.required:
                made.add_new(element.tag, "SQ", items)
            return
        kept, free = None, False
        if vr:
            try:
                values = header.decode(element, signed=self.signed)
                kept, free = attribute.admit(values, self.options) if values else ([], False)
            except DicomError:
                kept = None
        if kept and ((free and self._tells(kept)) or self._counts(element, values, kept)):
            kept = None
        if kept or attribute.required:
            _add(made, element.tag, vr or attribute.vrs[0], kept or [])

    def _representation(self, element: Element, attribute: Attribute) -> str:
        """The VR that is written, "" where the input's is not that of the attribute."""
        vrs = attribute.vrs
        if element.vr in vrs:
            return element.vr
        if element.vr == " or ".join(vrs):  # implicit, and the dictionary leaves it open
            return ("SS" if self.signed else "US") if "SS" in vrs else vrs[-1]
        return ""

    def _items(self, header: Header, element: Element, attribute: Attribute) -> list[Dataset]:
        items = header.items(element)
        if attribute.codes:
            return self._codes(items)
        made = [self.data_set(item, attribute.items) for item in items[:1]]
        if made and "LUTData" in made[0]:
            _plain(made[0], items[0])
        return [item for item in made if len(item)]

    def _codes(self, items: list[Header], *, modified: bool = True) -> list[Dataset]:
        """Coded concepts with their official meanings, each once, ``modified`` by others or not;
        those that are not known are left out."""
        found = dict[tuple[str, str], Dataset]()
        for item in items:
            value, scheme = (item.text(k) for k in ("CodeValue", "CodingSchemeDesignator"))
            meaning = terms.meaning(value, scheme)
            if meaning is None or (value, scheme) in found or len(found) == SEVERAL:
                continue
            found[value, scheme] = made = Dataset()
            made.CodeValue, made.CodingSchemeDesignator, made.CodeMeaning = value, scheme, meaning
            for element in item:
                known = modified and element.tag in MODIFIERS and element.vr == "SQ"
                if known and (modifiers := self._codes(item.items(element), modified=False)):
                    made.add_new(element.tag, "SQ", modifiers)
        return list(found.values())

    def part_texts(self, made: Dataset) -> None:
        """Removes, or empties, the texts of the device where they tell somebody together."""
        texts = [e for e in made if e.tag in DEVICE_TEXTS and e.value]
        if self._tells([v for e in texts for v in (e.value if e.VM > 1 else [e.value])]):
            for element in texts:
                _drop(made, element.tag)

    def _tells(self, values: list) -> bool:
        """True where texts name somebody, a place or a day, each or together."""
        told = self.identifiers
        looks = told.found_in, told.spaced_in, told.called_in, self.known.told_in
        texts = list(map(str, values))
        together = {*texts, "".join(texts), " ".join(texts)}
        return any(look(text) for text in together for look in looks)

    def _counts(self, element: Element, values: list, kept: list) -> bool:
        if element.vr not in NUMERIC or element.tag == LUT_DATA:
            return False
        return self.identifiers.numbered_in(bytes(element.value), values, kept)


def _drop(made: Dataset, number: int) -> None:
    """Leaves of an attribute what there must be: nothing, no value, or a dummy."""
    action, vr = profile.action(number, DicomOptions()), made[number].VR
    if action in (Action.EMPTY, Action.DUMMY) or keyword_for_tag(number) in terms.REQUIRED:
        _add(made, number, vr, [DUMMIES[vr]] if action is Action.DUMMY else [])
    else:
        del made[number]


def _count_once(made: Dataset, options: DicomOptions) -> None:
    """Descriptions count views alike, or not at all: each may have a digit, together many."""
    texts = {e.tag: e for e in made if profile.action(e.tag, options) is Action.WORDS and e.value}
    said = {
        number: [v.split() for v in (e.value if e.VM > 1 else [e.value])]
        for number, e in texts.items()
    }
    counts = {w for values in said.values() for v in values for w in v if w.casefold() in COUNTS}
    if len(counts) > 1:
        for number, values in said.items():
            plain = [" ".join(w for w in v if w not in counts) for v in values]
            _add(made, number, texts[number].VR, plain)


def _apart(made: Dataset, found: Identifiers) -> None:
    """Removes, or empties, numbers that say an identifier together, and what goes with them."""
    for data_set, number in parts.told(made, found):
        for gone in {number}.union(*(pair for pair in PAIRS if number in pair)):
            if gone in data_set:
                _drop(data_set, gone)
    for number in LUTS & made.keys():
        if "LUTData" not in made[number].value[0]:
            del made[number]


def _plain(made: Dataset, item: Header) -> None:
    """A released table with the entries that tables may have."""
    entries = view.plain_table(item)
    if entries.itemsize == 1:
        padded = entries.tobytes() + bytes(len(entries) % 2)  # whatever the input's padding was
        entries = np.frombuffer(padded, item.order + "u2")
    _add(made, LUT_DATA, made[LUT_DATA].VR, entries.tolist())


def _add(made: Dataset, number: int, vr: str, values: list) -> None:
    if vr == "SQ":
        made.add_new(number, vr, [])
        return
    if vr == "OW":
        made.add_new(number, vr, struct.pack(f"<{len(values)}H", *values))
        return
    made.add_new(number, vr, values[0] if len(values) == 1 else values or None)
