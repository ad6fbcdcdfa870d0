"""The figures for people: a table, and how much faster than the plain way."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from attacks.reporting.tables import markdown
from tests.benchmarks.origin import origins
from tests.benchmarks.speed.case import Case

NOT_MEASURED = "Not measured: "

COLUMNS = (
    "work",
    "of",
    "ours, a second",
    "plain, a second",
    "times as fast",
    "memory ours / plain",
)


def write(measured: dict, cases: Mapping[str, Case], out: Path, bars: Path | None = None) -> None:
    """speed.md, growth.png and speed.png (or ``bars``) in ``out``; ``cases``: as :func:`table`."""
    (out / "speed.md").write_text(table(measured, cases), encoding="utf-8")
    picture(measured, bars or out / "speed.png")
    growth_picture(measured, out / "growth.png")


def table(measured: dict, cases: Mapping[str, Case] = MappingProxyType({})) -> str:
    """Markdown of what ``python -m tests.benchmarks`` measured; ``cases``: all that there are, of
    which those that were not are listed."""
    done = measured["cases"]
    machine = ", ".join(f"{key} {value}" for key, value in measured["machine"].items())
    rounds = " or ".join(map(str, sorted({case["rounds"] for case in done})))
    lines = [markdown(COLUMNS, map(_row, done))]
    lines += [f"Medians of {rounds} alternating calls; {machine}.", *origins(done)]
    if missing := [name for name in cases if name not in {case["name"] for case in done}]:
        lines += ["", f"{NOT_MEASURED}{'; '.join(missing)}."]
    if grown := [case for case in done if case.get("growth")]:
        columns = ["at", *(f"×{step['times']}" for step in grown[0]["growth"]), "the last is of"]
        rows = [
            [case["name"], *map(_step, case["growth"]), _last(case, cases.get(case["name"]))]
            for case in grown
        ]
        lines += ["", markdown(columns, rows).rstrip()]
    return "\n".join(lines) + "\n"


def _step(step: dict) -> str:
    memory = f", {step['mebibytes']:,.0f} MiB" if "mebibytes" in step else ""
    return f"{step['seconds']:.2f} s{memory}"


def _last(found: dict, case: Case | None) -> str:
    """How much the largest step does."""
    amount = found["amount"] * found["growth"][-1]["times"]
    pairs = case is not None and case.pairs
    return f"{amount:,} × {amount:,}" if pairs else f"{amount:,} {found['unit']}"


def _row(case: dict) -> tuple[str, ...]:
    plain = case.get("plain_seconds")
    memory = " / ".join(f"{m:,.0f} MiB" for m in case.get("mebibytes", ()))
    waited = case["amount"] == 1 and not plain  # how long, and not how often
    return (
        case["name"],
        f"{case['amount']:,} {case['unit']}",
        f"in {case['seconds']:.3g} s" if waited else f"{case['amount'] / case['seconds']:.3g}",
        f"{case['amount'] / plain:.3g}" if plain else "–",
        f"{case['ratio']:.2f}" if plain else "–",
        memory or "–",
    )


def growth_picture(measured: dict, path: Path) -> None:
    """Curves of seconds, and of memory where it was measured, against the amount of work, each as a
    multiple of the least; no picture where none was measured yet."""
    from matplotlib.figure import Figure

    grown = {case["name"]: case["growth"] for case in measured["cases"] if case.get("growth")}
    titles = {"seconds": "time", "mebibytes": "memory"}
    shown = {
        what: {name: steps for name, steps in grown.items() if all(what in s for s in steps)}
        for what in titles
    }
    shown = {what: curves for what, curves in shown.items() if curves}
    if not shown:
        return
    figure = Figure(figsize=(3.4 + 3.3 * len(shown), 3.6), layout="constrained")
    panels = figure.subplots(1, len(shown), sharex=True, squeeze=False)[0]
    for axes, (what, curves) in zip(panels, shown.items(), strict=True):
        for name, steps in curves.items():
            times, found = zip(
                *((s["times"], s[what] / steps[0][what]) for s in steps), strict=True
            )
            axes.plot(times, found, marker="o", color=f"C{list(grown).index(name)}", label=name)
        axes.plot(times, times, color="gray", linestyle=":", label="in proportion")
        axes.set_xscale("log", base=4)
        axes.set_xticks(times, [f"×{t}" for t in times])
        axes.set_title(titles[what], fontsize="medium", loc="left")
        if what == "seconds":
            axes.set_yscale("log", base=4)
            axes.set_yticks(ticks := [4**n for n in range(5)], [f"×{t}" for t in ticks])
        else:
            axes.set_ylim(0.5, 6)
            axes.set_yticks(ticks := range(1, 6), [f"×{t}" for t in ticks])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right", fontsize="small")
    figure.savefig(path, dpi=120)


def picture(measured: dict, path: Path) -> None:
    """Bars of ratios: of everything to the plain way, from 1 on; of a release to its workers, or
    its network, alone."""
    from matplotlib.figure import Figure

    cases = [case for case in measured["cases"] if "ratio" in case][::-1]
    releases = [case for case in cases if case["name"].startswith("apply")]
    rest = [case for case in cases if case not in releases]
    figure = Figure(figsize=(9, 1.4 + 0.26 * len(cases)), layout="constrained")
    shown = {
        "times as fast as the plain way": rest,
        "apply, of its workers' speed alone (the paper's: network's)": releases,
    }
    heights = [max(len(group), 1) for group in shown.values()]
    grid = figure.subplots(len(shown), gridspec_kw={"height_ratios": heights})
    for axes, (title, group) in zip(grid, shown.items(), strict=True):
        names = [case["name"].removeprefix("apply, ") for case in group]
        start = 1 if group is rest else 0
        axes.barh(names, [case["ratio"] - start for case in group], left=start, color="#00629b")
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log" if group is rest else "linear")
        axes.set_title(title, fontsize="medium", loc="left")
        axes.margins(y=0.02)
    figure.savefig(path, dpi=120)
