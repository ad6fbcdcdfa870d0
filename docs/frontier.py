"""The pictures of releases of sets: what links, against what a classifier loses.

Every number is a method; the key below the panels names it. A hollow mark is of one training of the
classifier alone, or of images from which none learns enough to be read; a square one was measured
at 64 px, beside larger images.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from compared import SETS, measured_sets, one_for_each
from frontier_panels import INK, Line, Mark, Panel, colour, draw
from games import DRAWN, MINIATURE
from headline import KIND
from reproduced import results

from attacks.evaluation.floors import TASK
from attacks.recommending.evidence import lost
from attacks.recommending.evidence import strongest as highest
from attacks.reporting.readings import MATCHED, auc
from attacks.results import REAL, Method, Results

PRICHEXY = "prichexy-net"
SMALL = 64  # pixels, of what is square
OF_ONE = ("utility-code", "neural-obfuscation", PRICHEXY)
OTHERS = {
    "held_back": "Phantom, 64 px, 240 patients",
    "held_back_real": "ChestX-ray14, 64 px, 11 patients",
    "sets_covid19": "COVID-19, 128 px, 54 patients",
}


def frontier(path: Path) -> None:
    """x: highest AUC of all attackers against matched impostors, of all outputs of a patient, too;
    y: AUC of a classifier less that of one of real images. Bars are 95 % intervals."""
    releases = [one for one in (*measured_sets(), *_small()) if one[1].name != REAL]
    names = {title: method.name for title, method, _ in releases}
    numbers = {title: number for number, title in enumerate(names, 1)}
    small = [
        replace(_mark(numbers[title], method, method), square=method.name in OF_ONE)
        for title, method, _ in releases
    ]
    large = [_mark(numbers[title], method, other) for title, method, other in releases if other]
    floor = _floor(results(SETS))
    panels = Panel("small classifier", floor, small), Panel("ResNet-18", floor, large)
    key = [_line(numbers[title], title, name) for title, name in names.items()]
    half = (len(key) + 1) // 2
    limits = (0.5, 0.93, -0.1, 0.015)
    draw(path, panels, (key[:half], key[half:]), rows=1, limits=limits, size=(11, 6))


def others(path: Path) -> None:
    """The same of other data, of the findings that the methods were told of; of the phantom's that
    were held back, too, where bars along y are of the AUC and not of the difference."""
    panels: list[Panel] = []
    key: list[list[Line]] = []
    first = 1
    for data, title in OTHERS.items():
        own = results(data)
        titled = dict(own.titled_released)
        numbered = dict(enumerate(titled.values(), first))
        key.append([(title, INK), *_lines(first, titled)])
        first += len(titled)
        panels.append(_panel(title, own, numbered))
        if own.real.utility.readable:
            panels += _held_back(panels.pop(), own.real, numbered)
    draw(path, panels, key, rows=2, limits=(0.48, 1.02, -0.42, 0.12), size=(11, 8))


def _small() -> Iterator[tuple[str, Method, None]]:
    """What the smaller images of the same children were released by, one for each; generators of
    one game share a title."""
    for title, method in one_for_each():
        if method.name in OF_ONE:
            yield f"{title}, {SMALL} px", method, None
    for method in results(MINIATURE).methods:
        if method.options.items() >= KIND.items():
            yield f"{method.name} μ={method.options['mu']:g}, {SMALL} px", method, None
    for method in results(DRAWN).methods:
        if method.name == PRICHEXY:
            how = f"μ={method.options['mu']:g} px, drawn={method.options['drawn']:g}"
            yield f"{method.name} {how}, {SMALL} px", method, None


def _mark(number: int, method: Method, taught: Method) -> Mark:
    """A release by the evaluation of its attackers, and of its classifier."""
    linked, gained = auc(highest(method)[1], MATCHED), lost(taught)
    single = len(taught.utility.retrained.auc.runs) == 1
    place = linked.mean, gained.mean
    return Mark(number, method.name, place, linked.ci95, gained.ci95, hollow=single)


def _floor(own: Results) -> float:
    return next(floor.matched.mean for floor in own.floors if floor.name == TASK)


def _panel(title: str, own: Results, numbered: Mapping[int, Method]) -> Panel:
    """Hollow where utility is unreadable; without whom nobody is like."""
    marks = [_mark(n, method, method) for n, method in numbered.items() if highest(method)]
    if own.real.utility.readable:
        return Panel(title, _floor(own), marks)
    hollow = [replace(mark, hollow=True) for mark in marks]
    return Panel(f"{title}: utility unreadable", _floor(own), hollow)


def _held_back(told: Panel, real: Method, numbered: Mapping[int, Method]) -> tuple[Panel, Panel]:
    """The panel of what was told, and that of what was not."""
    base = real.utility.retrained.held_back.mean
    marks = []
    for mark in told.marks:
        found = numbered[mark.number].utility.retrained.held_back
        gained = tuple(end - base for end in found.ci95)
        marks.append(replace(mark, place=(mark.place[0], found.mean - base), gained=gained))
    unseen = replace(told, title="the same: findings held back", marks=marks)
    return replace(told, title=f"{told.title}: findings told"), unseen


def _lines(first: int, titled: Mapping[str, Method]) -> Iterator[Line]:
    for number, (title, method) in enumerate(titled.items(), first):
        unlike = "" if highest(method) else " (no impostor is alike)"
        yield _line(number, title + unlike, method.name)


def _line(number: int, title: str, name: str) -> Line:
    return f"{number:\N{FIGURE SPACE}>2}  {title}", colour(name)
