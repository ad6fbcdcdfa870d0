"""Names, identifiers and dates written into the numbers of a DICOM header."""

import re
import struct
from functools import partial
from itertools import pairwise

import numpy as np
from corpus import Case
from dicom_specimens import (
    BIG_ENDIAN,
    DEFLATED,
    EXPLICIT,
    IMPLICIT,
    changed,
    code,
    file,
    lut,
    opened,
    rules,
)
from pydicom.datadict import dictionary_VR, tag_for_keyword
from pydicom.dataset import Dataset

from anonymize.release import decode, encode, movement
from anonymize.release.checking import verification
from anonymize.release.reasons import Refused

NAME = "LEE^ANNA"
IDENTIFIER = "471177"
BORN = "19700203"
IN_NUMBERS = (
    *("SeriesNumber", "InstanceNumber", "AcquisitionNumber", "KVP", "Exposure", "ExposureIndex"),
    *("ExposureTimeInuS", "XRayTubeCurrentInuA", "ImageAndFluoroscopyAreaDoseProduct"),
    *("DistanceSourceToDetector", "DetectorTemperature", "PositionerPrimaryAngle"),
    *("FieldOfViewRotation", "RescaleIntercept", "WindowCenter", "LossyImageCompressionRatio"),
    *("CollimatorLeftVerticalEdge", "ShutterRightVerticalEdge"),
)
FORMS = {
    "zeros before it": "00471177",
    "a decimal point": "47.1177",
    "a sign": "+471177",
    "an exponent": "4.71177E5",
    "zeros behind it": "471177.00",
    "two values": "471\\177",
    "three values": "47\\11\\77",
    "a digit more": "4711773",
}
DATES = {
    "six digits": "700203",
    "eight digits": BORN,
    "the day first": "030270",
    "the day first, in full": "03021970",
    "the month first": "020370",
    "no leading zero": "30270",
}


def header(**values):
    made = changed()
    made.PatientName, made.PatientID, made.PatientBirthDate = NAME, IDENTIFIER, BORN
    for keyword, value in values.items():
        number = tag_for_keyword(keyword)
        several = isinstance(value, str) and "\\" in value
        made.add_new(number, dictionary_VR(number), value.split("\\") if several else value)
    return made


def headed(data, **options):
    """The released header of a file, as far as a worker makes and checks it; None if refused."""
    try:
        image = decode.decode("a", data, rules(**options)).radiograph
        made = image.with_pixels(image.top - image.pixels)
        written = encode.encode(made)
        verification.verify(written, made, image, frozenset(), movement.probe(made.pixels, None))
    except Refused:
        return None
    header = opened(written)
    del header.PixelData
    return header


def told(made):
    """What a released header tells: the name in its bytes, or one of the patient's numbers."""
    if made is None:
        return None
    for element in made.iterall():
        if element.VR in ("IS", "DS", "US", "SS", "FL", "FD") and element.VM:
            values = element.value if element.VM > 1 else [element.value]
            shown = [format(float(v), ".10f").rstrip("0") for v in values]
            together = "".join(re.sub(r"\D", "", s).strip("0") for s in shown)
            if any(d.strip("0") in together for d in (IDENTIFIER, *DATES.values())):
                return f"a number of the patient in {element.keyword}"
            if "LEE" in "".join(chr(int(v)) for v in values if 0 < v < 128):
                return f"the name as codes in {element.keyword}"
    plain = b"".join(raw(e) for e in made.iterall())
    swapped = np.frombuffer(plain + b"\0" * (len(plain) % 2), "<u2").byteswap().tobytes()
    for text in (plain, swapped, plain[::2], plain[1::2]):
        if any(part in text.upper() for part in (b"LEE", b"ANNA")):
            return "the name in the bytes of numbers"
    return None


def raw(element):
    """The bytes of a value as it lies in the file, at an even place."""
    if element.VR == "SQ":
        return b""
    values = element.value if element.VM > 1 else [element.value]
    letter = {"US": "H", "SS": "h", "FL": "f", "FD": "d"}.get(element.VR)
    if letter and element.VM:
        return struct.pack(f"<{len(values)}{letter}", *values)
    data = element.value if isinstance(element.value, bytes) else str(element.value).encode()
    return data + b"\0" * (len(data) % 2)


def leak(folder, made):
    return told(headed(file(made())))


def letters(keyword, count=0, order="<", text=NAME):
    """A name as the bytes of the numbers, padded with spaces to ``count`` values."""
    vr = dictionary_VR(tag_for_keyword(keyword)).split(" or ")[0]
    text = text.encode().ljust(count * (4 if vr == "FL" else 2))
    kind = {"US": "H", "FL": "f"}[vr]
    values = struct.unpack(f"{order}{len(text) // struct.calcsize(kind)}{kind}", text)
    return header(**{keyword: list(values)})


def codes(keyword, text):
    """Each letter's number in ASCII, one value each."""
    return header(**{keyword: [str(ord(c)) for c in text]})


