"""The picture of risk at the size of the world: patients who are found, against people in the
gallery and against images a patient."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from attacks.measuring.world_records import STRATA, World
from attacks.reporting.pictures.figures import COLOURS, FAINT, QUIET, bars, drawn, legend, short
from attacks.reporting.pictures.looks import Look, looks
from attacks.results import Method, Results

TICKS = {2: "2", 10: "10", 100: "100", 10**4: "10⁴", 10**6: "10⁶", 10**9: "10⁹"}  # people


def has_world(results: Results) -> bool:
    """Whether any method's strongest attacker was measured so."""
    return any(_world(method) is not None for method in results.methods)


def world_curve(results: Results, *paths: Path) -> None:
    """Left the linkage risk by each method's strongest attacker against people: whole lines exact,
    broken ones extrapolated (both models) with what is not excluded; in the middle rank-1 of the
    released method that is linked most, by what the gallery shows; right linkage risk against
    images a patient, among the people who were measured. .png, .svg or .pdf by their names."""
    worlds = {t: (m, w) for t, m in results.titled if (w := _world(m)) is not None}
    own = looks(results.named)
    with drawn(paths, (12.6, 5.0), "constrained") as figure:
        people, shown, probes = figure.subplots(1, 3, width_ratios=(5, 4, 3))
        for title, (_, world) in worlds.items():
            colour, mark = own[title].colour, own[title].mark
            _by_people(people, world, own[title], short(title))
            points = [(p.probes, p.r_s) for p in world.by_probes]
            for count, found in points:
                around = bars(found.mean, found.ci95)
                probes.errorbar(count, found.mean, yerr=around, fmt=mark, color=colour, capsize=2)
            probes.plot([n for n, _ in points], [r.mean for _, r in points], color=colour)
        released = {t: w for t, (m, w) in worlds.items() if m is not results.real} or {
            t: w for t, (_, w) in worlds.items()
        }
        worst = max(released, key=lambda title: _rank_1(released[title]))
        _by_stratum(shown, released[worst])
        shown.set_title(f"first guess right: {worst}", loc="left", fontsize=9)
        shown.legend(frameon=False, fontsize=8)
        for axes in (people, shown):
            axes.set_xscale("log")
            axes.set_xticks(list(TICKS), list(TICKS.values()))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_xlabel("people in the gallery   (broken: extrapolated)")
            axes.set_xlim(1.8, max(p.people for _, w in worlds.values() for p in w.points) * 1.3)
        people.set_title("linkage risk: patients who are found", loc="left", fontsize=9)
        people.set_ylabel("← more private")
        probes.set_xlabel("released images a patient")
        probes.set_title("among the people who were measured", loc="left", fontsize=9)
        for axes in (people, shown, probes):
            axes.set_ylim(-0.02, 1.02)
            axes.grid(axis="y", color=FAINT, linewidth=0.4)
        handles, labels = people.get_legend_handles_labels()
        legend(figure, columns=4, handles=handles, labels=labels)


def _by_people(axes: Axes, world: World, look: Look, title: str) -> None:
    colour = look.colour
    rates = [(p.people, p.r_s, p.extrapolated) for p in world.points if p.r_s is not None]
    exact = [(size, rate) for size, rate, beyond in rates if not beyond]
    tail = [*exact[-1:], *((size, rate) for size, rate, beyond in rates if beyond)]
    found = [rate.estimate.mean for _, rate in exact]
    sizes = [size for size, _ in exact]
    axes.plot(sizes, found, color=colour, marker=look.mark, markersize=5, label=title)
    if len(tail) < 2:
        return
    sizes = [size for size, _ in tail]
    second = [(rate.second or rate.estimate).mean for _, rate in tail]
    axes.plot(sizes, [rate.estimate.mean for _, rate in tail], color=colour, linestyle="--")
    axes.plot(sizes, second, color=colour, linestyle=":")
    low, high = zip(*(rate.within or (0, 1) for _, rate in tail), strict=True)
    axes.fill_between(sizes, low, high, color=colour, alpha=0.08, linewidth=0)


def _by_stratum(axes: Axes, world: World) -> None:
    titles = {"": "another image", **STRATA}
    for colour, (key, title) in zip((QUIET, *COLOURS), titles.items(), strict=False):
        points = world.strata[key].points if key in world.strata else () if key else world.points
        for style, beyond in (("-", False), ("--", True)):
            own = [p for p in points if p.extrapolated == beyond]
            if beyond and own:
                own = [*[p for p in points if not p.extrapolated][-1:], *own]
            axes.plot(
                [p.people for p in own],
                [p.rank_1.estimate.mean for p in own],
                color=colour,
                linestyle=style,
                label=title if own and not beyond else None,
            )


def _rank_1(world: World) -> float:
    exact = [p for p in world.points if not p.extrapolated]
    return exact[-1].rank_1.estimate.mean


def _world(method: Method) -> World | None:
    """Of the strongest attacker."""
    return found[1].world if (found := method.strongest) else None
