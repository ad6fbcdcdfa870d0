"""Colour and mark of every method, the same in all pictures and on the page.

A kind of method has one colour everywhere, whatever else is shown; methods of one picture have a
mark each. The colours are those of Okabe and Ito (2008), darkened where they would be faint on
white, and some between them; the second of each pair is for a dark page. Both keep a contrast of
3:1 or more (WCAG 2.2, 1.4.11).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attacks.titles import REAL

REAL_MARK = "*"
COLOURS = {
    "ink": ("#222222", "#f2f4f6"),
    "vermilion": ("#d55e00", "#ff8f45"),
    "blue": ("#0072b2", "#56b4e9"),
    "green": ("#00865f", "#2ed3a2"),
    "purple": ("#b8558f", "#e79cc8"),
    "yellow": ("#8a6d00", "#f0e442"),
    "indigo": ("#5b4fb5", "#a99cff"),
    "wine": ("#882255", "#e5729c"),
    "olive": ("#4d7c0f", "#a9dc62"),
    "teal": ("#1b8296", "#63d3e6"),
    "sienna": ("#9c4f2c", "#dba581"),
}
KINDS = {
    REAL: "ink",
    "prichexy-net": "vermilion",
    "dp-pix": "blue",
    "random-warp": "green",
    "privacy-net": "purple",
    "gaussian-blur": "yellow",
    "down-sampling": "indigo",
    "k-same": "wine",
    "mosaic": "olive",
    "neural-obfuscation": "teal",
    "utility-code": "sienna",
}
# As matplotlib names them, and as paths of about 10 px around (0, 0).
MARKS = {
    "o": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "s": "M-4.5-4.5h9v9h-9z",
    "D": "M0-6 6 0 0 6-6 0z",
    "^": "M0-5.5 5.5 4.5h-11z",
    "v": "M0 5.5 5.5-4.5h-11z",
    "P": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
    "X": "M-5.5-3-3-5.5 0-2.5 3-5.5 5.5-3 2.5 0 5.5 3 3 5.5 0 2.5-3 5.5-5.5 3-2.5 0z",
    "<": "M-5.5 0 4.5-5.5v11z",
    ">": "M5.5 0-4.5-5.5v11z",
    "h": "M0-6 5.2-3v6L0 6-5.2 3v-6z",
    REAL_MARK: "M0-8 1.9-2.6 7.6-2.5 3.1 1 4.7 6.5 0 3.2-4.7 6.5-3.1 1-7.6-2.5-1.9-2.6z",
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn: the name of its colour, and its mark as matplotlib names it."""

    name: str
    mark: str

    @property
    def colour(self) -> str:
        """On white."""
        return COLOURS[self.name][0]

    @property
    def path(self) -> str:
        """The mark for an SVG."""
        return MARKS[self.mark]


def looks(methods: Sequence[tuple[str, str]]) -> dict[str, Look]:
    """The look of each method by its title."""
    marks = [mark for mark in MARKS if mark != REAL_MARK]
    spare = [colour for colour in COLOURS if colour != "ink"]
    strangers = list(dict.fromkeys(name for _, name in methods if name not in KINDS))
    taken = {KINDS[name] for _, name in methods if name in KINDS}
    spare.sort(key=lambda colour: colour in taken)  # free ones first
    kinds = KINDS | {name: spare[n % len(spare)] for n, name in enumerate(strangers)}
    found: dict[str, Look] = {}
    for title, name in methods:
        shown = sum(look.mark != REAL_MARK for look in found.values())
        mark = REAL_MARK if name == REAL else marks[shown % len(marks)]
        found.setdefault(title, Look(kinds[name], mark))
    return found