def retained(keyword, value, folder):
    made = file(number(keyword, value))
    return told(headed(made, retain=frozenset({"patient-characteristics"})))


def big_endian(folder):
    return told(headed(file(letters("ShutterPresentationValue"), BIG_ENDIAN)))


def number(keyword, value):
    return header(**{keyword: value})


def shown_by(table, sequence, **values):
    """A header by which a table alone shows the picture."""
    made = header(**values)
    for name in ("WindowCenter", "WindowWidth", "RescaleSlope", "RescaleIntercept", "RescaleType"):
        delattr(made, name)
    if sequence == "ModalityLUTSequence":
        table.ModalityLUTType = "US"
    setattr(made, sequence, [table])
    return made


def in_table(sequence, low):
    """The name in the low (or high) bytes of a table whose entries rise."""
    text = (NAME * 400).encode()[: 1 << 8]
    entries = np.arange(1 << 8, dtype="<u2") << 8 | np.frombuffer(text, np.uint8)
    if not low:  # letters above, what rises below
        entries = np.sort(np.frombuffer(text, np.uint8).astype("<u2") << 8)
    return shown_by(lut(entries, 16), sequence)


IN_PARTS = {
    "series and acquisition": {"SeriesNumber": "471", "AcquisitionNumber": "177"},
    "a zero before the second": {"AcquisitionNumber": "47", "InstanceNumber": "01177"},
    "far apart": {"KVP": "471", "WindowWidth": "177"},
    "the other way round": {"DistanceSourceToDetector": "177", "SeriesNumber": "471"},
    "three neighbours": {"SeriesNumber": "47", "AcquisitionNumber": "11", "InstanceNumber": "77"},
    "two values, the other way round": {"FieldOfViewDimensions": "177\\471"},
    "half of two values, and one": {"FieldOfViewDimensions": "9\\177", "KVP": "471"},
    "born, two values without the zero": {"PixelAspectRatio": "1970\\203"},
    "two values and one": {"FocalSpots": ["4", "71"], "AcquisitionNumber": "177"},
    "behind the point": {"ExposureIndex": "4.71", "DeviationIndex": "17.7"},
    "born, year and day": {"SeriesNumber": "1970", "AcquisitionNumber": "203"},
    "born, month and year": {"ExposureTime": "302", "Sensitivity": "1970"},
    "in a window": {"WindowCenter": "4711", "WindowWidth": "77"},
    "with a value more": {"WindowCenter": "47\\11\\77\\1", "WindowWidth": "9\\9\\9\\9"},
    "between other values": {"WindowCenter": "9\\47\\11", "WindowWidth": "77\\9\\9"},
    "where padding begins": {"PixelPaddingValue": 471, "PixelPaddingRangeLimit": 177},
    "where padding is, and a series": {"PixelPaddingValue": 471, "SeriesNumber": "177"},
    "two decimals": {"ImagerPixelSpacing": "0.4711\\0.77"},
    "born, two decimals": {"ImagerPixelSpacing": "0.1970\\0.0203"},
}
# The same parts stand elsewhere, too: they go with the first pair, and these must not stay.
ONCE_MORE = {"AcquisitionNumber": "471", "KVP": "177"}


def in_parts(folder, values, beside=()):
    """The parts of an identifier that are left together, where none may be."""
    made = headed(file(header(**dict(beside), **values)))
    kept = [k for k in values if made is not None and made.get(k) not in (None, "")]
    return f"{' and '.join(kept)} together" if len(kept) == len(values) else None


def in_descriptor(folder, *, first, series, sequence):
    """What a table begins with, which is chosen at will, and a number beside it."""
    table = lut(np.linspace(0, 65535, 256), 16, first=first)
    kept = headed(file(shown_by(table, sequence, SeriesNumber=series)))
    if kept is None or sequence not in kept:
        return None
    told = first == int(BORN[:4]) or str(kept.get("SeriesNumber") or "") == series
    return "the first value of a table" if told else None


def in_codes(folder, *, nested):
    """The patient in the order of coded concepts, of which there may be any number."""
    regions = ("T-D3000", "T-D1100", "T-D4000", "R-10214")
    found = [code(regions[int(d) % 4], "SRT", "") for d in IDENTIFIER]
    if nested:
        for outer, inner in pairwise(found):
            outer.AnatomicRegionModifierSequence = [inner]
    kept = headed(file(header(AnatomicRegionSequence=found[:1] if nested else found)))
    kept = kept.AnatomicRegionSequence
    codes = [c.CodeValue for c in kept]
    deep = [e for c in kept for e in c.iterall() if e.keyword == "CodeValue"]
    return "codes" if len(set(codes)) < len(codes) or len(deep) > 2 * len(codes) else None


