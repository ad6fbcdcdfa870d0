"""What a user may decide about DICOM files, named as PS3.15 E.3 names it."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.errors import UsageError
from anonymize.release.dicom.syntax import WRITTEN

RETAINABLE = ("longitudinal-modified-dates", "patient-characteristics", "device-identity")
DATES, PATIENT, DEVICE = RETAINABLE
SYNTAX_WISHES = ("keep", *WRITTEN)
# CID 7050 of PS3.16: code values of the scheme DCM, and their meanings.
BASIC = ("113100", "Basic Application Confidentiality Profile")
CLEAN_PIXELS = ("113101", "Clean Pixel Data Option")
CLEAN_DESCRIPTORS = ("113105", "Clean Descriptors Option")
CODES = {
    DATES: ("113107", "Retain Longitudinal Temporal Information Modified Dates Option"),
    PATIENT: ("113108", "Retain Patient Characteristics Option"),
    DEVICE: ("113109", "Retain Device Identity Option"),
}


@dataclass(frozen=True)
class DicomOptions:
    """Options of the Basic Application Level Confidentiality Profile, and the way pixels are kept.

    Args:
        retain: of ``RETAINABLE``: dates shifted by a secret time that is the same for all of a
            patient; age, sex, size, weight and the like; what tells the device.
        clean_descriptors: keep the words of descriptions that a list of radiological terms holds.
        transfer_syntax: "keep" (compressed stays compressed, as JPEG 2000), "explicit" (native),
            "jpeg2000" or "rle"; always lossless.

    Raises:
        UsageError: another name.
    """

    retain: frozenset[str] = frozenset()
    clean_descriptors: bool = False
    transfer_syntax: str = "keep"

    def __post_init__(self) -> None:
        for name in sorted(self.retain - set(RETAINABLE)):
            raise UsageError(f"--retain must be one of {', '.join(RETAINABLE)}, got {name!r}")
        if self.transfer_syntax not in SYNTAX_WISHES:
            wishes, wish = ", ".join(SYNTAX_WISHES), self.transfer_syntax
            raise UsageError(f"--dicom-transfer-syntax must be one of {wishes}, got {wish!r}")

    @property
    def codes(self) -> list[tuple[str, str]]:
        """Code value and meaning of the profile and each option, in the order of their values."""
        chosen = [BASIC, *(CODES[name] for name in self.retain)]
        return sorted(chosen + [CLEAN_DESCRIPTORS] * self.clean_descriptors)


def from_codes(values: set[str]) -> DicomOptions:
    """The options that the codes of a released file name."""
    return DicomOptions(
        frozenset(name for name, (value, _) in CODES.items() if value in values),
        CLEAN_DESCRIPTORS[0] in values,
    )
