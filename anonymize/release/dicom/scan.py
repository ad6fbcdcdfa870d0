"""The independent look at a released DICOM file: no key and no input needed.

The file is parsed by :mod:`elements`, which had no part in writing it, and every element must be
one that the rules let through, with a value that they let through, under the options that the
file itself names. One byte that is not accounted for, and the file is refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from pydicom.datadict import dictionary_VR

from anonymize import __version__
from anonymize.release.dicom import pixels, profile, pseudonyms, terms, view
from anonymize.release.dicom.attributes import ALLOWED, MODIFIERS, RETAINED, SOP_CLASSES, Attribute
from anonymize.release.dicom.deidentify import DUMMIES, NEEDED
from anonymize.release.dicom.elements import (
    PIXEL_DATA,
    DicomError,
    Element,
    read_file,
    text,
    written,
)
from anonymize.release.dicom.header import ONE_VALUE, PADDING, TEXT, Header, tag, tags
from anonymize.release.dicom.options import (
    BASIC,
    CLEAN_DESCRIPTORS,
    CLEAN_PIXELS,
    CODES,
    DATES,
    DicomOptions,
    from_codes,
)
from anonymize.release.dicom.profile import Action
from anonymize.release.dicom.rules import SEVERAL, Text, Words
from anonymize.release.dicom.syntax import EXPLICIT_LITTLE, WRITTEN
from anonymize.release.dicom.write import DERIVATION, IMPLEMENTATION, IMPLEMENTATION_NAME
from anonymize.release.reasons import Refused

PSEUDONYM = {Action.PATIENT_ID: 32, Action.ACCESSION: 16}  # characters
NUMBER = r"(0|[1-9]\d?)"  # of a version
METHOD = re.compile(
    rf"anonymize-cxr (?P<version>{NUMBER}\.{NUMBER}\.{NUMBER})"
    rf"\\PS3\.15 {profile.EDITION} Table E\.1-1"
    r"(\\Burned-in text: (removed where found|none found"
    r"|[1-9]\d{0,2} regions (inpainted|blackened))"
    rf" \(rapidocr \d(\.{NUMBER}){{1,3}}\))?"
)
MEANINGS = dict([BASIC, CLEAN_PIXELS, CLEAN_DESCRIPTORS, *CODES.values()])
WRITTEN_HERE = {
    tag("DerivationDescription"): {DERIVATION},
    tag("BurnedInAnnotation"): {"YES", "NO"},
    tag("PatientIdentityRemoved"): {"YES"},
    tag("LongitudinalTemporalInformationModified"): {"REMOVED", "MODIFIED"},
}
CODE = "CodeValue CodingSchemeDesignator CodeMeaning"
METHOD_CODES = "DeidentificationMethodCodeSequence"
METHOD_CODES_TAG = tag(METHOD_CODES)
METHOD_TAG = tag("DeidentificationMethod")


def check(data: bytes) -> None:
    """Raises DicomError unless ``data`` is a file that this package may have released."""
    file = read_file(data)
    parts = (bytes(128), b"DICM", *written(file.meta), *written(file.elements))
    if b"".join(parts) != data:
        raise DicomError("bytes outside of values, or in another form than they are written")
    header = Header(file.elements, file.syntax.order)
    _check_meta(file.meta, header)
    _check_form(file.elements)
    options = _options(header)
    if any(len(header.values(keyword)) != 1 for keyword in NEEDED):
        raise DicomError("not one study, series and instance UID")
    for element in file.elements:
        if element.tag == PIXEL_DATA:
            continue
        if element.tag in WRITTEN_HERE:
            said = header.decode(element)
            if len(said) != 1 or said[0] not in WRITTEN_HERE[element.tag]:
                raise DicomError("a statement about the release that it does not make")
        elif element.tag == METHOD_TAG:
            method = METHOD.fullmatch(text(element))
            if method is None or _parts(method["version"]) > _parts(__version__):
                raise DicomError("another method of de-identification")
        elif element.tag != METHOD_CODES_TAG:
            _check_element(header, element, ALLOWED, options)
    _check_pixels(file.elements, header, file.syntax.uid)


def looked_for_text(data: bytes) -> bool:
    """Whether a file of ours says that text was looked for in its pixels."""
    return Header.of_file(data).text("BurnedInAnnotation") == "NO"


def _check_meta(meta: list[Element], header: Header) -> None:
    """The file meta information, element by element (PS3.10 Table 7.1-1)."""
    _check_form(meta)
    found = {e.tag: text(e) if e.tag > 0x00020001 else bytes(e.value) for e in meta}
    size = sum(len(e.value) + (8 if e.vr != "OB" else 12) for e in meta[1:])
    kind, syntax = header.text("SOPClassUID"), found.get(0x00020010)
    expected = {
        0x00020000: struct.pack("<I", size),
        0x00020001: b"\0\1",
        0x00020002: kind,
        0x00020003: header.text("SOPInstanceUID"),
        0x00020010: syntax,
        0x00020012: IMPLEMENTATION,
        0x00020013: IMPLEMENTATION_NAME,
    }
    if found != expected or kind not in SOP_CLASSES or syntax not in WRITTEN.values():
        raise DicomError("file meta information of another program")


def _options(header: Header) -> DicomOptions:
    """The options that (0012,0064) names, which the rest of the file must keep to."""
    for keyword in ("PatientIdentityRemoved", "DeidentificationMethod"):
        if keyword not in header:
            raise DicomError("no statement of de-identification")
    values = []
    for item in header.items_of(METHOD_CODES):
        value, scheme, meaning = _code(item)
        if scheme != "DCM" or MEANINGS.get(value) != meaning or item.elements.keys() != tags(CODE):
            raise DicomError("a code of de-identification that is not known")
        values.append(value)
    if BASIC[0] not in values or values != sorted(set(values)):
        raise DicomError("no code of the Basic Profile, or codes in another order")
    options = from_codes(set(values))
    moved = "MODIFIED" if DATES in options.retain else "REMOVED"
    if header.text("LongitudinalTemporalInformationModified") != moved:
        raise DicomError("dates of another kind than the code says")
    looked = CLEAN_PIXELS[0] in values
    said = any("Burned-in text" in v for v in header.values("DeidentificationMethod"))
    if (header.text("BurnedInAnnotation") == "NO") != looked or said != looked:
        raise DicomError("burned-in text is denied without a look")
    return options


def _check_form(elements: list[Element]) -> None:
    """Elements in the order of their tags and of the representation that the Standard gives them,
    texts with no more padding than makes them even."""
    tags = [e.tag for e in elements]
    if tags != sorted(set(tags)):
        raise DicomError("elements out of order")
    for element in elements:
        try:
            vr = dictionary_VR(element.tag)
        except KeyError:
            raise DicomError("an attribute that the Standard does not have") from None
        if element.vr not in vr.split(" or "):
            raise DicomError("an attribute of another representation")
        for item in element.items or ():
            _check_form(item)
        if element.vr in TEXT:
            whole = bytes(element.value)
            parts = [whole] if element.vr in ONE_VALUE else whole.split(b"\\")
            parts = [part.strip(PADDING) for part in parts]
            bare = b"\\".join(parts) if any(parts) else b""
            even = (b"\0" if element.vr == "UI" else b" ") * (len(bare) % 2)
            if whole != bare + even or not bare.isascii():
                raise DicomError("a text with more than its value")


def _check_element(
    header: Header, element: Element, allowed: Mapping[int, Attribute], options: DicomOptions
) -> None:
    action = profile.action(element.tag, options)
    if action is not None:
        if not _row_admits(header, element, action, options):
            raise DicomError("an attribute that must be removed, emptied or replaced")
        return
    attribute = allowed.get(element.tag)
    if attribute is None:
        raise DicomError("an attribute that no rule keeps")
    if element.vr == "SQ":
        _check_items(header, element, attribute, options)
        return
    values = header.decode(element)
    if not values and (attribute.required or not element.value):
        return
    if attribute.admit(values, options)[0] != values:
        raise DicomError("a value that no rule keeps")


def _row_admits(header: Header, element: Element, action: Action, options: DicomOptions) -> bool:
    """True where an attribute of Table E.1-1 is what its code leaves of it."""
    if action is Action.REMOVE:
        return False
    empty = not element.value and not element.items
    if action is Action.EMPTY or empty:
        return empty
    values = header.decode(element)
    if action is Action.DUMMY:
        return values == [DUMMIES.get(element.vr)]
    if action is Action.NEW_UID:
        return all(map(pseudonyms.is_uid, values))
    if action in PSEUDONYM:
        return len(values) == 1 and pseudonyms.is_one(values[0], PSEUDONYM[action])
    fallback = profile.action(element.tag, DicomOptions())
    if fallback is Action.DUMMY and values == [DUMMIES[element.vr]]:
        return True
    if action is Action.SHIFT:
        return all(pseudonyms.is_shifted(v, element.vr) for v in values)
    vr = element.vr
    rule = Words(vr) if action is Action.WORDS else RETAINED.get(element.tag) or Text(vr)
    return rule(values) == values


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def _check_items(
    header: Header, element: Element, attribute: Attribute, options: DicomOptions
) -> None:
    items = header.items(element)
    if attribute.codes:
        _check_codes(items)
        return
    if len(items) > 1:
        raise DicomError("more items than are released")
    for item in items:
        if "LUTDescriptor" in item or "LUTData" in item:
            view.check_table(item)
        for inner in item:
            _check_element(item, inner, attribute.items, options)


def _check_codes(items: list[Header], *, modified: bool = True) -> None:
    """Coded concepts, ``modified`` by others or not."""
    found = [_code(item) for item in items]
    if len(set(found)) < len(found) or len(found) > SEVERAL:
        raise DicomError("a code twice, or more codes than are released")
    for item, (value, scheme, meaning) in zip(items, found, strict=True):
        if terms.meaning(value, scheme) != meaning or not meaning:
            raise DicomError("a code that is not known")
        for element in item:
            if modified and element.tag in MODIFIERS:
                _check_codes(item.items(element), modified=False)
            elif element.tag not in tags(CODE):
                raise DicomError("a code with more than its value")


def _code(item: Header) -> tuple[str, ...]:
    """The one value, scheme and meaning of a coded concept."""
    said = [item.values(keyword) for keyword in CODE.split()]
    if any(len(values) != 1 for values in said):
        raise DicomError("a code with another number of values than one")
    return tuple(values[0] for values in said)


def _check_pixels(elements: list[Element], header: Header, uid: str) -> None:
    """Pixel Data is the last element, and holds the pixels and nothing else."""
    last = elements[-1]
    if last.tag != PIXEL_DATA:
        raise DicomError("pixel data are not the end of the file")
    try:
        layout = pixels.layout(header)
    except Refused:
        raise DicomError("no pixels as they are released") from None
    flags = header.values("PixelRepresentation"), header.values("PlanarConfiguration")
    if layout != layout.written or flags != ([int(layout.signed)], [0] * (layout.samples == 3)):
        raise DicomError("no pixels as they are released")
    if uid == EXPLICIT_LITTLE:
        size = layout.size + layout.size % 2
        if last.fragments is not None or len(last.value) != size:
            raise DicomError("more or fewer pixels than announced")
        if layout.size % 2 and last.value[-1]:
            raise DicomError("bytes behind the pixels")
        return
    if last.fragments is None or len(last.fragments) != 2 or len(last.fragments[0]):
        raise DicomError("more than one fragment")
    pixels.check_fragments(bytes(last.fragments[1]), layout, uid)