def in_private(folder, *, syntax, deep):
    """Whom a private sequence names, which implicit files do not say to be one; the rest of the
    header calls him otherwise."""
    item = Dataset()
    item.PatientName, item.PatientID = NAME, IDENTIFIER
    for _ in range(deep):
        outer = Dataset()
        outer.private_block(0x11, "X", create=True).add_new(1, "SQ", [item])
        item = outer
    made = changed(PatientName="Anonymous", PatientID="1", StationName="LEE")
    made.ExposureTimeInuS = IDENTIFIER
    made.private_block(0x11, "X", create=True).add_new(1, "SQ", [item])
    kept = headed(file(made, syntax), retain=frozenset({"device-identity"}))
    return kept and next((k for k in ("ExposureTimeInuS", "StationName") if kept.get(k)), None)


def case(name, made, *arguments):
    return Case("text in numbers", name, partial(leak, made=partial(made, *arguments)))


CASES = [
    *(
        case(f"{count or 4} letters in {k}", letters, k, count)
        for k in ("ShutterPresentationValue", "EntranceDose", "ExposedArea", "Illumination")
        for count in (0, 64)
    ),
    case("letters in ExposuresOnPlate, swapped", letters, "ExposuresOnPlate", 0, ">"),
    case("letters in ReflectedAmbientLight", letters, "ReflectedAmbientLight"),
    case("letters in FilterBeamPathLengthMinimum", letters, "FilterBeamPathLengthMinimum"),
    case("letters in FilterBeamPathLengthMaximum", letters, "FilterBeamPathLengthMaximum", 4),
    case("four letters in FL", letters, "FilterBeamPathLengthMaximum", 0, "<", "ANNA"),
    case("four letters in FL, and others", letters, "FilterBeamPathLengthMinimum", 3, "<", "ANNA"),
    *(
        case(f"{sequence}, {'low' if low else 'high'} bytes", in_table, sequence, low)
        for sequence in ("VOILUTSequence", "ModalityLUTSequence")
        for low in (True, False)
    ),
    *(case(f"the patient in {k}", number, k, IDENTIFIER) for k in IN_NUMBERS),
    *(case(f"the patient, {how}", number, "WindowCenter", v) for how, v in FORMS.items()),
    *(
        case(f"the patient, {how}, in ImagerPixelSpacing", number, "ImagerPixelSpacing", v)
        for how, v in FORMS.items()
    ),
    *(case(f"born: {how}", number, "ExposureTimeInuS", v) for how, v in DATES.items()),
    *(case(f"born: {how}, in Exposure", number, "Exposure", v) for how, v in DATES.items()),
    *(
        case(f"codes of {len(text)} letters in {k}", codes, k, text)
        for k in (
            "VerticesOfThePolygonalShutter",
            "VerticesOfThePolygonalCollimator",
            "WindowCenter",
            "FocalSpots",
            "FilterThicknessMinimum",
            "LossyImageCompressionRatio",
        )
        for text in (NAME, NAME[:4], NAME[:3])
    ),
    *(
        Case("text in numbers", f"{v} in {k}, retained", partial(retained, k, v))
        for k, v in (
            ("PatientWeight", "47.1177"),
            ("PatientWeight", "471.177"),
            ("PatientSize", "0.471177"),
            ("PatientSize", "1.97020300"),
        )
    ),
    Case("text in numbers", "letters in ShutterPresentationValue, big endian", big_endian),
    *(
        Case(
            "text in numbers",
            f"{first} where a {sequence} begins, series {series}",
            partial(in_descriptor, first=first, series=series, sequence=sequence),
        )
        for sequence in ("VOILUTSequence", "ModalityLUTSequence")
        for first, series in ((471, "177"), (int(BORN[:4]), "1"))
    ),
    *(
        Case(
            "text in numbers",
            f"the patient in a private sequence, {deep} deep, {syntax}",
            partial(in_private, syntax=syntax, deep=deep),
        )
        for syntax in (EXPLICIT, IMPLICIT, DEFLATED, BIG_ENDIAN)
        for deep in (0, 3, 40)
    ),
    *(
        Case("text in numbers", f"codes, {words}", partial(in_codes, nested=nested))
        for words, nested in (("many", False), ("in one another", True))
    ),
    *(
        Case("text in numbers", f"the patient in parts: {how}", partial(in_parts, values=values))
        for how, values in IN_PARTS.items()
    ),
    *(
        Case(
            "text in numbers",
            f"the patient in parts, twice: {a} and {b}",
            partial(in_parts, values={a: "471", b: "177"}, beside=ONCE_MORE.items()),
        )
        for a, b in (("SeriesNumber", "InstanceNumber"), ("WindowWidth", "ExposureTime"))
    ),
    *(
        Case("text in numbers", f"year of birth in {k}: {v}", partial(in_parts, values={k: v}))
        for k, v in (
            ("WindowCenter", BORN[:4]),
            ("WindowCenter", "19\\70"),
            ("WindowWidth", "1970.0"),
            ("RescaleIntercept", "-1970"),
            ("SeriesNumber", BORN[:4]),
        )
    ),
]
