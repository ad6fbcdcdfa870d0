"""The columns that may travel, and how their values are written.

A closed list: age, sex, view, names of findings, pseudonyms of patients, columns of one finding.
So there is no place for free text, dates and identifiers, whatever a column is called.
"""

import re

from anonymize.errors import DataError, UsageError
from anonymize.release.column_titles import is_of_people
from anonymize.release.dicom.header import words
from anonymize.release.dicom.identifiers import WORD, folded
from anonymize.release.dicom.pseudonyms import is_one
from anonymize.release.dicom.terms import TERMS, WORDS

PATIENT = "patient_id"
PSEUDONYM = 32  # characters; as in DICOM headers
OLDEST, GATHERED = 120, 90  # years; the last stands for all above it, too
CALLED = {
    **dict.fromkeys(("age", "patientage", "ageyears", "ageinyears"), "age"),
    **dict.fromkeys(("sex", "gender", "patientsex", "patientgender"), "sex"),
    **dict.fromkeys(("view", "viewposition", "appa", "projection"), "view"),
    **dict.fromkeys(("labels", "findinglabels"), "labels"),
    **dict.fromkeys(("patientid", "patient", "subjectid"), PATIENT),
}
SEXES = {"": "", "f": "F", "female": "F", "m": "M", "male": "M", "o": "O", "other": "O"}
VIEWS = TERMS["ViewPosition"]
AGE = re.compile(r"(\d{1,3})(?:\.\d*)?|(\d{3})([YMWD])")
A_YEAR = {"Y": 1, "M": 12, "W": 365.25 / 7, "D": 365.25}
READINGS = {"": "", "0": "0", "0.0": "0", "1": "1", "1.0": "1", "-1": "-1", "-1.0": "-1"}
# Of the findings of ChestX-ray14, CheXpert, MIMIC-CXR, PadChest and VinDr-CXR, those that
# descriptions of DICOM headers do not have.
FINDINGS = words(
    """
    abscess adenopathy aneurysm aorta aortic asthma atelectasis bacterial bronchiectasis
    bronchitis bulla calcification cancer cardiomediastinum cardiomediastinal cavitation cavity
    congestion covid cyst density device devices dilatation elongation embolism finding
    granuloma hemothorax hiatal honeycombing hydropneumothorax hypertension ild inflammation
    kyphosis lesion lesions lymphadenopathy metastasis metastases other pneumomediastinum
    pneumonitis pneumoperitoneum reticular sarcoidosis scar scarring scoliosis shadow silhouette
    support tortuous tumor viral volume loss 19
    """
)
WAY = (
    "age, sex, view, labels (findings with | between them), patient_id, or a column of one finding "
    "(1, 0, -1 or nothing); free text, dates and identifiers stay here"
)


def meaning(name: str) -> str | None:
    """What a column holds that is called so; None for one finding, and for what may not travel."""
    return CALLED.get(re.sub(r"[\W_]", "", name).casefold())


def written_name(name: str) -> str:
    """What a column ``name`` of the user's is called in the release. Raises UsageError: none that
    may travel."""
    if (known := meaning(name)) is not None:
        return known
    if is_of_people(name) or not _is_finding(name) or name != name.strip():
        raise UsageError(
            f"--columns: {shown(name)} cannot be released: its name is not made of words for "
            f"findings; name {WAY}"
        )
    return name


def shown(name: str) -> str:
    """The name of a column as an error quotes it: on one line, and short."""
    return ascii(name[:40])


def value(column: str, text: str) -> str:
    """A cell as it is released; ``column`` is one of :func:`written_name`.

    Ages are whole years, and 90 stands for all from 90 on, as in DICOM headers.

    Raises ValueError: nothing that may stand there."""
    if column == "age":
        return _age(text)
    if column == "view":
        return _view(text)
    if column == "labels":
        return _labels(text)
    return (SEXES if column == "sex" else READINGS)[text.casefold()]


def _age(text: str) -> str:
    if not text:
        return ""
    found = AGE.fullmatch(text)
    years = found and int(int(found[1] or found[2]) / A_YEAR[found[3] or "Y"])
    if years is None or years > OLDEST:
        raise ValueError("no age in years")
    return str(min(years, GATHERED))


def _view(text: str) -> str:
    first = text.upper().split(" ")[0]
    if first and first not in VIEWS:
        raise ValueError
    return first


def _labels(text: str) -> str:
    names = sorted({name.strip() for name in text.split("|")} - {""})
    if not all(map(_is_finding, names)):
        raise ValueError
    return "|".join(names)


def _is_finding(name: str) -> bool:
    """Words of radiology, and single signs between them: no formula, no number, nobody's name."""
    said = WORD.findall(folded(name))
    return bool(re.fullmatch(r"[A-Za-z](\w|[ \-/.,](?! ))*", name, re.ASCII)) and all(
        word in WORDS or word in FINDINGS for word in said
    )


def is_written(column: str, text: str) -> bool:
    """Whether a release writes this cell."""
    if column == PATIENT:
        return not text or is_one(text, PSEUDONYM)
    try:
        return value(column, text) == text
    except (KeyError, ValueError):
        return False


def read_value(column: str, name: str, text: str, row: int) -> str:
    """:func:`value` of a cell of the user's table. Raises DataError: nothing that may stand there;
    the message quotes no value."""
    try:
        return value(column, text)
    except (KeyError, ValueError):
        rule = {
            "age": f"years from 0 to {OLDEST}",
            "sex": "F, M, O or nothing",
            "view": "PA, AP, LATERAL and the like, or nothing",
            "labels": "names of findings with | between them",
        }.get(column, "1, 0, -1 or nothing, since it is of one finding")
        raise DataError(
            f"--table, row {row}: column {shown(name)} must hold {rule}; free text, dates and "
            "identifiers are not released: mend it, or leave the column out"
        ) from None
