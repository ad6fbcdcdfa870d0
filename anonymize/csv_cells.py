"""Cells of CSV files that people open: nothing that a spreadsheet computes, or hides."""

import re
from typing import Any

# What a spreadsheet runs (OWASP, CSV injection), also behind blanks and in wide letters; a number
# with its sign is none. With apostrophes before it, so that one more can be taken off again.
FORMULA = re.compile(
    "'*(?:[\t\r\n]|\\s*(?:[=@\uff1d\uff20\uff0b\uff0d]|[+-](?![\\d.]+(?:[eE][+-]?\\d+)?$)))"
)
# Control characters, line and paragraph separators, and what turns the direction of writing.
CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What is not drawn (Unicode, Default_Ignorable_Code_Point): it could spell anything behind an
# honest word. Persian joins no letters (200C) where words meet, which is no more than its spelling.
UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200d-\u200f\u2060-\u2065"
    "\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\u200c{2}"
)


def is_formula(cell: str) -> bool:
    """True for text that a spreadsheet would compute rather than show."""
    return FORMULA.match(cell) is not None


def inert(value: Any) -> Any:
    """A value for a CSV file; text that a spreadsheet would compute gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and is_formula(value) else value


def undone(cell: str) -> str:
    """What :func:`inert` made ``cell`` of."""
    return cell[1:] if cell.startswith("'") and is_formula(cell) else cell


def flaw_of_name(path: str) -> str:
    """Why a path cannot stand in a public table as it is; "" where it can."""
    if is_formula(path):
        return "a formula"
    if UNSEEN.search(path):
        return "a character that nobody sees"
    return "a control character" if CONTROL.search(path) else ""
