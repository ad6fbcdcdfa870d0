"""An identifier spelled between the words of descriptions and device texts that stay."""

import re
from functools import partial

from corpus import Case
from dicom_specimens import EXPLICIT, IMPLICIT, changed, file
from number_cases import headed

IDENTIFIER = "471177"
NUMERALS = "zero one two three four five six seven eight nine".split()  # noqa: SIM905
WORDS = ["chest", "lung", "left", "view", "erect", "lateral"]
SPELLED = {
    "between hyphens": "Chest 4-7-1-1-7-7 lateral",
    "between spaces": "Chest 4 7 1 1 7 7 lateral",
    "between words": " ".join(f"{w} {d}" for w, d in zip(WORDS, IDENTIFIER, strict=True)),
    "before words": " ".join(f"{d} {w}" for w, d in zip(WORDS, IDENTIFIER, strict=True)),
    "before views": " ".join(f"{d} views" for d in IDENTIFIER),
    "in values": "\\".join(f"{w} {d}" for w, d in zip(WORDS, IDENTIFIER, strict=True)),
    "glued to words": "".join(f"{w}{d}" for w, d in zip(WORDS, IDENTIFIER, strict=True)),
    "in full-width digits": "Chest " + " ".join(chr(0xFEE0 + ord(d)) for d in IDENTIFIER),
}
IN_WORDS = {  # digits that the list of words holds
    "as words": " ".join(NUMERALS[int(d)] for d in "41152"),
    "as words before views": " ".join(f"{NUMERALS[int(d)]} views" for d in "41152"),
    "as words and digits": "four view 1 view one view 5 view two view",
    "as digits before views": "4 view 1 view 1 view 5 view 2 view",
    "as repeated words": "left left left left right left right left left left left left right",
}
DESCRIPTIONS = (
    *("StudyDescription", "SeriesDescription", "ProtocolName", "RequestedProcedureDescription"),
    *("PerformedProcedureStepDescription", "ScheduledProcedureStepDescription"),
)


def header(identifier, **values):
    own = {"PatientID": identifier, "SpecificCharacterSet": "ISO_IR 192"}
    parts = {k: v.split("\\") if "\\" in v else v for k, v in values.items()}
    return file(changed(**own, **parts))


def leak(folder, *, identifier, most, values, **options):
    """More than ``most`` numbers of the identifier in what stays of ``values``."""
    made = headed(header(identifier, **values), **options)
    if made is None:
        return None
    kept = " ".join(str(made[k].value) for k in values if k in made).casefold()
    for digit, numeral in enumerate(NUMERALS):
        kept = kept.replace(numeral, str(digit))
    found = re.findall(r"\d|right|(?<=left )left", kept)
    return f"{len(found)} characters of an identifier" if len(found) > most else None


def described(name, value, keyword="StudyDescription", identifier=IDENTIFIER):
    values = {keyword: value}
    check = partial(leak, identifier=identifier, most=1, values=values, clean_descriptors=True)
    return Case("descriptions", f"{name} in {keyword}", check)


def retained(name, value):
    check = partial(
        leak,
        identifier="PID-4711-77",
        most=1,
        values={"DetectorDescription": value},
        retain=frozenset({"device-identity"}),
    )
    return Case("descriptions", f"{name} in a text of the device", check)


def device(name, identifier, text):
    """The model, the station and the serial number say who it is."""
    keywords = ("ManufacturerModelName", "StationName", "DeviceSerialNumber", "SoftwareVersions")

    def leak(folder):
        own = {"PatientName": name, "PatientID": identifier, **dict.fromkeys(keywords, text)}
        made = headed(file(changed(**own)), retain=frozenset({"device-identity"}))
        return made and next(
            (f"{text} in {k}" for k in keywords if k in made and made[k].value), None
        )

    return Case("descriptions", f"{text} of {name}, {identifier} in the device", leak)


def parted(name, values):
    """A name or an id in parts, in values of one text of the device or in several texts."""

    def leak(folder):
        given = header(IDENTIFIER, PatientName="Zlatarov^Anna", **values)
        made = headed(given, retain=frozenset({"device-identity"}))
        kept = [k for k in values if made and k in made and made[k].value]
        return f"{' and '.join(kept)} together" if len(kept) == len(values) else None

    return Case("descriptions", f"{name} in texts of the device", leak)


