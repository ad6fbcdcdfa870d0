"""The closed vocabularies of ``vocabulary.yaml``, as sets; codes of anatomy, views and positions
(context groups of PS3.16), and their official meanings.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml

from anonymize.release.dicom.header import tags, words

if TYPE_CHECKING:
    from pydicom.sr.coding import Code

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
FIXED, REQUIRED, CODED, OF_PIXELS = (
    words(_FILE[name]) for name in ("fixed", "required", "coded", "of_pixels")
)
# Tags of rows of PS3.15 Table E.1-1; of numbers that tell who it is, or could be made to.
TAGS = {
    name: tags(_FILE[name])
    for name in words(
        "type_2 no_history characteristics characteristics_text devices descriptors"
        " keys sites chosen ours"
    )
}
# Modifiers and regions of anatomy; positions and gantry; views of projection radiography.
CONTEXT_GROUPS = (2, 4, 5, 19, 20, 21, 4009, 4010, 4011, 4012, 4030, 4031)
# Of older editions, and frequent.
OLDER = (
    ("51185008", "SCT", "Chest"),
    ("R-10214", "SRT", "postero-anterior"),
    ("R-10242", "SRT", "cranio-caudal"),
)


@cache
def _known() -> tuple[Code, ...]:
    from pydicom.sr.codedict import codes  # all of PS3.16, for few files
    from pydicom.sr.coding import Code

    groups = (getattr(codes, f"cid{number}").concepts.values() for number in CONTEXT_GROUPS)
    return (*(code for group in groups for code in group), *(Code(*code) for code in OLDER))


@lru_cache(maxsize=4096)
def meaning(value: str, scheme: str) -> str | None:
    """The official meaning of a code of SNOMED CT (or of its older values, SRT), else None."""
    if scheme not in ("SCT", "SRT", "SNM3", "DCM"):
        return None
    from pydicom.sr.coding import Code

    wanted = Code(value, "SRT" if scheme == "SNM3" else scheme, "")
    return next((code.meaning for code in _known() if code == wanted), None)
