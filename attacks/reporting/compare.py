"""The files of `attacks compare`: comparison.html, .md, .csv, and pictures for papers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anonymize import whole_file
from attacks.reporting import page_plots
from attacks.reporting.figure_rows import write_csv
from attacks.reporting.folder import FORMATS
from attacks.reporting.page import page
from attacks.reporting.pictures.figures import bars, chance, drawn, legend, short
from attacks.reporting.pictures.looks import Look, looks
from attacks.reporting.pictures.plots import Plane
from attacks.reporting.readings import headline, strongest_auc
from attacks.reporting.readings import title as reading_title
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
    """Writes comparison.md, .csv, .png, .svg, .pdf and .html, and returns their names."""
    own = looks([named for side in sides for named in side.results.named])
    table = text(overview(sides)) + "\n" + text(difference_table(found), said(sides, found))
    (out / f"{NAME}.md").write_text(table, encoding="utf-8")
    write_csv(out / f"{NAME}.csv", COLUMNS, map(_line, found))
    for kind in FORMATS:
        _panels(sides, own, out / f"{NAME}{kind}")
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
    return [f"{NAME}{kind}" for kind in (".md", ".csv", *FORMATS, ".html")]


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


def _panels(sides: Sequence[Side], own: dict[str, Look], path: Path) -> None:
    """A panel an evaluation, on the same axes: strongest attacker against retrained classifier, or
    against the frozen one where none was retrained."""
    with drawn(path, (4.6 * len(sides), 5.0), "constrained") as figure:
        panels = figure.subplots(1, len(sides), sharex=True, sharey=True, squeeze=False)[0]
        said: set[str] = set()
        for axes, side in zip(panels, sides, strict=True):
            chance(axes)
            read = reading_title(side.results)
            axes.set_title(f"{short(side.name)}\n{read}", loc="left", fontsize=9)
            axes.set_xlabel("AUC of the strongest attacker   ← more private", fontsize=8.5)
            for title, method in side.results.titled:
                auc = strongest_auc(method, headline(side.results))
                useful = method.utility.auc("retrained") or method.frozen
                if auc is None or useful is None or useful.mean is None:
                    continue
                look = own[title]
                axes.errorbar(
                    auc.mean, useful.mean, xerr=bars(auc.mean, auc.ci95),
                    yerr=bars(useful.mean, useful.ci95), fmt=look.mark, color=look.colour,
                    markersize=6, elinewidth=1, label=None if title in said else short(title),
                )  # fmt: skip
                said.add(title)
        panels[0].set_ylabel("mean classification AUC   more useful →")
        if said:
            legend(figure, columns=3)
