"""The picture of releases of sets: what links, against what a small and a large classifier lose.

Every number is a method; the key beside the panels names it. A filled mark is of several
trainings of the classifier, an open one of a single training; a square one was measured at 64 px.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib as mpl
from compared import CODES, MINIATURE, SETS, measured_sets
from headline import KIND
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from reproduced import results

from attacks.evaluation.floors import TASK
from attacks.recommending.evidence import strongest as highest
from attacks.reporting.pictures.figures import DPI, FAINT, INK, QUIET, STYLE, save
from attacks.reporting.readings import MATCHED, auc
from attacks.results import REAL, Method

WISHED = (0.60, 0.02)  # matched AUC, and AUC that a classifier loses, at most
LOWEST = -0.135  # what loses more is named at the edge
COLOURS = {
    **{"mosaic": "#2f6f1b", "k-same": "#8e2463", "utility-code": "#b35c00", "dp-pix": "#0571b0"},
    **{"neural-obfuscation": "#5e4fa2", "prichexy-net": "#4d4d4d"},
}
SMALL = 64  # pixels, of what is square
OF_ONE = ("utility-code", "neural-obfuscation", "prichexy-net")
PANELS = ("small classifier", "ResNet-18")


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
        for axes, name, larger in zip((left, right), PANELS, (False, True), strict=True):
            _references(axes, name)
            for title, method, other in releases:
                chosen = other if larger else method
                if chosen is not None:
                    _draw(axes, [*names].index(title) + 1, method, chosen)
        left.set_ylabel("AUC of a classifier less that of real images   more useful →")
        figure.supxlabel(
            "highest AUC of all attackers, matched impostors   ← more private", size=10
        )
        _names(key, names)
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


def _draw(axes: Axes, number: int, method: Method, chosen: Method) -> None:
    linked = auc(highest(method)[1], MATCHED)
    lost = chosen.utility.retrained.difference
    x, y, colour = linked.mean, lost.mean, COLOURS[method.name]
    if y < LOWEST:
        axes.annotate(
            f"{number} ↓ {y:.2f}".replace("-", "−"),
            (x, LOWEST),
            color=colour,
            fontsize=8,
            va="bottom",
        )
        return
    axes.plot(linked.ci95, (y, y), color=colour, lw=0.8, alpha=0.45, zorder=1)
    axes.plot((x, x), lost.ci95, color=colour, lw=0.8, alpha=0.45, zorder=1)
    single = len(chosen.utility.retrained.auc.runs) == 1
    mark = "s" if method.name in OF_ONE else "o"
    axes.scatter(
        [x], [y], s=130, zorder=2, ec=colour, fc="white" if single else colour, marker=mark
    )
    axes.annotate(
        str(number), (x, y), ha="center", va="center", fontsize=7, zorder=3,
        color=colour if single else "white",
    )  # fmt: skip


def _names(axes: Axes, names: Mapping[str, str]) -> None:
    """The key: of each title the name of the method."""
    axes.axis("off")
    for row, (title, name) in enumerate(names.items()):
        axes.annotate(
            f"{row + 1}  {title}", (0, 1 - (row + 0.5) / len(names)), xycoords="axes fraction",
            color=COLOURS[name], fontsize=8, va="center",
        )  # fmt: skip
