"""The picture of releases of sets: what links, against what a small and a large classifier lose.

Every number is a method; the key beside the panels names it. A filled mark is of several
trainings of the classifier, an open one of a single training; a square one was measured at 64 px.
Marks stand at the figures, where their bars cross.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from compared import CODES, DRAWN, MINIATURE, SETS, measured_sets
from headline import KIND
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from reproduced import results

from attacks.evaluation.floors import TASK
from attacks.measuring.estimates import Estimate
from attacks.recommending.evidence import strongest as highest
from attacks.reporting.pictures.figures import DPI, FAINT, INK, QUIET, STYLE, save
from attacks.reporting.readings import MATCHED, auc
from attacks.results import REAL, Method

WISHED = (0.60, 0.02)  # matched AUC, and AUC that a classifier loses, at most
LOWEST = -0.135  # what loses more is named at the edge
PRICHEXY = "prichexy-net"
COLOURS = {
    **{"mosaic": "#2f6f1b", "k-same": "#8e2463", "utility-code": "#b35c00", "dp-pix": "#0571b0"},
    **{"neural-obfuscation": "#5e4fa2", PRICHEXY: "#4d4d4d"},
}
SMALL = 64  # pixels, of what is square
OF_ONE = ("utility-code", "neural-obfuscation", PRICHEXY)
PANELS = ("small classifier", "ResNet-18")
AREA = 80  # square points of a mark


def frontier(path: Path) -> None:
    """x: highest AUC of all attackers against matched impostors, of all outputs of a patient, too;
    y: AUC of a classifier less that of one of real images. Bars are 95 % intervals."""
    releases = [one for one in (*measured_sets(), *_small()) if one[1].name != REAL]
    names = {title: method.name for title, method, _ in releases}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11.5, 5.2), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        left, right, key = figure.subplots(
            1, 3, gridspec_kw={"width_ratios": (1, 1, 0.62)}, sharey=False
        )
        right.sharex(left)
        right.sharey(left)
        left.set_ylabel("AUC of a classifier less that of real images   more useful →")
        figure.supxlabel(
            "highest AUC of all attackers, matched impostors   ← more private", size=10
        )
        _names(key, names)
        for axes, name, larger in zip((left, right), PANELS, (False, True), strict=True):
            _references(axes, name)
            shown = [
                _Mark([*names].index(title) + 1, method, other if larger else method)
                for title, method, other in releases
                if not larger or other is not None
            ]
            _draw(axes, shown)
        save(figure, path)


def _small() -> Iterator[tuple[str, Method, None]]:
    """What the smaller images of the same children were released by, one for each; generators of
    one game share a title."""
    for title, method in results(CODES).titled:
        if method.name in OF_ONE:
            yield f"{title}, {SMALL} px", method, None
    for method in results(MINIATURE).methods:
        if method.options.items() >= KIND.items():
            yield f"{method.name} μ={method.options['mu']:g}, {SMALL} px", method, None
    for method in results(DRAWN).methods:
        if method.name == PRICHEXY:
            how = f"μ={method.options['mu']:g} px, drawn={method.options['drawn']:g}"
            yield f"{method.name} {how}, {SMALL} px", method, None


def _references(axes: Axes, name: str) -> None:
    low, most = WISHED
    axes.set_title(name, loc="left", color=INK)
    axes.set_xlim(0.5, 0.93)
    axes.set_ylim(LOWEST, 0.015)
    axes.add_patch(Rectangle((0.5, -most), low - 0.5, most, color=FAINT, alpha=0.35, lw=0))
    axes.annotate("wished for", (0.503, -most + 0.0015), color=QUIET, fontsize=8)
    axes.axhline(0, color=QUIET, lw=0.8, ls="--")
    floor = next(f.matched for f in results(SETS).floors if f.name == TASK)
    axes.axvline(floor.mean, color=QUIET, lw=0.8, ls=(0, (7, 2, 1, 2)))
    axes.annotate("floor: task", (floor.mean + 0.003, 0.011), color=QUIET, fontsize=8)


@dataclass(frozen=True)
class _Mark:
    """A release by its number in the key: how it was attacked, and how a classifier learnt."""

    number: int
    method: Method
    chosen: Method

    @property
    def linked(self) -> Estimate:
        return auc(highest(self.method)[1], MATCHED)

    @property
    def lost(self) -> Estimate:
        return self.chosen.utility.retrained.difference

    @property
    def colour(self) -> str:
        return COLOURS[self.method.name]


def _draw(axes: Axes, marks: list[_Mark]) -> None:
    for mark in marks:
        if mark.lost.mean < LOWEST:
            axes.annotate(
                f"{mark.number} ↓ {mark.lost.mean:.2f}".replace("-", "−"),
                (mark.linked.mean, LOWEST), color=mark.colour, fontsize=8, va="bottom",
            )  # fmt: skip
    marks = [mark for mark in marks if mark.lost.mean >= LOWEST]
    for mark in marks:
        x, y = mark.linked.mean, mark.lost.mean
        bars = {"color": mark.colour, "lw": 0.8, "alpha": 0.45, "zorder": 1}
        axes.plot(mark.linked.ci95, (y, y), **bars)
        axes.plot((x, x), mark.lost.ci95, **bars)
        _number(axes, mark, (x, y))


def _number(axes: Axes, mark: _Mark, place: tuple[float, float]) -> None:
    single = len(mark.chosen.utility.retrained.auc.runs) == 1
    shape = "s" if mark.method.name in OF_ONE else "o"
    inside, ink = ("white", mark.colour) if single else (mark.colour, "white")
    axes.scatter(*place, s=AREA, zorder=2, ec=mark.colour, fc=inside, marker=shape)
    axes.annotate(
        str(mark.number), place, ha="center", va="center", fontsize=7, zorder=3, color=ink
    )


def _names(axes: Axes, names: Mapping[str, str]) -> None:
    """The key: of each title the name of the method."""
    axes.axis("off")
    for row, (title, name) in enumerate(names.items()):
        axes.annotate(
            f"{row + 1}  {title}", (0, 1 - (row + 0.5) / len(names)), xycoords="axes fraction",
            color=COLOURS[name], fontsize=8, va="center",
        )  # fmt: skip
