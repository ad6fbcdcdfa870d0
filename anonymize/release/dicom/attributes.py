"""The attributes that a released radiograph may have besides those of Table E.1-1.

Everything else is removed: what nobody has thought of stays out. They are attributes of the
modules of CR, DX and secondary capture images in PS3.3 that describe the picture and how it was
taken, with the values that each may have. What describes the pixels themselves is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pydicom.datadict import dictionary_VR

from anonymize.release.dicom.header import tag, tags
from anonymize.release.dicom.options import DEVICE, DicomOptions
from anonymize.release.dicom.rules import (
    Numbers,
    Rule,
    Terms,
    Text,
    age,
    entries,
    image_type,
    maker,
    orientation,
    polygon,
)
from anonymize.release.dicom.terms import CODED, DEVICE_TEXT, NUMBERS, OF_PIXELS, REQUIRED, TERMS

CR = "1.2.840.10008.5.1.4.1.1.1"
DX = (f"{CR}.1", f"{CR}.1.1")
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
# Multi-frame byte, word and true colour capture, where they hold one frame.
CAPTURES = (SECONDARY_CAPTURE, *(f"{SECONDARY_CAPTURE}.{n}" for n in (2, 3, 4)))
SOP_CLASSES = frozenset({CR, *DX, *CAPTURES})


@dataclass(frozen=True)
class Attribute:
    """An attribute that may stay.

    ``rule`` for values, ``device`` for the text that may stay where the device's identity is
    retained; ``items`` for what the items of a sequence may have, ``codes`` for a sequence of coded
    concepts. ``required``: emptied rather than removed where its value may not stay (Type 2).
    """

    keyword: str
    rule: Rule | None = None
    items: dict[int, Attribute] = field(default_factory=dict)
    codes: bool = False
    required: bool = False
    device: Text | None = None

    @property
    def vrs(self) -> tuple[str, ...]:
        return tuple(dictionary_VR(tag(self.keyword)).split(" or "))

    def admit(self, values: list, options: DicomOptions) -> tuple[list | None, bool]:
        """What of ``values`` may stay, None for nothing; and whether it is any text."""
        kept = None if self.rule is None else self.rule(values)
        if kept is None and self.device is not None and DEVICE in options.retain:
            return self.device(values), True
        return kept, False


def _table(*attributes: Attribute) -> dict[int, Attribute]:
    return {tag(a.keyword): a for a in attributes}


def _numbers(keywords: Iterable[str]) -> list[Attribute]:
    return [Attribute(k, Numbers.of(k), required=k in REQUIRED) for k in keywords]


def _term(keyword: str) -> Attribute:
    return Attribute(keyword, Terms(TERMS[keyword], 1))


WORD_16 = Numbers(-(1 << 15), (1 << 16) - 1)
LUT = [
    Attribute("LUTDescriptor", replace(WORD_16, least=3, most=3)),
    Attribute("LUTData", entries),
]
WINDOW = [*_numbers(["WindowCenter", "WindowWidth"]), _term("VOILUTFunction")]
RESCALE = [*_numbers(["RescaleIntercept", "RescaleSlope"]), _term("RescaleType")]
FRAME = Attribute(
    "SharedFunctionalGroupsSequence",
    items=_table(
        Attribute("PixelMeasuresSequence", items=_table(*_numbers(["PixelSpacing"]))),
        Attribute("FrameVOILUTSequence", items=_table(*WINDOW)),
        Attribute("PixelValueTransformationSequence", items=_table(*RESCALE)),
    ),
)
ALLOWED = _table(
    Attribute("SOPClassUID", Terms(SOP_CLASSES, 1)),
    Attribute("ImageType", image_type),
    Attribute("PatientOrientation", orientation, required=True),
    Attribute("Manufacturer", maker, required=True, device=Text("LO")),
    Attribute("PositionReferenceIndicator", required=True),  # no value of it stays
    *(
        Attribute(k, Terms(t), required=k in REQUIRED)
        for k, t in TERMS.items()
        if k not in ("ModalityLUTType", "PatientSex", "PatientSexNeutered", "SmokingStatus")
    ),
    *(Attribute(k, device=Text(dictionary_VR(tag(k)))) for k in DEVICE_TEXT.split()),
    *WINDOW,
    *RESCALE,
    *_numbers(NUMBERS),
    Attribute("VerticesOfThePolygonalCollimator", polygon),
    Attribute("VerticesOfThePolygonalShutter", polygon),
    *(Attribute(k, codes=True, required=k == "AnatomicRegionSequence") for k in CODED),
    Attribute("VOILUTSequence", items=_table(*LUT)),
    Attribute("ModalityLUTSequence", items=_table(*LUT, _term("ModalityLUTType"))),
    FRAME,
    Attribute("PerFrameFunctionalGroupsSequence", items=FRAME.items),
    *(Attribute(k, WORD_16) for k in OF_PIXELS),
    Attribute(
        "PhotometricInterpretation", Terms(frozenset({"MONOCHROME1", "MONOCHROME2", "RGB"}), 1)
    ),
)
# Of a coded concept, besides its value, scheme and official meaning.
MODIFIERS = tags("AnatomicRegionModifierSequence ViewModifierCodeSequence")
# Values of rows of Table E.1-1 that an option retains.
RETAINED: dict[int, Rule] = {
    tag("PatientAge"): age,
    **{
        tag(k): Numbers.of(k)
        for k in ("PatientSize", "PatientWeight", "LensSpecification", "PregnancyStatus")
    },
    **{tag(k): Terms(TERMS[k], 1) for k in ("PatientSex", "PatientSexNeutered", "SmokingStatus")},
}
