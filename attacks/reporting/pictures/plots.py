"""The page's own pictures as data: where each mark stands, in percent, and what it says.

The templates draw them as SVG in percent of whatever width there is, so that letters keep their
size on every screen. What a picture says of a mark is text (``tip``): a pointer, the keyboard and
a screen reader get the same. The pictures for papers are those of `tradeoff` and `roc`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from attacks.measuring.estimates import Estimate, LabelAuc
from attacks.reporting.tables import in_words

Place = Callable[[float], float]


@dataclass(frozen=True)
class Mark:
    """A mark of a method.

    Attributes:
        tip: lines of text.
        x, y: percent from the left and from the top.
        across, along: ends of its horizontal and vertical bar, in percent; None: no bar.
        tick: x of a second, smaller mark, in percent.
        title: written beside it; "" where nothing is.
    """

    method: int
    tip: tuple[str, ...]
    x: float
    y: float = 50
    across: tuple[float, float] | None = None
    along: tuple[float, float] | None = None
    open: bool = False
    tick: float | None = None
    title: str = ""


@dataclass(frozen=True)
class Axis:
    """Ticks (percent, text), lines (percent, text) across the picture, and what is measured."""

    ticks: list[tuple[float, str]]
    title: str = ""
    lines: list[tuple[float, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Curve:
    """A line of a method: "x,y x,y …" in percent, and whether the data cannot certify it."""

    method: int
    points: str
    faint: bool = False


@dataclass(frozen=True)
class Plane:
    """Marks and curves between two axes; all percents of y are from the top."""

    x: Axis
    y: Axis
    marks: list[Mark]
    curves: list[Curve] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A line of marks with its title, and what is to be said of it."""

    title: str
    marks: list[Mark]
    note: str = ""


@dataclass(frozen=True)
class Strip:
    """Rows above one axis."""

    title: str
    rows: list[Row]
    x: Axis


def scale(low: float, high: float) -> Place:
    """Percent of the way from ``low`` to ``high``; 50 where they are one."""
    return lambda value: 100 * (value - low) / (high - low) if high > low else 50.0


def logarithmic(low: float, high: float) -> Place:
    """The same of logarithms; what is below ``low`` stands there."""
    inner = scale(math.log10(low), math.log10(high))
    return lambda value: inner(math.log10(max(value, low)))


def linear_axis(low: float, high: float, title: str = "") -> tuple[Axis, Place]:
    """An axis with three to nine round ticks, and its scale."""
    place, step = scale(low, high), _step(high - low)
    first = math.ceil(low / step - 1e-9)
    values = [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return Axis([(place(v), f"{v:.{digits}f}") for v in values], title), place


def _step(span: float) -> float:
    most = max(span, 1e-6) / 3
    unit = 10 ** math.floor(math.log10(most))
    return next(unit * n for n in (5, 2, 1) if unit * n <= most * (1 + 1e-9))


def around(values: Iterable[float]) -> tuple[float, float]:
    """Ends of an axis that shows all of them, and some room."""
    known = list(values)
    margin = 0.07 * max(max(known) - min(known), 0.05)
    return min(known) - margin, max(known) + margin


def bar(place: Place, found: Estimate | LabelAuc) -> tuple[float, float] | None:
    """Its 95 % interval in percent."""
    return None if found.ci95 is None else (place(found.ci95[0]), place(found.ci95[1]))


def spread(figures: Iterable[Estimate | LabelAuc | None]) -> list[float]:
    """Means and ends of intervals."""
    known = [f for f in figures if f is not None and f.mean is not None]
    return [v for f in known for v in (f.mean, *(f.ci95 or ())) if v is not None]


def mark(
    method: int,
    title: str,
    name: str,
    found: Estimate | LabelAuc,
    place: Place,
    *,
    open: bool = False,
) -> Mark:
    """On a row: the mean with its interval, and a tip of title, name and figure."""
    assert found.mean is not None
    tip = (title, f"{name}: {in_words(found)}")
    return Mark(method, tip, place(found.mean), across=bar(place, found), open=open)


def fanned(marks: Sequence[Mark]) -> list[Mark]:
    """The same, one below the other, so that none covers another."""
    step = 100 / (len(marks) + 1)
    return [replace(one, y=step * (n + 1)) for n, one in enumerate(marks)]
