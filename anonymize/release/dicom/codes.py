"""Codes of anatomy, views and positions (context groups of PS3.16), and their official meanings."""

from __future__ import annotations

from functools import cache, lru_cache

from pydicom.sr.codedict import codes
from pydicom.sr.coding import Code

# Modifiers and regions of anatomy; positions and gantry; views of projection radiography.
CONTEXT_GROUPS = (2, 4, 5, 19, 20, 21, 4009, 4010, 4011, 4012, 4030, 4031)
# Of older editions, and frequent.
OLDER = (
    Code("51185008", "SCT", "Chest"),
    Code("R-10214", "SRT", "postero-anterior"),
    Code("R-10242", "SRT", "cranio-caudal"),
)


@cache
def _known() -> tuple[Code, ...]:
    groups = (getattr(codes, f"cid{number}").concepts.values() for number in CONTEXT_GROUPS)
    return (*(code for group in groups for code in group), *OLDER)


@lru_cache(maxsize=4096)
def meaning(value: str, scheme: str) -> str | None:
    """The official meaning of a code of SNOMED CT (or of its older values, SRT), else None."""
    if scheme not in ("SCT", "SRT", "SNM3", "DCM"):
        return None
    wanted = Code(value, "SRT" if scheme == "SNM3" else scheme, "")
    return next((code.meaning for code in _known() if code == wanted), None)
