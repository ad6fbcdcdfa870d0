"""The paper's figures made from our results, with its own figures beside them.

Figure 3 is `attacks.reporting.pictures.examples.crops`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from attacks.evaluation.published import published
from attacks.reporting.comparison import VERIFICATION, comparison_rows
from attacks.reporting.pictures.figures import (
    COLOURS,
    INK,
    QUIET,
    bars,
    chance,
    drawn,
    legend,
    short,
)
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


def repeats(results: Results, path: Path) -> None:
    """The verification AUC of every repeat by the paper's reading, mean and deviation; the paper's
    where it has them."""
    rows = [
        (title, found, published(method))
        for title, method in results.titled
        if (found := auc(method.privacy.get(VERIFICATION), LISTED)) is not None
    ]
    with drawn(path, (7.6, 0.36 * len(rows) + 1.4), "constrained") as figure:
        axes = figure.add_subplot()
        chance(axes, across=False)
        for row, (_, found, paper) in enumerate(rows):
            axes.errorbar(
                found.mean, row, xerr=found.sd, fmt="|", color=INK, ms=11, capsize=0, zorder=3
            )
            axes.plot(found.runs, [row] * len(found.runs), "o", color=COLOURS[0], alpha=0.6, ms=4.5)
            if paper is not None:
                mean, sd = paper.verification
                axes.errorbar(
                    mean, row + 0.28, xerr=sd, fmt="D", color=QUIET, mfc="white", ms=4, zorder=2
                )
        axes.plot([], [], "o", color=COLOURS[0], alpha=0.6, ms=4.5, label="a run of the attack")
        axes.errorbar([], [], xerr=[], fmt="|", color=INK, label="mean ± standard deviation")
        axes.errorbar([], [], xerr=[], fmt="D", color=QUIET, mfc="white", ms=4, label="the paper's")
        axes.set_yticks(range(len(rows)), [short(title) for title, *_ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("verification AUC   ← more private")
        axes.set_title(f"Every run of the attack: {NAMES[LISTED]}", loc="left", fontsize=11)
        legend(figure)


def findings(results: Results, path: Path) -> None:
    """AUC of every finding for every method, classifier frozen; colour: what is lost."""
    read = [
        (title, method.utility.frozen.auc.per_class)
        for title, method in results.titled
        if method.utility.frozen is not None
    ]
    labels = list(read[0][1])
    values = np.array([[_number(own[label]) for label in labels] for _, own in read])
    real = results.real and results.real.utility.frozen
    base = np.array([_number(real.auc.per_class[label]) if real else np.nan for label in labels])
    size = (0.62 * len(labels) + 2.6, 0.34 * len(read) + 1.7)
    with drawn(path, size, "constrained") as figure:
        axes = figure.add_subplot()
        shown = axes.imshow(values - base, cmap="PuOr", vmin=-0.3, vmax=0.3, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                strong = abs(value - base[column]) > 0.2
                axes.text(
                    column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5,
                    color="white" if strong else INK,
                )  # fmt: skip
        axes.set_yticks(range(len(read)), [short(title) for title, _ in read])
        names = [short(label.replace("_", " ")) for label in labels]
        axes.set_xticks(range(len(labels)), names, rotation=40, ha="right")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title("Classification AUC by finding, classifier frozen", loc="left", fontsize=11)
        bar = figure.colorbar(shown, ax=axes, shrink=0.8, pad=0.01)
        bar.set_label("AUC − AUC on real images", fontsize=8.5)
        bar.outline.set_visible(False)


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


def _number(value: float | None) -> float:
    return np.nan if value is None else value
