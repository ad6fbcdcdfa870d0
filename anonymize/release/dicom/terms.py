"""The closed vocabularies of ``vocabulary.yaml``, as sets."""

from __future__ import annotations

from importlib.resources import files

import yaml

from anonymize.release.dicom.header import tags, words

_FILE = yaml.safe_load(files("anonymize.release.dicom").joinpath("vocabulary.yaml").read_bytes())


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.strip() for term in text.split("|"))


TERMS = {keyword: _terms(terms) for keyword, terms in _FILE["terms"].items()}
SYNONYMS: dict[str, str] = _FILE["synonyms"]
MAKERS = _terms(_FILE["makers"])
WORDS = words(_FILE["words"])
# Keyword → least and greatest value, and the significant digits that are kept.
NUMBERS: dict[str, tuple[float, float, int]] = {
    keyword: (float(low), float(high), int(digits[0]) if digits else 4)
    for (low, high, *digits), keywords in ((k.split(), v) for k, v in _FILE["numbers"].items())
    for keyword in keywords.split()
}
DEVICE_TEXT: str = _FILE["device_text"]  # keywords
# Tags of rows of PS3.15 Table E.1-1.
TYPE_2, NO_HISTORY, CHARACTERISTICS, CHARACTERISTICS_TEXT, DEVICES, DESCRIPTORS = (
    tags(_FILE[name])
    for name in (
        *("type_2", "no_history", "characteristics", "characteristics_text"),
        *("devices", "descriptors"),
    )
)
