"""What the readings of one figure are called, everywhere alike.

``matched`` is the headline: pairs of images of the same findings, sex, age and view. ``all`` is
against all impostors, over all pairs. ``listed`` is over the fixed test pairs, as published.
"""

from collections.abc import Sequence

from attacks.measuring.metrics import YEARS

MATCHED, ALL, LISTED = "matched", "all", "listed"
NAMES = {MATCHED: "matched impostors", ALL: "all impostors", LISTED: "listed pairs"}
SHORT = {MATCHED: "matched", ALL: "all"}  # kinds of impostors
NOTHING_KNOWN = "no findings, sex, age or view is known"


def matched_like(names: Sequence[str]) -> str:
    """ "the same findings, sex, age ± 2 years, where known"."""
    words = [f"age ± {YEARS} years" if name == "age" else name for name in names]
    if {*names} - {"findings"}:
        words.append("where known")
    return f"the same {', '.join(words)}" if words else ""


def why_unmatched(names: Sequence[str]) -> str:
    """Why there is no figure against matched impostors, where these are known to match by."""
    return f"none is alike in {', '.join(names)}" if names else NOTHING_KNOWN
