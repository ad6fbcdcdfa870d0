"""The files of `attacks compare`: comparison.html, .md and .csv."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anonymize import whole_file
from attacks.reporting import page_plots
from attacks.reporting.figure_rows import write_csv
from attacks.reporting.page import page
from attacks.reporting.pictures.looks import looks
from attacks.reporting.pictures.plots import Plane
from attacks.reporting.side_by_side import (
    Side,
    SideDifference,
    difference_table,
    notes,
    overview,
    said,
)
from attacks.reporting.tables import text
from attacks.reporting.words import headline as verdict
from attacks.results import Results

NAME = "comparison"
COLUMNS = ("first", "second", "method", "attacker", "impostors", "difference",
           "ci95_low", "ci95_high", "p")  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """An evaluation on the page: its name, results, verdict and picture."""

    name: str
    results: Results
    verdict: str
    plane: Plane | None


def write_comparison(
    sides: Sequence[Side], found: Sequence[SideDifference], out: Path
) -> list[str]:
    """Writes comparison.md, .csv and .html, and returns their names."""
    own = looks([named for side in sides for named in side.results.named])
    table = text(overview(sides)) + "\n" + text(difference_table(found), said(sides, found))
    (out / f"{NAME}.md").write_text(table, encoding="utf-8")
    write_csv(out / f"{NAME}.csv", COLUMNS, map(_line, found))
    titles = list(own)
    shown = page(
        "compare.html",
        sides=[_shown(side, titles) for side in sides],
        said=said(sides, found),
        differences=difference_table(found),
        notes=notes(found),
        overview=overview(sides),
        titles=titles,
        looks=list(own.values()),
    )
    whole_file.write(out / f"{NAME}.html", shown)
    return [f"{NAME}{kind}" for kind in (".md", ".csv", ".html")]


def _shown(side: Side, titles: list[str]) -> Shown:
    """Its methods by their numbers among those of all."""
    plane, own = page_plots.tradeoff_plane(side.results), side.results.titles()
    if plane is not None:
        marks = [replace(m, method=titles.index(own[m.method])) for m in plane.marks]
        plane = replace(plane, marks=marks)
    return Shown(side.name, side.results, verdict(side.results)[1], plane)


def _line(one: SideDifference) -> tuple:
    low, high = one.difference.ci95 or (None, None)
    names = (one.first, one.second, one.method, one.attacker, one.reading)
    return (*names, one.difference.mean, low, high, one.p)
