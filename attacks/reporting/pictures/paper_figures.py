"""The paper's Figure 2 made from our results, beside its own; Figure 3 is
`attacks.reporting.pictures.examples.crops`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from attacks.reporting.comparison import VERIFICATION, comparison_rows
from attacks.reporting.pictures.figures import bars, chance, drawn, short
from attacks.reporting.pictures.looks import Look, looks
from attacks.reporting.pictures.placement import Title, place_titles
from attacks.reporting.readings import LISTED, NAMES, auc
from attacks.results import Results


@dataclass(frozen=True)
class _Mark:
    """A method: verification AUC of the listed pairs ± deviation, classification AUC with
    interval."""

    title: str
    name: str
    x: float
    deviation: float
    y: float
    interval: tuple[float, float]

    @property
    def strokes(self) -> list[tuple[list[tuple[float, float]], float]]:
        low, high = self.interval
        return [
            ([(self.x, self.y), (self.x, self.y)], 6),
            ([(self.x - self.deviation, self.y), (self.x + self.deviation, self.y)], 1),
            ([(self.x, low), (self.x, high)], 1),
        ]


def figure_2(results: Results, path: Path) -> None:
    """Figure 2: verification AUC of the listed pairs, the paper's reading, against classification
    AUC of every method; .png or .svg.

    Left the paper's figures, right ours. Bars as published: standard deviation of the attack's
    runs, 95 % interval of the classifier. A line joins the strengths of one method.
    """
    sides = {
        "Packhäuser et al. 2023, Table 1": _theirs(results),
        f"measured here: {results.source.name}": _ours(results),
    }
    kinds = looks([(mark.name, mark.name) for marks in sides.values() for mark in marks])
    with drawn(path, (11.5, 5.2), "constrained") as figure:
        both = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, (title, marks) in zip(both, sides.items(), strict=True):
            axes.set_title(f"{title}: {NAMES[LISTED]}", loc="left", fontsize=11, fontweight="bold")
            axes.set_xlabel("verification AUC   ← more private")
            axes.margins(0.1)
            chance(axes)
            for name, look in kinds.items():
                _draw(axes, [mark for mark in marks if mark.name == name], look)
        both[0].set_ylabel("mean classification AUC   more useful →")
        figure.draw_without_rendering()
        for axes, marks in zip(both, sides.values(), strict=True):
            place_titles(
                axes,
                [Title(short(m.title), (m.x, m.y), kinds[m.name].colour, m.strokes) for m in marks],
            )


def _theirs(results: Results) -> list[_Mark]:
    return [
        _Mark(r.title, r.published.name, *r.published.verification, *r.published.classification)
        for r in comparison_rows(results)
    ]


def _ours(results: Results) -> list[_Mark]:
    found = []
    for title, method in results.titled:
        verified, read = auc(method.privacy.get(VERIFICATION), LISTED), method.utility.auc("frozen")
        if verified is not None and read is not None and read.mean is not None:
            interval = read.ci95 or (read.mean, read.mean)
            figures = (verified.mean, verified.sd, read.mean, interval)
            found.append(_Mark(title, method.name, *figures))
    return found


def _draw(axes: Axes, marks: Sequence[_Mark], look: Look) -> None:
    line = [[mark.x for mark in marks], [mark.y for mark in marks]]
    axes.plot(*line, color=look.colour, alpha=0.3, linewidth=1, zorder=1)
    for mark in marks:
        axes.errorbar(
            mark.x,
            mark.y,
            xerr=mark.deviation,
            yerr=bars(mark.y, mark.interval),
            fmt=look.mark,
            color=look.colour,
            markersize=12 if look.mark == "*" else 7,
            elinewidth=1.2,
            zorder=3,
        )