def calibrated(folder):
    """Dates of one device in the files of two patients tell how far theirs are shifted."""
    made = changed(DateOfLastCalibration="20231224", DateOfLastDetectorCalibration="20231224")
    retain = frozenset({"device-identity", "longitudinal-modified-dates"})
    kept = headed(file(made), retain=retain)
    if not kept.StudyDate:
        return "no date at all, so that nothing is shown"
    return next((e.keyword for e in kept if "Calibration" in e.keyword and e.value), None)


def spread(identifier):
    """A digit in each description of a file."""
    values = {k: f"Chest {d} views" for k, d in zip(DESCRIPTIONS, identifier, strict=False)}
    check = partial(leak, identifier=identifier, most=0, values=values, clean_descriptors=True)
    return Case("descriptions", f"{identifier} over several", check)


def private(syntax):
    """A private name, which implicit files do not say to be one."""

    def leak(folder):
        made = changed(PatientName="Anonymous", StudyDescription="Chest hernia")
        made.private_block(0x11, "X", create=True).add_new(1, "PN", "HERNIA^PAUL")
        kept = headed(file(made, syntax), clean_descriptors=True)
        return "a private name" if "HERNIA" in kept.get("StudyDescription", "") else None

    return Case("descriptions", f"a private name, {syntax}", leak)


def named(keyword, name, value):
    """Somebody in the header has a name that is a term of radiology."""

    def leak(folder):
        own = {keyword: name, "StudyDescription": value, "ImageComments": value}
        made = headed(file(changed(**own)), clean_descriptors=True)
        said = f"{made.get('StudyDescription', '')} {made.get('ImageComments', '')}".casefold()
        parts = set(re.findall(r"[a-z]{2,}", name.casefold())) & set(said.split())
        return f"{sorted(parts)} of a name" if parts or "chest" not in said else None

    return Case("descriptions", f"{name} in {keyword}", leak)


CASES = [
    *(
        described(name, value, keyword)
        for keyword in ("StudyDescription", "ImageComments", "AdmittingDiagnosesDescription")
        for name, value in SPELLED.items()
        if "\\" not in value or keyword == "AdmittingDiagnosesDescription"
    ),
    *(described(name, value, identifier="41152") for name, value in IN_WORDS.items()),
    *(
        retained(name, value)
        for name, value in SPELLED.items()
        if "hyphen" in name or "spaces" in name
    ),
    retained("dots", "4.7.1.1.7.7"),
    retained("pairs", "VB 47.11.77"),
    retained("zeros before", "0 0 4 7 1 1 7 7"),
    *map(spread, ("471177", "41152", "1212")),
    Case("descriptions", "dates of the device", calibrated),
    *(
        device(name, identifier, text)
        for name, identifier, text in (
            ("Lungs^Paul", "X1", "Lungs DR"),
            ("Siemens^Werner", "X1", "Siemens AXIOM"),
            ("Li^Wu", "X1", "Li DR Wu"),
            ("O'Chest^Ap", "X1", "OChest"),
            ("Smith^John", "X1", "htimS"),
            ("Doe^Jane", "0071", "Aero 0071"),
            ("Doe^Jane", "007", "DR 007"),
            ("Doe^Jane", "4711", "DRX 47-11"),
            ("Doe^Jane", "A71", "XR A71"),
            ("Doe^Jane", "X1", "JD1948"),
            ("Doe^Jane", "X1", "24DEC1948"),
            ("Mueller^Kim", "X1", "DR Muller"),
            ("Smith^Kim", "X1", "SM1TH room"),
            ("Smith^Kim", "X1", "DRSmithRoom"),
            ("Doe^Jane", "471177", "DR771174"),
        )
    ),
    parted("a name in two values", {"SoftwareVersions": "ZLAT\\AROV"}),
    parted("an id in three values", {"SoftwareVersions": "47\\11\\77"}),
    parted("a name in two", {"ManufacturerModelName": "ROV", "StationName": "ZLATA"}),
    parted("an id in two", {"DeviceSerialNumber": "471", "SoftwareVersions": "177"}),
    *map(private, (EXPLICIT, IMPLICIT)),
    named("PatientName", "Heart^Anna", "Chest heart"),
    named("PatientName", "FU^Four", "Chest fu, four views"),
    named("OtherPatientNames", "Lung^High", "High chest of Lung"),
    named("ReferringPhysicianName", "Hernia^Bert", "Chest for Hernia"),
    named("PatientName", "Fräcture=Frontal^Grid", "Chest frontal grid"),
]
