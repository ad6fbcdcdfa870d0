"""The picture of an evaluation: privacy against utility, privacy by its headline reading."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attacks.reporting import readings
from attacks.reporting.harmless import harmless
from attacks.reporting.pictures.figures import (
    FAINT,
    INK,
    QUIET,
    ROOM,
    STYLE,
    bars,
    chance,
    drawn,
    legend,
    save,
    short,
)
from attacks.reporting.pictures.looks import REAL_MARK, Look, looks
from attacks.reporting.pictures.placement import Title, place_titles
from attacks.reporting.readings import ALL, MATCHED, NAMES
from attacks.results import Method, Results

ALL_OF_THEM = f"strongest, {NAMES[ALL]}"
DASHES = ((7, 2, 1, 2), (4, 2), (3, 1, 1, 1, 1, 1), (9, 3))  # of floors; dots are chance
NEAR_CHANCE = 0.005  # a floor so near to chance has no line of its own
REAL_LOOK = Look("ink", REAL_MARK)
MANY = 8  # methods from which on a larger picture is needed


def tradeoff(results: Results, *paths: Path) -> None:
    """:func:`tradeoff_figure` as files; .png, .svg or .pdf by their names."""
    with mpl.rc_context(STYLE):
        figure = tradeoff_figure(results)
        for path in paths:
            save(figure, path)


def tradeoff_figure(results: Results) -> Figure:
    """Privacy against utility.

    Colour and shape tell the methods apart, titles beside the marks their options.

    x: AUC of the strongest attacker against matched impostors, with a tick for the same against all
    of them and a light dot for each other that looks for patients; where no impostor is alike, or
    none was matched, against all. y: mean classification AUC, filled where the classifier is
    frozen, open where it is retrained. Bars are 95 % intervals. Dashed: the real images; dotted:
    chance; dashed in other ways: floors. Methods without utility or attackers are left out.
    """
    size = (9.6, 6.4) if len(results.methods) > MANY else (7.6, 5.0)
    with drawn((), size, "constrained") as figure:
        axes = figure.add_subplot()
        if not any(m.utility.frozen or m.utility.retrained for m in results.methods):
            _privacy_alone(figure, axes, results)
            return figure
        own = looks(results.named)
        shown = [
            point
            for title, method in results.titled
            if (point := _point(method, title, own[title], readings.headline(results)))
        ]
        _limits(axes, shown, [floor for _, floor in _floors(results)])
        _references(axes, results)
        for point in shown:
            _draw(axes, point)
        names = sorted({name for m in results.methods if m.strongest for name in [m.strongest[0]]})
        axes.set_xlabel(
            f"AUC of the strongest attacker ({short(', '.join(names))})   ← more private"
        )
        axes.set_ylabel("mean classification AUC   more useful →")
        _title(axes, results)
        _legend(figure, axes, results, shown)
        figure.draw_without_rendering()
        place_titles(axes, [Title(short(p.title), p.anchor, p.colour, _strokes(p)) for p in shown])
    return figure


def _title(axes: Axes, results: Results) -> None:
    """Which images, and which reading of privacy."""
    source = results.source
    axes.set_title(
        f"{short(source.name)}: {source.images:,} images of {source.patients:,} patients\n"
        f"privacy against {harmless(readings.title(results), 2 * ROOM)}",
        loc="left",
        fontsize=10,
        fontweight="bold",
    )


def _floors(results: Results) -> list[tuple[str, float]]:
    """Name and AUC of what links without looking for a patient, by the headline reading; those at
    chance have its line."""
    headline = readings.headline(results)
    found = ((f.name, f.matched if headline == MATCHED else f.auc) for f in results.floors)
    return [(name, auc.mean) for name, auc in found if auc and abs(auc.mean - 0.5) > NEAR_CHANCE]


def _privacy_alone(figure: Figure, axes: Axes, results: Results) -> None:
    """Where no utility was measured: an attacker a row, a mark a method, with its interval."""
    own = looks(results.named)
    apart = 0.6 / max(len(results.methods), 1)
    for n, (title, method) in enumerate(results.titled):
        colour, shape = own[title].colour, own[title].mark
        shift = (n - (len(results.methods) - 1) / 2) * apart
        for row, name in enumerate(results.attackers):
            auc = readings.auc(method.privacy.get(name), readings.headline(results))
            if auc is None:
                continue
            axes.errorbar(
                auc.mean,
                row + shift,
                xerr=bars(auc.mean, auc.ci95),
                fmt=shape,
                color=colour,
                markersize=8 if shape == "*" else 5,
                elinewidth=1,
                alpha=0.9,
                label=short(title) if name == next(iter(method.privacy)) else None,
            )
            if readings.headline(results) == MATCHED:
                everybody = method.privacy[name].auc.mean
                axes.plot(everybody, row + shift, "|", color=colour, markersize=7)
    _title(axes, results)
    _floor_lines(axes, results)
    if readings.headline(results) == MATCHED:
        axes.plot([], [], "|", color=QUIET, markersize=7, label=NAMES[ALL])
    axes.axvline(0.5, color=FAINT, linestyle=":")
    axes.set_yticks(range(len(results.attackers)), list(map(short, results.attackers)))
    axes.tick_params(axis="y", labelcolor=INK, length=0)
    axes.set_ylim(max(len(results.attackers), 1) - 0.5, -0.5)
    axes.grid(axis="y", color=FAINT, alpha=0.3)
    axes.set_xlabel("AUC of the attacker   ← more private (utility was not measured)")
    figure.set_figheight(1.6 + 0.3 * max(len(results.attackers), 4))
    if results.attackers:
        legend(figure)


@dataclass(frozen=True)
class _Point:
    title: str
    colour: str
    shape: str
    x: float
    x_interval: tuple[float, float] | None
    ticks: tuple[float, ...]  # against all impostors, where x is not that
    others: tuple[float, ...]
    ys: tuple[tuple[bool, float, tuple[float, float] | None], ...]  # filled, mean, interval

    @property
    def anchor(self) -> tuple[float, float]:
        return self.x, self.ys[0][1]


def _point(method: Method, title: str, look: Look, reading: str) -> _Point | None:
    read = ((True, method.frozen), (False, method.utility.auc("retrained")))
    ys = tuple(
        (filled, auc.mean, auc.ci95)
        for filled, auc in read
        if auc is not None and auc.mean is not None
    )
    strongest = readings.strongest_auc(method, reading)
    if strongest is None or method.strongest is None or not ys:
        return None
    looking = [a for a in method.privacy.values() if a.links_patients]
    beside = [readings.auc(a, reading) for a in looking if a is not method.strongest[1]]
    everybody = readings.strongest_auc(method, ALL)
    return _Point(
        title=title,
        colour=look.colour,
        shape=look.mark,
        x=strongest.mean,
        x_interval=strongest.ci95,
        ticks=(everybody.mean,) if everybody and reading == MATCHED else (),
        others=tuple(found.mean for found in beside if found is not None),
        ys=ys,
    )


def _limits(axes: Axes, shown: Sequence[_Point], floors: Sequence[float]) -> None:
    xs, ys = [0.5, *floors], [0.5]
    for point in shown:
        xs += [point.x, *point.ticks, *point.others, *(point.x_interval or ())]
        ys += [v for _, mean, interval in point.ys for v in (mean, *(interval or ()))]
    for values, setter in ((xs, axes.set_xlim), (ys, axes.set_ylim)):
        margin = 0.09 * max(max(values) - min(values), 0.05)
        setter(min(values) - margin, max(values) + margin)


def _references(axes: Axes, results: Results) -> None:
    chance(axes)
    _floor_lines(axes, results)
    headline = readings.headline(results)
    point = _point(results.real, "", REAL_LOOK, headline) if results.real else None
    if point is not None:
        axes.axvline(point.x, color=FAINT, linestyle="--", linewidth=1, zorder=0)
        axes.axhline(point.anchor[1], color=FAINT, linestyle="--", linewidth=1, zorder=0)


def _floor_lines(axes: Axes, results: Results) -> None:
    for (name, auc), dashes in zip(_floors(results), cycle(DASHES), strict=False):
        style: dict[str, Any] = {"color": QUIET, "linestyle": (0, dashes), "linewidth": 1.2}
        axes.axvline(
            auc, zorder=0, label=f"floor: {short(name)}", **style
        )  # colours are of methods


def _draw(axes: Axes, point: _Point) -> None:
    if len(point.ys) == 2:
        heights = [mean for _, mean, _ in point.ys]
        axes.plot([point.x] * 2, heights, color=point.colour, alpha=0.35, linewidth=1, zorder=1)
    for tick in point.ticks:
        style: dict[str, Any] = {"color": point.colour, "alpha": 0.7, "markersize": 9}
        axes.plot(tick, point.anchor[1], "|", zorder=2, markeredgewidth=1.6, **style)
    if point.others:
        level = [point.anchor[1]] * len(point.others)
        axes.plot(
            [min(point.others), point.x], level[:1] * 2, color=point.colour, alpha=0.25, zorder=1
        )
        axes.plot(point.others, level, "o", color=point.colour, alpha=0.4, markersize=3.5, zorder=2)
    for n, (filled, mean, interval) in reversed(list(enumerate(point.ys))):
        axes.errorbar(
            point.x,
            mean,
            xerr=bars(point.x, point.x_interval) if n == 0 else None,
            yerr=bars(mean, interval),
            fmt=point.shape,
            color=point.colour,
            markerfacecolor=point.colour if filled else "white",
            markersize=12 if point.shape == "*" else 7.5,
            markeredgewidth=1.4,
            elinewidth=1.2,
            zorder=3,
        )


def _legend(figure: Figure, axes: Axes, results: Results, shown: Sequence[_Point]) -> None:
    """Says once what the marks mean; the methods are named beside their marks."""
    dot: dict[str, Any] = {"marker": "o", "color": QUIET, "linestyle": ""}
    open_dot, tick = {"markerfacecolor": "white"}, {"marker": "|", "markersize": 9}
    retrained = any(not filled for point in shown for filled, _, _ in point.ys)
    entries: list[tuple[str, bool, dict[str, Any]]] = [
        ("classifier trained on real images", True, dot),
        ("classifier trained on released images", retrained, dot | open_dot),
        (ALL_OF_THEM, any(p.ticks for p in shown), dot | tick | {"markeredgewidth": 1.6}),
        ("other attackers", any(p.others for p in shown), dot | {"markersize": 3.5, "alpha": 0.5}),
        ("real images", results.real is not None, {"color": FAINT, "linestyle": "--"}),
        ("chance", True, {"color": FAINT, "linestyle": ":"}),
    ]
    for label, is_shown, style in entries:
        if is_shown:
            axes.plot([], [], label=label, **style)
    legend(figure, labelcolor=INK)


def _strokes(point: _Point) -> list[tuple[list[tuple[float, float]], float]]:
    """Both ends of everything drawn for a point, and half its width in points."""
    x, y = point.anchor
    low, high = point.x_interval or (x, x)
    heights = [mean for _, mean, _ in point.ys]
    bars = [interval for _, _, interval in point.ys if interval is not None]
    return [
        *(([(x, mean), (x, mean)], 6) for mean in heights),
        *(([(other, y), (other, y)], 3) for other in (*point.others, *point.ticks)),
        ([(low, y), (high, y)], 1),
        ([(x, min(heights)), (x, max(heights))], 1),
        *(([(x, bottom), (x, top)], 1) for bottom, top in bars),
    ]
